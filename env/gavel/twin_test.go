package gavel

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/yardmaster/yardmaster/env/rng"
)

// twin is the mechanism written down plainly: maps, a full sort of every queue
// in every round, nothing kept from one round to the next but what the rules
// name.
type twin struct {
	cfg      Config
	shuffler *mersenne

	now, roundStart, lastReset float64
	roundEnd                   float64 // NaN before the first round
	stale                      bool
	next                       int
	active                     map[int]bool
	share, received, deficit   map[[2]int]float64 // by job and type
	hasShare                   map[int]bool
	worked                     map[int]float64
	done                       map[int]float64
	failures                   map[int]int
	running                    []twinRun
	jct                        map[int]float64
	rounds, jobRounds          int64
	busy                       float64
}

type twinRun struct {
	job, typ      int
	steps, finish float64
}

func newTwin(cfg Config) *twin {
	cfg.fillDefaults()
	return &twin{
		cfg: cfg, shuffler: newMersenne(cfg.Seed + 5), roundEnd: math.NaN(), stale: true,
		active: map[int]bool{}, share: map[[2]int]float64{}, received: map[[2]int]float64{}, deficit: map[[2]int]float64{},
		hasShare: map[int]bool{}, worked: map[int]float64{}, done: map[int]float64{}, failures: map[int]int{}, jct: map[int]float64{},
	}
}

func (w *twin) run(t *testing.T) {
	for steps := 0; w.missing(); steps++ {
		if steps > 1_000_000 {
			t.Fatal("the twin does not end")
		}
		w.step(t)
	}
}

func (w *twin) missing() bool {
	for j := w.cfg.Window.First; j < w.cfg.Window.End; j++ {
		if _, left := w.jct[j]; !left {
			return true
		}
	}
	return false
}

func (w *twin) jobs() []int {
	var all []int
	for j := range w.cfg.Jobs {
		if w.active[j] {
			all = append(all, j)
		}
	}
	return all
}

func (w *twin) step(t *testing.T) {
	// The clock.
	switch {
	case len(w.running) > 0:
		latest := 0.0
		for _, r := range w.running {
			latest = max(latest, r.finish)
		}
		if !math.IsNaN(w.roundEnd) {
			w.roundStart = w.roundEnd
		}
		w.now, w.roundEnd = latest, latest
	case w.next < len(w.cfg.Jobs):
		w.now = w.cfg.Jobs[w.next].Arrival
	default:
		w.lastReset = 0
	}
	// What ran, latest finish first.
	slices.SortFunc(w.running, func(a, b twinRun) int {
		return cmp.Or(cmp.Compare(b.finish, a.finish), cmp.Compare(a.job, b.job))
	})
	for _, r := range w.running {
		w.complete(r)
	}
	w.running = nil
	// Arrivals.
	for w.next < len(w.cfg.Jobs) && w.cfg.Jobs[w.next].Arrival <= w.now {
		w.active[w.next] = true
		for k := range w.cfg.Types {
			w.received[[2]int{w.next, k}] = w.cfg.Round / 2
		}
		w.stale = true
		w.next++
	}
	if w.stale && (w.lastReset == 0 || w.now-w.lastReset >= w.cfg.Reset) {
		w.reset(t)
	}
	w.rounds++
	for _, p := range w.choose() {
		rate := w.cfg.Jobs[p.job].Rates[p.typ]
		steps := min(math.Trunc(rate*w.cfg.Round), w.cfg.Jobs[p.job].Steps-w.done[int(p.job)])
		w.running = append(w.running, twinRun{int(p.job), int(p.typ), steps, w.now + steps/rate})
		w.jobRounds++
	}
}

func (w *twin) complete(r twinRun) {
	job := w.cfg.Jobs[r.job]
	took := r.finish - w.roundStart
	ok := took > 0
	given := 0.0
	for worker := range job.GPUs {
		steps := math.Floor(r.steps / float64(job.GPUs))
		if worker == job.GPUs-1 {
			steps = r.steps - given
		}
		given += steps
		ok = ok && steps > 0
	}
	if !ok {
		w.stale = true
		if w.failures[r.job]++; w.failures[r.job] == 5 {
			w.leave(r.job, math.NaN())
		}
		return
	}
	w.failures[r.job] = 0
	w.done[r.job] += r.steps
	w.received[[2]int{r.job, r.typ}] += took
	w.worked[r.typ] += took
	w.busy += took * float64(job.GPUs)
	if w.done[r.job] >= job.Steps {
		w.leave(r.job, r.finish-job.Arrival)
	}
}

func (w *twin) leave(j int, jct float64) {
	w.jct[j] = jct
	delete(w.active, j)
	w.stale = true
}

func (w *twin) reset(t *testing.T) {
	jobs := w.jobs()
	for k := range w.cfg.Types {
		w.worked[k] = 0
		for _, j := range jobs {
			at := [2]int{j, k}
			w.deficit[at] += float64(w.share[at]*(w.now-w.lastReset)) - (w.received[at] - w.cfg.Round/2)
			w.received[at] = w.cfg.Round / 2
			w.worked[k] += w.cfg.Round / 2
		}
	}
	w.lastReset, w.stale = w.now, false
	if len(jobs) == 0 {
		return
	}
	v := View{Now: w.now, Types: w.cfg.Types, ByName: byName(w.cfg.Types)}
	for _, j := range jobs {
		job := w.cfg.Jobs[j]
		v.IDs = append(v.IDs, int32(j))
		v.GPUs = append(v.GPUs, int32(job.GPUs))
		v.Rates = append(v.Rates, job.Rates...)
		v.Left = append(v.Left, job.Steps-w.done[j])
		v.Age = append(v.Age, w.now-job.Arrival)
	}
	x := make([]float64, len(jobs)*len(w.cfg.Types))
	if err := w.cfg.Policy.Allocate(&v, x); err != nil {
		t.Fatal(err)
	}
	for i, j := range jobs {
		w.hasShare[j] = true
		for k := range w.cfg.Types {
			w.share[[2]int{j, k}] = x[i*len(w.cfg.Types)+k]
		}
	}
}

func (w *twin) choose() []pick {
	order := make([]int, len(w.cfg.Types))
	for k := range order {
		order[k] = k
	}
	if w.cfg.Policy.Rules().Shuffle {
		w.shuffler.shuffle(order)
	}
	scheduled := map[int]bool{}
	var picks []pick
	for _, k := range order {
		jobs := w.jobs()
		priority := map[int]float64{}
		for _, j := range jobs {
			at := [2]int{j, k}
			switch {
			case w.share[at] == 0 || w.cfg.Jobs[j].Rates[k] == 0:
			default:
				priority[j] = w.share[at] / (w.received[at] / w.worked[k])
			}
		}
		slices.SortStableFunc(jobs, func(a, b int) int {
			x, y := [2]int{a, k}, [2]int{b, k}
			return cmp.Or(cmp.Compare(priority[b], priority[a]), cmp.Compare(w.deficit[y], w.deficit[x]), cmp.Compare(w.share[y], w.share[x]))
		})
		left := w.cfg.Types[k].GPUs
		for _, j := range jobs {
			job := w.cfg.Jobs[j]
			if scheduled[j] || job.Rates[k] == 0 || job.GPUs > left || w.cfg.Policy.Rules().SharedOnly && priority[j] <= 0 {
				continue
			}
			left -= job.GPUs
			scheduled[j] = true
			if w.hasShare[j] {
				picks = append(picks, pick{int32(j), int32(k)})
			}
		}
	}
	return picks
}

// randomPolicy gives random shares, of the kinds that policies give: none, one
// whole type, fractions with many ties, fractions.
type randomPolicy struct {
	r     *rand.Rand
	rules Rules
	kind  int
}

func (p *randomPolicy) Rules() Rules { return p.rules }

func (p *randomPolicy) Allocate(v *View, x []float64) error {
	k := len(v.Types)
	for i := range v.IDs {
		for t := range k {
			switch p.kind {
			case 0: // like FIFO, but too many at times
				if p.r.IntN(3) == 0 {
					x[i*k+t] = 1
				}
			case 1:
				x[i*k+t] = float64(p.r.IntN(3)) / 2
			case 2:
				x[i*k+t] = p.r.Float64()
			case 3:
				x[i*k+t] = 1
			case 5: // always some of the first
				x[i*k+t] = p.r.Float64() * float64(p.r.IntN(2))
				if t == 0 {
					x[i*k+t] = 0.5
				}
			}
		}
	}
	if p.kind == 4 { // whole types that fit
		free := make([]int, k)
		for t := range free {
			free[t] = v.Types[t].GPUs
		}
		for i, g := range v.GPUs {
			if t := p.r.IntN(k); free[t] >= int(g) {
				free[t] -= int(g)
				x[i*k+t] = 1
			}
		}
	}
	return nil
}

// randomConfig returns a small cluster and workload with all that the rules
// distinguish: gangs, rates of 0, idle gaps, equal jobs, jobs that fail.
func randomConfig(seed uint64) Config {
	r := rng.New(seed, "gavel/twin")
	cfg := Config{Seed: seed, Types: []GPUType{{"V100", 1 + r.IntN(6)}, {"P100", r.IntN(6)}, {"K80", r.IntN(6)}}}
	classes := make([][]float64, 1+r.IntN(4))
	for c := range classes {
		classes[c] = []float64{0.02 + 20*r.Float64(), float64(r.IntN(4)) * r.Float64(), float64(r.IntN(2)) * 5 * r.Float64()}
	}
	at := 0.0
	for range 1 + r.IntN(40) {
		j := Job{Arrival: at, GPUs: 1 << r.IntN(3), Steps: 30000 * math.Pow(r.Float64(), 3), Rates: classes[r.IntN(len(classes))]}
		j.GPUs = min(j.GPUs, cfg.Types[0].GPUs)
		if r.IntN(2) == 0 {
			j.Steps = math.Ceil(j.Steps)
		}
		j.Steps += 1e-3
		cfg.Jobs = append(cfg.Jobs, j)
		switch r.IntN(4) {
		case 0:
			at += 3000 * r.Float64()
		case 1:
			at += 20000 * r.Float64() * float64(r.IntN(2))
		}
	}
	if r.IntN(2) == 0 {
		first := r.IntN(len(cfg.Jobs))
		cfg.Window = Window{first, first + 1 + r.IntN(len(cfg.Jobs)-first)}
	}
	return cfg
}

// present drops the types without GPUs, which the twin does not know.
func present(cfg Config) Config {
	kept := cfg
	kept.Types, kept.Jobs = nil, slices.Clone(cfg.Jobs)
	for t, typ := range cfg.Types {
		if typ.GPUs > 0 {
			kept.Types = append(kept.Types, cfg.Types[t])
		}
	}
	for i := range kept.Jobs {
		var rates []float64
		for t, typ := range cfg.Types {
			if typ.GPUs > 0 {
				rates = append(rates, cfg.Jobs[i].Rates[t])
			}
		}
		kept.Jobs[i].Rates = rates
	}
	return kept
}

func TestSimEqualsItsTwin(t *testing.T) {
	givenUp, crowded := 0, 0
	for seed := range uint64(600) {
		cfg := randomConfig(seed)
		rules := Rules{Shuffle: seed%3 == 0, SharedOnly: seed%5 == 0}
		kind := int(seed % 5)
		if rules.SharedOnly {
			kind = 5 // with other shares a job might never run
		}
		policy := func() Policy { return &randomPolicy{rng.New(seed, "policy"), rules, kind} }
		cfg.Policy = policy()
		s, err := New(cfg)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		r, err := s.Run()
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		plain := present(cfg)
		plain.Policy = policy()
		w := newTwin(plain)
		w.run(t)
		for j, got := range r.JCT {
			want, left := w.jct[j]
			if left && math.IsNaN(want) {
				givenUp++
			}
			if left != r.Left[j] || left && math.Float64bits(got) != math.Float64bits(want) && !(math.IsNaN(got) && math.IsNaN(want)) {
				t.Errorf("seed %d: job %d: got %v (left: %v), want %v (%v)", seed, j, got, r.Left[j], want, left)
			}
		}
		if r.Rounds != w.rounds || r.JobRounds != w.jobRounds || r.End != w.now || math.Abs(s.busy-w.busy) > 1e-9*w.busy {
			t.Errorf("seed %d: got %d rounds, %d job-rounds, end %v, %v GPU-s, want %d, %d, %v, %v", seed, r.Rounds, r.JobRounds, r.End, s.busy, w.rounds, w.jobRounds, w.now, w.busy)
		}
		if s.choice.crowded {
			crowded++
			for k, worked := range s.worked {
				if worked != w.worked[k] {
					t.Errorf("seed %d: got %v s worked on type %d, want %v to the last bit", seed, worked, k, w.worked[k])
				}
			}
		}
		if t.Failed() {
			return
		}
	}
	if givenUp == 0 || crowded == 0 || crowded == 600 {
		t.Errorf("%d jobs given up, %d of 600 runs ended crowded: the workloads do not cover the rules", givenUp, crowded)
	}
}
