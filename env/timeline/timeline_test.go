package timeline

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/rng"
	"github.com/yardmaster/yardmaster/env/sim"
)

// ways gives every job its GPUs and half as many on two types of GPU.
type ways struct{ restart time.Duration }

func (w ways) Strategies(j *env.Job, c *env.Cluster) ([]env.Strategy, error) {
	var out []env.Strategy
	for t := range c.Types {
		for _, g := range []int{j.GPUs, max(1, j.GPUs/2)} {
			out = append(out, env.Strategy{Type: t, GPUs: g, Nodes: (g + 3) / 4, Throughput: float64(g) / float64(t+1), Restart: w.restart})
		}
	}
	return out, nil
}

func cluster() env.Cluster {
	return env.Cluster{
		Types: []env.GPUType{{Name: "V100", MemoryGiB: 16}, {Name: "K80", MemoryGiB: 12}},
		Nodes: []env.Node{{Type: 0, GPUs: 4}, {Type: 1, GPUs: 4}, {Type: 0, GPUs: 4}},
	}
}

// played records an episode of n jobs under random decisions; rounds 0 plays it
// to the end.
func played(t interface {
	Helper()
	Fatal(...any)
}, seed uint64, n int, rounds int64, free bool,
) *sim.Recording {
	t.Helper()
	s, err := sim.New(sim.Config{
		Cluster: cluster(), Candidates: ways{200 * time.Second}, MaxRounds: rounds, FreePlacement: free,
		Workload: func(seed uint64) ([]env.Job, error) {
			r := rng.New(seed, "workload")
			jobs := make([]env.Job, n)
			at := time.Duration(0)
			for i := range jobs {
				at += time.Duration(r.ExpFloat64() * 1e12)
				jobs[i] = env.Job{ID: int64(i + 1), Model: "m", Batch: 1, GPUs: 1 << r.IntN(4), Work: 200 + 8000*r.Float64(), Weight: 1, Submit: at}
			}
			return jobs, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	s.Record()
	if err := s.Reset(seed); err != nil {
		t.Fatal(err)
	}
	r := rng.New(seed, "policy")
	for !s.Done() {
		state := s.State()
		left := state.Cluster.Capacity()
		a := env.NewAllocation(len(state.Jobs))
		for _, i := range r.Perm(len(a)) {
			st := &state.Jobs[i].Strategies
			if k := r.IntN(len(*st)); left[(*st)[k].Type] >= (*st)[k].GPUs {
				a[i] = k
				left[(*st)[k].Type] -= (*st)[k].GPUs
			}
		}
		if _, err := s.Advance(a); err != nil {
			t.Fatal(err)
		}
	}
	rec, _ := s.Recording()
	return &rec
}

// Blocks of one lane never overlap in time, and every hold has as many lanes as
// it has GPUs, on the nodes it is on.
func TestLayoutGivesEveryHoldItsOwnLanes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rec := played(t, rapid.Uint64().Draw(t, "seed"), rapid.IntRange(1, 25).Draw(t, "jobs"), 300, rapid.Bool().Draw(t, "free placement"))
		if len(rec.Segments) == 0 {
			return
		}
		l, err := newLayout(rec)
		if err != nil {
			t.Fatal(err)
		}
		until := make([]time.Duration, l.lanes())
		gpus := make([]float64, len(l.holds))
		perNode := make(map[[2]int]float64)
		for i := range l.blocks {
			b := &l.blocks[i]
			h, s := &l.holds[b.hold], &l.shelves[b.shelf]
			if b.lane < s.first || b.lane+b.lanes > s.first+s.gpus*parts || s.typ != h.segments[0].Strategy.Type {
				t.Fatalf("job %d is drawn outside of its node or on another type", rec.Jobs[h.job].ID)
			}
			for lane := b.lane; lane < b.lane+b.lanes; lane++ {
				if until[lane] > h.from {
					t.Fatalf("lane %d is taken until %v, job %d begins at %v", lane, until[lane], rec.Jobs[h.job].ID, h.from)
				}
				until[lane] = h.to
			}
			gpus[b.hold] += float64(b.lanes) / parts
			perNode[[2]int{b.hold, s.node}] += float64(b.lanes) / parts
		}
		for i := range l.holds {
			g := &l.holds[i].segments[0]
			if gpus[i] != float64(g.Strategy.GPUs) {
				t.Errorf("a hold of %d GPUs has %v rows", g.Strategy.GPUs, gpus[i])
			}
			for _, p := range g.Pieces {
				if got := perNode[[2]int{i, p.Node}]; got != float64(p.GPUs) {
					t.Errorf("a hold of %d GPUs of node %d has %v rows there", p.GPUs, p.Node, got)
				}
			}
		}
	})
}

// Jobs that share a GPU lie side by side in it, and a whole GPU is found around
// them.
func TestSharersOfAGPULieSideBySide(t *testing.T) {
	rec := &sim.Recording{Cluster: env.Cluster{Types: []env.GPUType{{Name: "T4"}}, Nodes: []env.Node{{GPUs: 2}}}}
	for i, share := range []int{2, 4, 4, 1} {
		id := int64(i)
		rec.Jobs = append(rec.Jobs, env.Job{ID: id})
		rec.Segments = append(rec.Segments, sim.Segment{
			Job: id, To: time.Hour, Strategy: env.Strategy{GPUs: 1, Share: share}, Pieces: []sim.Piece{{GPUs: 1}},
		})
	}
	l, err := newLayout(rec)
	if err != nil {
		t.Fatal(err)
	}
	want := []block{{0, 0, 0, 4}, {1, 0, 4, 2}, {2, 0, 6, 2}, {3, 0, 8, 8}}
	if diff := cmp.Diff(want, l.blocks, cmp.AllowUnexported(block{})); diff != "" {
		t.Errorf("blocks (-want +got):\n%s", diff)
	}
	rec.Segments[3].Strategy.GPUs, rec.Segments[3].Pieces[0].GPUs = 2, 2
	if _, err := newLayout(rec); err == nil {
		t.Error("three GPUs' worth of jobs on a node of two: got no error")
	}
}

// The curves are averages: added up they give GPU time and waiting time.
func TestCurvesAddUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rec := played(t, rapid.Uint64().Draw(t, "seed"), 12, 0, false)
		l, err := newLayout(rec)
		if err != nil {
			t.Fatal(err)
		}
		bins := rapid.IntRange(1, 300).Draw(t, "bins")
		width := (l.to - l.from).Seconds() / float64(bins)
		held, waited := 0.0, 0.0
		for _, values := range l.busy(bins) {
			for _, v := range values {
				held += v * width
			}
		}
		for _, v := range l.waiting(bins) {
			waited += v * width
		}
		wantWaited := 0.0
		for i := range rec.Schedule.Jobs {
			wantWaited += rec.Schedule.Jobs[i].JCT().Seconds()
		}
		for i := range l.holds {
			wantWaited -= (l.holds[i].to - l.holds[i].from).Seconds()
		}
		if want := rec.Schedule.BusyGPUSeconds; math.Abs(held-want) > 1e-6*want {
			t.Errorf("GPUs held add up to %v GPU-seconds, want %v", held, want)
		}
		if math.Abs(waited-wantWaited) > 1e-6*(1+wantWaited) {
			t.Errorf("waiting jobs add up to %v s, want %v", waited, wantWaited)
		}
	})
}

// A series is the plain average over each bin.
func TestSeriesAgainstItsDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		bins, length := rapid.IntRange(1, 7).Draw(t, "bins"), 60
		s := newSeries(0, time.Duration(length), bins)
		slow := make([]float64, bins)
		for range rapid.IntRange(0, 6).Draw(t, "steps") {
			from := rapid.IntRange(0, length).Draw(t, "from")
			to := rapid.IntRange(from, length).Draw(t, "to")
			s.add(time.Duration(from), time.Duration(to), 2)
			for i := range slow {
				a, b := float64(i*length)/float64(bins), float64((i+1)*length)/float64(bins)
				slow[i] += 2 * max(0, min(float64(to), b)-max(float64(from), a)) / (b - a)
			}
		}
		for i, got := range s.averages() {
			if math.Abs(got-slow[i]) > 1e-9 {
				t.Errorf("bin %d is %v, want %v", i, got, slow[i])
			}
		}
	})
}

func TestPicturesAreWellFormedRepeatableAndEscaped(t *testing.T) {
	rec := played(t, 5, 30, 0, false)
	const nasty = `<script>alert("x")</script>&'`
	for i := range rec.Jobs {
		rec.Jobs[i].Model, rec.Jobs[i].Tenant = nasty, nasty
	}
	rec.Cluster.Types[0].Name = nasty
	cfg := Config{Title: nasty, Facts: []Fact{{Name: nasty, Value: nasty}}}
	var picture, again, page bytes.Buffer
	if err := errors.Join(SVG(&picture, rec, cfg), SVG(&again, rec, cfg), HTML(&page, rec, cfg)); err != nil {
		t.Fatal(err)
	}
	if picture.String() != again.String() {
		t.Error("the same recording gives two pictures")
	}
	rects := 0
	for d := xml.NewDecoder(&picture); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("the picture is not XML: %v", err)
		}
		if e, ok := token.(xml.StartElement); ok {
			if e.Name.Local == "script" {
				t.Error("a name became a script")
			}
			if e.Name.Local == "title" {
				rects++
			}
		}
	}
	if rects < len(rec.Segments) {
		t.Errorf("%d blocks have a title, want at least one for each of %d segments", rects, len(rec.Segments))
	}
	if n := strings.Count(page.String(), "<script>"); n != 1 {
		t.Errorf("the page has %d scripts, want its own", n)
	}
	for _, other := range []string{"src=", "href=", "@import", "url(http"} {
		if strings.Contains(page.String(), other) {
			t.Errorf("the page refers to something outside: %s", other)
		}
	}
	for i := range rec.Jobs {
		if !strings.Contains(page.String(), fmt.Sprintf(`<tr data-job="%d">`, rec.Jobs[i].ID)) {
			t.Errorf("the table lacks job %d", rec.Jobs[i].ID)
		}
	}
}

func TestOutagesAreDrawnWithinTheChart(t *testing.T) {
	var picture strings.Builder
	if err := SVG(&picture, small(), Config{}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(picture.String(), "node 1 is out of service\nfrom 8.33 min for 2.36 h") {
		t.Error("the picture lacks the outage of node 1")
	}
	for line := range strings.SplitSeq(picture.String(), "\n") {
		var x, y, width float64
		if n, _ := fmt.Sscanf(line, `<rect class="down" x="%f" y="%f" width="%f"`, &x, &y, &width); n == 3 && x+width > 1400-margin+0.1 {
			t.Errorf("the outage reaches %v px, beyond the chart", x+width)
		}
	}
}

func TestNothingToDraw(t *testing.T) {
	rec := &sim.Recording{Cluster: cluster()}
	if err := SVG(io.Discard, rec, Config{}); !errors.Is(err, ErrEmpty) {
		t.Errorf("SVG: got %v, want ErrEmpty", err)
	}
	if err := HTML(io.Discard, rec, Config{}); !errors.Is(err, ErrEmpty) {
		t.Errorf("HTML: got %v, want ErrEmpty", err)
	}
	if err := Text(io.Discard, rec, TextConfig{}); !errors.Is(err, ErrEmpty) {
		t.Errorf("Text: got %v, want ErrEmpty", err)
	}
}

// small is a recording to be read: job 1 takes a node, job 12 restarts beside
// job 3 and moves.
func small() *sim.Recording {
	second := func(s int) time.Duration { return time.Duration(s) * time.Second }
	on := func(node, gpus int) ([]sim.Piece, env.Strategy) {
		return []sim.Piece{{Node: node, GPUs: gpus}}, env.Strategy{Type: node % 2, GPUs: gpus, Nodes: 1, Throughput: 1}
	}
	c := cluster()
	c.Nodes = []env.Node{{Type: 0, GPUs: 2}, {Type: 1, GPUs: 2}}
	rec := &sim.Recording{Cluster: c, Jobs: []env.Job{{ID: 1}, {ID: 12}, {ID: 3}}}
	add := func(job int64, from, to, node, gpus int, kind sim.Kind, end sim.Reason) {
		pieces, st := on(node, gpus)
		rec.Segments = append(rec.Segments, sim.Segment{Job: job, From: second(from), To: second(to), Kind: kind, End: end, Strategy: st, Pieces: pieces})
	}
	add(1, 0, 200, 0, 2, sim.Running, sim.Finished)
	add(3, 0, 400, 1, 1, sim.Running, sim.Preempted)
	add(12, 50, 160, 1, 1, sim.Restarting, sim.Ready)
	add(12, 160, 300, 1, 1, sim.Running, sim.Moved)
	add(12, 300, 600, 0, 1, sim.Running, sim.Unfinished)
	rec.Outages = []sim.Outage{{Node: 1, From: second(500), To: second(9000)}}
	return rec
}

func TestTextToTheLetter(t *testing.T) {
	var b strings.Builder
	if err := Text(&b, small(), TextConfig{Width: 46}); err != nil {
		t.Fatal(err)
	}
	want := `
                ╷0             ╷5 min
V100 n0      0  │1────────·····│12────────────
             1  │1────────····················
K80 n1       0  │3──────────────────·····×××××
             1  ··│12╌╌╌───────··········×××××

GPUs held       ▆▆▇███████▄▄▄▄▄▄▄▄▄▄▂▂▂▂▂▂▂▂▂▂
waiting ≤ 2     ▄▄▂       ▄▄▄▄▄▄▄▄▄▄██████████
`
	if diff := cmp.Diff(strings.TrimPrefix(want, "\n"), b.String()); diff != "" {
		t.Errorf("chart (-want +got):\n%s\n%s", diff, b.String())
	}
}

// Where there are more GPUs than rows, every GPU is in some row all the same.
func TestTextOfManyGPUs(t *testing.T) {
	rec := played(t, 2, 20, 0, false)
	var b strings.Builder
	if err := Text(&b, rec, TextConfig{Rows: 3, Color: true}); err != nil {
		t.Fatal(err)
	}
	for _, row := range []string{"V100 n0 ", "V100 n2 ", "K80 n1 "} {
		if !strings.Contains(b.String(), "\n"+row) {
			t.Errorf("the chart lacks the row %q:\n%s", row, b.String())
		}
	}
	for line := range strings.SplitSeq(b.String(), "\n") {
		if n := len([]rune(line)); n > 120 {
			t.Errorf("a line of %d characters: %s", n, line)
		}
	}
}

func TestTicksAreFewAndRound(t *testing.T) {
	for _, stretch := range []time.Duration{time.Second, 7 * time.Minute, 29 * time.Hour, 400 * day, 100 * 365 * day} {
		got := ticks(3*time.Second, 3*time.Second+stretch, 14)
		if len(got) < 1 || len(got) > 15 {
			t.Errorf("%v: %d ticks, want 1 to 15", stretch, len(got))
		}
		for i := 1; i < len(got); i++ {
			if step := got[1] - got[0]; got[i]-got[i-1] != step || got[i]%step != 0 {
				t.Errorf("%v: ticks %v and %v are not multiples of one step", stretch, got[i-1], got[i])
			}
		}
	}
}
