package heuristic

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/yardmaster/yardmaster/agent"
	"github.com/yardmaster/yardmaster/agent/agenttest"
	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/metrics"
	"github.com/yardmaster/yardmaster/env/rng"
	"github.com/yardmaster/yardmaster/env/sim"
)

// slot is the round of these tests: work, submission and deadlines are whole slots
// where a schedule is to be proved to exist.
const slot = time.Minute

// sizes are candidates of 1, 2, 4, … up to so many GPUs of one node, 1 step/s on
// one and 1.8 times as fast with every doubling: the gain from a GPU falls, as in
// ElasticFlow's scaling curves.
type sizes int

func (n sizes) Strategies(*env.Job, *env.Cluster) ([]env.Strategy, error) {
	var list []env.Strategy
	for g, speed := 1, 1.0; g <= int(n); g, speed = 2*g, 1.8*speed {
		list = append(list, env.Strategy{GPUs: g, Nodes: 1, Throughput: speed})
	}
	return list, nil
}

// play returns the schedule of jobs under p on one node.
func play(t *testing.T, p agent.Policy, gpus int, candidates sim.Candidates, jobs []env.Job) metrics.Summary {
	t.Helper()
	sum, err := agenttest.Play(t.Context(), p, sim.Config{
		Cluster:  env.Cluster{Types: []env.GPUType{{Name: "V100"}}, Nodes: []env.Node{{GPUs: gpus}}},
		Workload: func(uint64) ([]env.Job, error) { return jobs, nil }, Candidates: candidates,
		Round: slot, FreeRestarts: true, FreePlacement: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	return sum
}

// tight draws jobs for one GPU in whole slots, deadlines up to so many slots after
// the job could end if it ran at once.
func tight(r *rand.Rand, n, slack int) []env.Job {
	var jobs []env.Job
	now := 0
	for i := range n {
		now += r.IntN(9)
		work := 1 + r.IntN(6)
		jobs = append(jobs, env.Job{
			ID: int64(i + 1), Model: "m", Batch: 1, GPUs: 1, Weight: 1, Work: float64(work) * slot.Seconds(),
			Submit: time.Duration(now) * slot, Deadline: time.Duration(now+work+r.IntN(slack+1)) * slot,
		})
	}
	return jobs
}

// feasible reports whether one GPU that may be taken away at any time can meet all
// deadlines: no stretch of time has to hold more work than it is long (Horn, Naval
// Research Logistics Quarterly 1974).
func feasible(jobs []env.Job) bool {
	for _, a := range jobs {
		for _, b := range jobs {
			work := 0.0
			for _, j := range jobs {
				if j.Submit >= a.Submit && j.Deadline <= b.Deadline {
					work += j.Work
				}
			}
			if work > (b.Deadline-a.Submit).Seconds() && work > 0 {
				return false
			}
		}
	}
	return true
}

// On one GPU, the earliest deadline first misses a deadline only where every
// schedule does (Liu and Layland 1973; Horn 1974), and so do the rules that
// prefer it among jobs that can be in time.
func TestEDFMeetsWhatCanBeMet(t *testing.T) {
	r := rng.New(1, "deadlines/one")
	can, cannot, fifoLate, laxityLate := 0, 0, 0, 0
	for range 400 {
		jobs := tight(r, 4+r.IntN(10), 4+r.IntN(16))
		late := play(t, EDF{}, 1, sizes(1), jobs).Late
		if !feasible(jobs) {
			cannot++
			if late == 0 {
				t.Errorf("EDF met what cannot be met: %+v", jobs)
			}
			continue
		}
		can++
		if late > 0 {
			t.Errorf("EDF missed %d deadlines that can be met: %+v", late, jobs)
		}
		if late := play(t, ElasticFlow{}, 1, sizes(1), jobs).Late; late > 0 {
			t.Errorf("ElasticFlow missed %d deadlines that can be met: %+v", late, jobs)
		}
		if play(t, LeastLaxity{}, 1, sizes(1), jobs).Late > 0 {
			laxityLate++
		}
		if play(t, FIFO{}, 1, sizes(1), jobs).Late > 0 {
			fifoLate++
		}
	}
	if laxityLate > can/50 { // a running job keeps its place for a round
		t.Errorf("least laxity misses deadlines in %d of %d instances that can be met", laxityLate, can)
	}
	if can < 50 || cannot < 50 || fifoLate < can/5 {
		t.Errorf("%d instances can be met, FIFO misses %d of them, %d cannot: they say little", can, fifoLate, cannot)
	}
}

// deadlines draws jobs of weights 1 to 8 for a node of GPUs so that they are busy
// for this part of the time, with deadlines at 1.2 to 6 times what the job takes on
// the GPUs it asks for.
func deadlines(seed uint64, n, gpus int, load float64) []env.Job {
	r := rng.New(seed, "deadlines/node")
	var jobs []env.Job
	now, mean := 0.0, 40*slot.Seconds()
	for i := range n {
		asked := 1 << r.IntN(3)
		alone := mean * math.Exp(r.NormFloat64()-0.5) // seconds; mean 40 slots
		now += r.ExpFloat64() * mean * (7. / 3) / float64(gpus) / load
		speed := math.Pow(1.8, math.Log2(float64(asked)))
		jobs = append(jobs, env.Job{
			ID: int64(i + 1), Model: "m", Batch: 1, GPUs: asked, Work: math.Ceil(alone * speed), Weight: float64(int(1) << r.IntN(4)),
			Submit:   time.Duration(now * float64(time.Second)),
			Deadline: time.Duration((now + alone*(1.2+4.8*r.Float64())) * float64(time.Second)),
		})
	}
	return jobs
}

// rigid are the candidates of which a job has only the one that it asks for.
type rigid struct{}

func (rigid) Strategies(j *env.Job, _ *env.Cluster) ([]env.Strategy, error) {
	return []env.Strategy{{GPUs: j.GPUs, Nodes: 1, Throughput: math.Pow(1.8, math.Log2(float64(j.GPUs)))}}, nil
}

// total is what a policy leaves late over the seeds of a load: how many jobs, and
// their weighted tardiness, s.
type total struct {
	late    int
	tardy   float64
	tardyOf []float64 // by seed
}

// playAll plays every policy on the same jobs.
func playAll(t *testing.T, policies map[string]agent.Policy, candidates sim.Candidates, load float64) map[string]total {
	t.Helper()
	totals := make(map[string]total)
	for seed := range uint64(5) {
		jobs := deadlines(seed, 200, 16, load)
		for name, p := range policies {
			sum, x := play(t, p, 16, candidates, jobs), totals[name]
			x.late += sum.Late
			x.tardy += sum.WeightedTardiness
			x.tardyOf = append(x.tardyOf, sum.WeightedTardiness)
			totals[name] = x
		}
	}
	return totals
}

// Where jobs compete, the apparent tardiness cost leaves far less weighted tardiness
// than the order of arrival on every trace, and than the earliest deadline where there
// is far too much to do, which it was made for (Vepsalainen and Morton 1987): the
// earliest deadline then works at what is late already. That, and the least laxity,
// miss fewer deadlines than the order of arrival all the same.
func TestTardinessOnTraces(t *testing.T) {
	atc, err := NewTardiness(TardinessConfig{})
	if err != nil {
		t.Fatal(err)
	}
	policies := map[string]agent.Policy{"atc": atc, "edf": EDF{}, "fifo": FIFO{}, "laxity": LeastLaxity{}}
	for _, load := range []float64{1.1, 3} {
		got := playAll(t, policies, rigid{}, load)
		for seed, tardy := range got["atc"].tardyOf {
			if fifo := got["fifo"].tardyOf[seed]; tardy >= fifo/2 {
				t.Errorf("load %v, seed %d: weighted tardiness of %v s, of FIFO %v s", load, seed, tardy, fifo)
			}
		}
		for _, name := range []string{"edf", "laxity"} {
			if got[name].late >= got["fifo"].late {
				t.Errorf("load %v: %s misses %d deadlines, FIFO %d", load, name, got[name].late, got["fifo"].late)
			}
		}
		if load == 3 && 2*got["atc"].tardy >= got["edf"].tardy {
			t.Errorf("load %v: weighted tardiness of %v s, of EDF %v s", load, got["atc"].tardy, got["edf"].tardy)
		}
	}
}

// With jobs that can run on more or fewer GPUs than they ask for, minimum satisfactory
// shares meet more deadlines than any rule for rigid jobs, the more so the more there
// is to do: the order that ElasticFlow (ASPLOS 2023) reports.
func TestElasticFlowOnTraces(t *testing.T) {
	policies := map[string]agent.Policy{"elasticflow": ElasticFlow{}, "edf": EDF{}, "fifo": FIFO{}}
	for _, load := range []float64{1.1, 3} {
		got := playAll(t, policies, sizes(8), load)
		if e, d, f := got["elasticflow"].late, got["edf"].late, got["fifo"].late; e > d/2 || d >= f {
			t.Errorf("load %v: ElasticFlow misses %d deadlines, EDF %d, FIFO %d", load, e, d, f)
		}
	}
}
