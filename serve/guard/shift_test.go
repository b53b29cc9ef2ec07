package guard

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/yardmaster/yardmaster/agent/heuristic"
	"github.com/yardmaster/yardmaster/agent/neural"
	"github.com/yardmaster/yardmaster/datasets"
	"github.com/yardmaster/yardmaster/datasets/synth"
	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/encode"
	"github.com/yardmaster/yardmaster/env/rng"
	"github.com/yardmaster/yardmaster/env/sim"
	"github.com/yardmaster/yardmaster/models"
	"github.com/yardmaster/yardmaster/models/nn"
	"github.com/yardmaster/yardmaster/serve/wire"
	"github.com/yardmaster/yardmaster/train"
	"github.com/yardmaster/yardmaster/train/scenario"
)

// home is the setting that policies of these tests are trained in.
const home = "V100=16,P100=16,K80=16"

// shifts makes simulators of one trace: at home, and shifted.
type shifts struct {
	trace string
	jobs  int
	round time.Duration
}

func newShifts(t testing.TB, rows, jobs int, round time.Duration) *shifts {
	t.Helper()
	table, err := synth.Generate(synth.Config{Jobs: rows, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	s := &shifts{filepath.Join(t.TempDir(), "jobs.parquet"), jobs, round}
	if err := datasets.Write(s.trace, table); err != nil {
		t.Fatal(err)
	}
	return s
}

// at returns the simulator of a part of the trace on a cluster at a load; episodes
// are times as long as at home.
func (x *shifts) at(t testing.TB, part scenario.Part, cluster string, load float64, times int) sim.Config {
	t.Helper()
	l, err := scenario.Load(scenario.Scenario{Trace: x.trace, Cluster: cluster, Load: load, Jobs: times * x.jobs, Round: x.round, Knowledge: env.Estimate})
	if err != nil {
		t.Fatal(err)
	}
	return l.Sim(part)
}

// priorModel returns a network that scores like the density heuristic: what a
// trained one begins as.
func priorModel(t testing.TB) *models.Model {
	t.Helper()
	space := encode.JobStrategySpace()
	p := nn.NewParams(nn.Dims{Candidate: len(space.Candidate), Global: len(space.Global), Hidden: 32, Value: 8})
	p.Initialize(rng.New(1, "guard"))
	linear := p.Tensors[nn.ScoreLinearWeight].Data
	for name, weight := range train.DefaultPrior() {
		for i, f := range space.Candidate {
			if f.Name == name {
				linear[i] = float32(8 * weight)
			}
		}
	}
	return models.New(models.JobStrategy, neural.Encoder(encode.JobStrategyVersion, space), p)
}

// trained returns a policy that was characterised at home.
func (x *shifts) trained(t testing.TB, load float64, episodes int) *neural.Policy {
	t.Helper()
	m := priorModel(t)
	cfg := x.at(t, scenario.Train, home, load, 1)
	seeds := make([]uint64, episodes)
	for i := range seeds {
		seeds[i] = uint64(i)
	}
	if err := train.Characterise(t.Context(), m, func() (env.Env, error) { return sim.NewJobStrategy(cfg) }, seeds, 1); err != nil {
		t.Fatal(err)
	}
	p, err := neural.NewPolicy(m)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// alarms is what a guard made of episodes.
type alarms struct {
	decisions, ood  int // of a cluster that is served all the time
	starts, alarmed int // clusters whose service begins in the midst, and of those the ones in alarm by their fifth decision
}

func (a alarms) share() float64  { return float64(a.ood) / float64(max(1, a.decisions)) }
func (a alarms) caught() float64 { return float64(a.alarmed) / float64(max(1, a.starts)) }

// serve plays episodes and asks a guard about every state: as one cluster from
// beginning to end, and every two hours while jobs still arrive, later than
// a part of them, also as a cluster that is new to the guard.
func serve(t testing.TB, policy Decider, cfg sim.Config, episodes int, later float64) alarms {
	t.Helper()
	density, err := heuristic.NewDensity(heuristic.DensityConfig{})
	if err != nil {
		t.Fatal(err)
	}
	// The heuristic stands in for the program: it is not what is tested here.
	g, err := New(Config{Policy: policy, Fallback: density, Greedy: density, Deadline: 1 << 40})
	if err != nil {
		t.Fatal(err)
	}
	s, err := sim.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	every := max(1, int(2*time.Hour/cfg.Round))
	var all alarms
	for seed := range uint64(episodes) {
		jobs, err := cfg.Workload(seed)
		if err != nil {
			t.Fatal(err)
		}
		arrivals := jobs[len(jobs)-1].Submit
		if err := s.Reset(seed); err != nil {
			t.Fatal(err)
		}
		ask := func(cluster string, seq int) wire.Reason {
			return g.Decide(t.Context(), &wire.State{Schema: wire.StateSchema, Cluster: cluster, Epoch: 1 + seed, Seq: uint64(1 + seq), State: *s.State()}).Message.Reason
		}
		var probes []int // rounds in which the service of a cluster began
		for n := 0; !s.Done(); n++ {
			all.decisions++
			if ask("always", n) == wire.ReasonOOD {
				all.ood++
			}
			if now := s.State().Now; n%every == 0 && now < arrivals && now > scale(later, arrivals) {
				probes = append(probes, n)
			}
			for i := 0; i < len(probes); i++ {
				reason := ask(fmt.Sprintf("p%d-%d", seed, probes[i]), n)
				switch {
				case reason == wire.ReasonOOD:
					all.alarmed++
					all.starts++
				case n-probes[i] == 4:
					all.starts++
				default:
					continue
				}
				probes = append(probes[:i], probes[i+1:]...)
				i--
			}
			if err := g.Wait(t.Context()); err != nil { // who was overtaken still reads the state
				t.Fatal(err)
			}
			a, err := density.Decide(t.Context(), s.State())
			if err != nil {
				t.Fatal(err)
			}
			if _, err := s.Advance(a); err != nil {
				t.Fatal(err)
			}
		}
	}
	return all
}

// shifted lists what the alarm is for, with the share of arrivals after which the
// service begins: a load that doubles shows once its queue is longer than any at
// home, another type of GPU at once.
var shifted = []struct {
	name, cluster string
	load          float64
	times         int
	later         float64
	episodes      int
}{
	{"at home", home, 1, 1, 0.1, 8},
	{"twice the load", home, 2, 4, 0.5, 2},
	{"three times the load", home, 3, 4, 0.5, 2},
	{"A100 for K80", "V100=16,P100=16,A100-40=16", 1, 1, 0.1, 8},
	{"H100 added", "V100=16,P100=16,K80=16,H100=16", 1, 1, 0.1, 8},
	{"T4 for K80", "V100=16,P100=16,T4=16", 1, 1, 0.1, 8},
	{"half the cluster", "V100=8,P100=8,K80=8", 1, 1, 0.1, 8},
}

// The alarm is rarely false at home, on windows that nothing was measured on, and
// comes within five decisions where the policy was not trained.
func TestFault05Unfamiliar(t *testing.T) {
	x := newShifts(t, 8000, 60, time.Hour) // long rounds, so that there are few
	policy := x.trained(t, 1, 64)
	const most, least = 0.01, 0.9
	for _, shift := range []struct {
		name, cluster string
		load          float64
		times         int
		later         float64
		episodes      int
	}{
		{"at home", home, 1, 1, 0.1, 6},
		{"twice the load", home, 2, 10, 0.5, 1},
		{"A100 for K80", "V100=16,P100=16,A100-40=16", 1, 1, 0.1, 3},
	} {
		a := serve(t, policy, x.at(t, scenario.Test, shift.cluster, shift.load, shift.times), shift.episodes, shift.later)
		t.Logf("%s: %.1f %% of %d decisions in alarm, %.1f %% of %d beginnings by the fifth decision", shift.name, 100*a.share(), a.decisions, 100*a.caught(), a.starts)
		switch {
		case a.starts < 20:
			t.Errorf("%s: %d beginnings, too few to show anything", shift.name, a.starts)
		case shift.name == "at home" && a.share() > most:
			t.Errorf("%s: %.1f %% of the decisions are in alarm, want less than 1 %%", shift.name, 100*a.share())
		case shift.name != "at home" && a.caught() < least:
			t.Errorf("%s: %.1f %% of the beginnings are in alarm by the fifth decision, want 90 %%", shift.name, 100*a.caught())
		}
	}
}

// BenchmarkUnfamiliar prints how often the alarm is false at home, on windows of
// the trace that nothing was measured on, and how often it is raised within five
// decisions elsewhere:
//
//	go test ./serve/guard -run '^$' -bench Unfamiliar -benchtime 1x
func BenchmarkUnfamiliar(b *testing.B) {
	for _, load := range []float64{1, 2} {
		x := newShifts(b, 20_000, 200, 6*time.Minute)
		policy := x.trained(b, load, 48)
		for _, shift := range shifted {
			b.Run(fmt.Sprintf("load=%g/%s", load, shift.name), func(b *testing.B) {
				var a alarms
				for b.Loop() {
					a = serve(b, policy, x.at(b, scenario.Test, shift.cluster, load*shift.load, shift.times), shift.episodes, shift.later)
				}
				b.ReportMetric(100*a.share(), "%-in-alarm")
				b.ReportMetric(100*a.caught(), "%-by-5")
				b.ReportMetric(float64(a.starts), "starts")
			})
		}
	}
}
