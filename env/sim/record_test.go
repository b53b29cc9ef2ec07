package sim

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/rng"
)

// recorded plays an episode of random decisions with a recorder.
func recorded(t *testing.T, cfg Config, seed uint64) (*Sim, Recording) {
	t.Helper()
	s := mustNew(t, cfg)
	s.Record()
	mustReset(t, s, seed)
	play(t, s, randomly(rng.New(seed, "policy")))
	rec, ok := s.Recording()
	if !ok {
		t.Fatal("got no recording of a simulator that records")
	}
	return s, rec
}

// The segments of a job make up what its record says of it: its first start, its
// finish, its restarts and its GPU time; they do not overlap, and no node ever
// has more GPUs taken than it has.
func TestRecordingAgreesWithSchedule(t *testing.T) {
	for seed := range uint64(8) {
		_, rec := recorded(t, smallConfig(), seed)
		byJob := make(map[int64][]Segment)
		for _, g := range rec.Segments {
			byJob[g.Job] = append(byJob[g.Job], g)
		}
		if len(byJob) != len(rec.Schedule.Jobs) || len(rec.Jobs) != len(rec.Schedule.Jobs) {
			t.Fatalf("seed %d: segments of %d jobs, %d jobs, %d finished", seed, len(byJob), len(rec.Jobs), len(rec.Schedule.Jobs))
		}
		for _, j := range rec.Schedule.Jobs {
			segments := byJob[j.ID]
			last := segments[len(segments)-1]
			if segments[0].From != j.Start || last.To != j.Finish || last.End != Finished {
				t.Errorf("seed %d: job %d ran %v to %v (%v), its record says %v to %v", seed, j.ID, segments[0].From, last.To, last.End, j.Start, j.Finish)
			}
			service, starts := 0.0, 0
			for i, g := range segments {
				service += float64(g.Strategy.GPUs) * (g.To - g.From).Seconds()
				if g.From >= g.To || i > 0 && g.From < segments[i-1].To {
					t.Errorf("seed %d: job %d: segment %d from %v to %v overlaps the one before or is empty", seed, j.ID, i, g.From, g.To)
				}
				if i == 0 || segments[i-1].End != Ready {
					starts++
				}
				taken := 0
				for _, p := range g.Pieces {
					taken += p.GPUs
				}
				if taken != g.Strategy.GPUs {
					t.Errorf("seed %d: job %d holds %d GPUs for a strategy of %d", seed, j.ID, taken, g.Strategy.GPUs)
				}
			}
			if starts-1 != j.Restarts {
				t.Errorf("seed %d: job %d started %d times, its record says %d restarts", seed, j.ID, starts, j.Restarts)
			}
			if d := service - j.Service; d > 1e-6 || d < -1e-6 {
				t.Errorf("seed %d: job %d: %v GPU-seconds, its record says %v", seed, j.ID, service, j.Service)
			}
		}
		checkNodes(t, &rec)
	}
}

// checkNodes sweeps over time and counts the GPUs taken on every node.
func checkNodes(t *testing.T, rec *Recording) {
	t.Helper()
	type change struct {
		at   time.Duration
		node int
		gpus int
	}
	var changes []change
	for _, g := range rec.Segments {
		for _, p := range g.Pieces {
			changes = append(changes, change{g.From, p.Node, p.GPUs}, change{g.To, p.Node, -p.GPUs})
		}
	}
	slices.SortFunc(changes, func(a, b change) int {
		if a.at != b.at {
			return int(a.at - b.at)
		}
		return a.gpus - b.gpus // what ends first
	})
	taken := make([]int, len(rec.Cluster.Nodes))
	for _, c := range changes {
		taken[c.node] += c.gpus
		if taken[c.node] > rec.Cluster.Nodes[c.node].GPUs {
			t.Fatalf("node %d has %d GPUs taken of %d at %v", c.node, taken[c.node], rec.Cluster.Nodes[c.node].GPUs, c.at)
		}
	}
}

func TestRecordingChangesNothing(t *testing.T) {
	plain := mustNew(t, smallConfig())
	mustReset(t, plain, 3)
	play(t, plain, randomly(rng.New(3, "policy")))
	s, _ := recorded(t, smallConfig(), 3)
	if diff := cmp.Diff(plain.Schedule(), s.Schedule()); diff != "" {
		t.Errorf("recorded (-plain +recorded):\n%s", diff)
	}
	if _, ok := plain.Recording(); ok {
		t.Error("got a recording of a simulator that does not record")
	}
}

func TestRecordingOfAnEpisodeUnderWay(t *testing.T) {
	cfg := Config{
		Cluster: cluster(4, 4),
		Workload: func(uint64) ([]env.Job, error) {
			return []env.Job{{ID: 1, Model: "m", Batch: 1, GPUs: 4, Work: 1e6, Weight: 1}}, nil
		},
		Candidates: &elastic{perNode: 4, restart: 400 * time.Second, onlyOwn: true},
	}
	s := mustNew(t, cfg)
	s.Record()
	mustReset(t, s, 1)
	advance := func(a int) {
		t.Helper()
		if _, err := s.Advance(env.Allocation{a}); err != nil {
			t.Fatal(err)
		}
	}
	advance(0)
	snap := s.Snapshot()
	advance(0)
	advance(env.Idle)
	advance(0)
	st := s.State().Jobs[0].Strategies[0]
	all := []Piece{{0, 4}}
	want := []Segment{
		{Job: 1, From: 0, To: 400 * time.Second, Kind: Restarting, End: Ready, Strategy: st, Pieces: all},
		{Job: 1, From: 400 * time.Second, To: 720 * time.Second, Kind: Running, End: Preempted, Strategy: st, Pieces: all},
		{Job: 1, From: 1080 * time.Second, To: 1440 * time.Second, Kind: Restarting, End: Unfinished, Strategy: st, Pieces: all},
	}
	if rec, _ := s.Recording(); cmp.Diff(want, rec.Segments) != "" {
		t.Errorf("segments (-want +got):\n%s", cmp.Diff(want, rec.Segments))
	}
	if err := s.Restore(snap); err != nil {
		t.Fatal(err)
	}
	advance(0)
	want = []Segment{
		{Job: 1, From: 360 * time.Second, To: 400 * time.Second, Kind: Restarting, End: Ready, Strategy: st, Pieces: all},
		{Job: 1, From: 400 * time.Second, To: 720 * time.Second, Kind: Running, End: Unfinished, Strategy: st, Pieces: all},
	}
	if rec, _ := s.Recording(); cmp.Diff(want, rec.Segments) != "" {
		t.Errorf("segments after a restore (-want +got):\n%s", cmp.Diff(want, rec.Segments))
	}
}

// A simulator that does not record allocates nothing for it.
func TestNoRecorderNoAllocation(t *testing.T) {
	s := mustNew(t, smallConfig())
	mustReset(t, s, 1)
	start := s.Snapshot()
	var plan []env.Allocation
	play(t, s, func(s *env.State, a env.Allocation) {
		fifo()(s, a)
		plan = append(plan, slices.Clone(a))
	})
	run := func() {
		if err := s.Restore(start); err != nil {
			t.Fatal(err)
		}
		for _, a := range plan {
			if _, err := s.Advance(a); err != nil {
				t.Fatal(err)
			}
		}
	}
	run()
	if got := testing.AllocsPerRun(3, run); got != 0 {
		t.Errorf("%v allocations in an episode, want 0", got)
	}
}

// The recording holds the outages of the nodes as they were, and what they did
// to the jobs.
func TestRecordingHoldsOutages(t *testing.T) {
	minute := time.Minute
	script := []Outage{{Node: 0, From: 7 * minute, To: 8 * minute}, {Node: 0, From: 20 * minute, To: 40 * minute}, {Node: 1, From: 50 * minute, To: 9000 * minute}}
	s := mustNew(t, Config{
		Cluster: cluster(4, 8), FreeRestarts: true, Candidates: &elastic{perNode: 4, onlyOwn: true}, MaxRounds: 11,
		Failures: Failures{Outages: script},
		Workload: func(uint64) ([]env.Job, error) {
			return []env.Job{{ID: 1, Model: "m", Batch: 1, GPUs: 4, Work: 1e9, Weight: 1}}, nil
		},
	})
	s.Record()
	mustReset(t, s, 1)
	play(t, s, fifo())
	rec, _ := s.Recording()
	if diff := cmp.Diff(script, rec.Outages); diff != "" {
		t.Errorf("outages (-want +got):\n%s", diff)
	}
	interrupted := 0
	for _, g := range rec.Segments {
		if g.End == Interrupted {
			interrupted++
		}
		for _, p := range g.Pieces {
			for _, o := range rec.Outages {
				if p.Node == o.Node && g.From < o.To && o.From < g.To {
					t.Errorf("a job is on node %d from %v to %v, which is out of service from %v to %v", p.Node, g.From, g.To, o.From, o.To)
				}
			}
		}
	}
	if interrupted == 0 {
		t.Error("no job was interrupted")
	}
}
