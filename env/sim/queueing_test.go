package sim

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/rng"
)

// The simulator is a queueing system whose mean waiting time is known: Poisson
// arrivals, first come, first served, on one GPU or several.
//
// Rounds make it a slotted one. A job that finishes within a round holds its GPU
// to the end of it, so that what counts is its service rounded up to rounds, S;
// and a GPU that has nothing to do at a round start looks again a round r later,
// which is a vacation of that length. The M/G/1 queue with vacations has the mean
// waiting time (Bertsekas and Gallager, Data Networks, 2nd ed., section 3.5.2)
//
//	W = λ·E[S²] / (2·(1 − λ·E[S])) + r/2
//
// of which the first part is the formula of Pollaczek and Khinchine. It is exact
// for every length of a round.

// oneGPUEach lets every job run on one GPU, a step a second.
type oneGPUEach struct{}

func (oneGPUEach) Strategies(*env.Job, *env.Cluster) ([]env.Strategy, error) {
	return []env.Strategy{{GPUs: 1, Nodes: 1, Throughput: 1}}, nil
}

// queue is a queueing system to simulate.
type queue struct {
	servers int
	load    float64       // λ·E[service] / servers, before rounding up
	mean    time.Duration // of service, before rounding up
	round   time.Duration
	service func(r *rand.Rand) float64 // in units of mean, mean 1
}

// rate returns λ per second.
func (q *queue) rate() float64 { return q.load * float64(q.servers) / q.mean.Seconds() }

// rounded returns a service time as it counts, in seconds.
func (q *queue) rounded(x float64) float64 {
	return math.Ceil(x*q.mean.Seconds()/q.round.Seconds()-1e-9) * q.round.Seconds()
}

// waits returns the waiting times of n jobs in order of arrival, in seconds.
func (q *queue) waits(t *testing.T, seed uint64, n int) []float64 {
	t.Helper()
	s := mustNew(t, Config{
		Cluster: cluster(q.servers, q.servers), Candidates: oneGPUEach{}, Round: q.round, Window: q.round,
		FreePlacement: true, FreeRestarts: true,
		Workload: func(seed uint64) ([]env.Job, error) {
			arrivals, services := rng.New(seed, "arrivals"), rng.New(seed, "services")
			jobs := make([]env.Job, n)
			at := 0.0
			for i := range jobs {
				at += arrivals.ExpFloat64() / q.rate()
				jobs[i] = env.Job{ID: int64(i), Model: "m", Batch: 1, GPUs: 1, Weight: 1, Submit: time.Duration(at * 1e9), Work: q.mean.Seconds() * q.service(services)}
			}
			return jobs, nil
		},
	})
	mustReset(t, s, seed)
	var a env.Allocation
	for !s.Done() {
		a = a[:0]
		for i := range s.State().Jobs { // in order of arrival
			k := env.Idle
			if i < q.servers {
				k = 0
			}
			a = append(a, k)
		}
		if _, err := s.Advance(a); err != nil {
			t.Fatal(err)
		}
	}
	schedule := s.Schedule()
	out := make([]float64, n)
	for i := range out {
		out[i] = (schedule.Jobs[i].Start - schedule.Jobs[i].Submit).Seconds()
	}
	return out
}

// batchMeans returns the mean of a sequence and the half-width of its 99 %
// confidence interval by the method of batch means, after leaving out the first
// twentieth, in which the queue fills.
func batchMeans(x []float64) (mean, half float64) {
	const batches = 30
	const quantile = 2.756 // of Student's t with 29 degrees of freedom, 0.995
	x = x[len(x)/20:]
	size := len(x) / batches
	var sum, square float64
	for b := range batches {
		m := 0.0
		for _, v := range x[b*size : (b+1)*size] {
			m += v / float64(size)
		}
		sum += m
		square += m * m
	}
	mean = sum / batches
	return mean, quantile * math.Sqrt((square/batches-mean*mean)/(batches-1))
}

// checkWait compares a simulated mean with theory. An interval that says little
// is an error of the test.
func checkWait(t *testing.T, name string, waits []float64, want float64) {
	t.Helper()
	mean, half := batchMeans(waits)
	t.Logf("%s: mean waiting time %.4f ± %.4f s, theory %.4f s", name, mean, half, want)
	if math.Abs(mean-want) > half {
		t.Errorf("%s: mean waiting time is %.4f ± %.4f s, want %.4f", name, mean, half, want)
	}
	if half > 0.1*want {
		t.Errorf("%s: the interval ± %.4f s is too wide to tell", name, half)
	}
}

func exponential(r *rand.Rand) float64 { return r.ExpFloat64() }

// M/M/1: services rounded up to rounds of r are geometric, with the moments
// below. With short rounds the result is close to ρ/(μ−λ) of the plain M/M/1
// queue, which is tested to be so.
func TestWaitingTimeOfMM1(t *testing.T) {
	for _, load := range []float64{0.5, 0.7} {
		q := queue{servers: 1, load: load, mean: 100 * time.Second, round: 2 * time.Second, service: exponential}
		r, mu := q.round.Seconds(), 1/q.mean.Seconds()
		p := -math.Expm1(-mu * r) // P(service ends within a round)
		first, second := r/p, r*r*(2-p)/(p*p)
		want := q.rate()*second/(2*(1-q.rate()*first)) + r/2
		plain := load / (mu - q.rate())
		if math.Abs(want-plain) > 0.06*plain {
			t.Errorf("load %v: rounds change the waiting time of M/M/1 from %v to %v s: too long for this test", load, plain, want)
		}
		checkWait(t, fmt.Sprintf("M/M/1, load %v", load), q.waits(t, 1, 60_000), want)
	}
}

// M/G/1: constant services, two kinds of service, and a heavy spread, with
// rounds as long as the shortest service.
func TestWaitingTimeOfMG1(t *testing.T) {
	for _, test := range []struct {
		name    string
		service func(r *rand.Rand) float64
		values  []float64 // of service, and their probabilities
		chances []float64
	}{
		{"M/D/1", func(*rand.Rand) float64 { return 1 }, []float64{1}, []float64{1}},
		{"M/G/1 of two kinds", pick([]float64{0.5, 3}, []float64{0.8, 0.2}), []float64{0.5, 3}, []float64{0.8, 0.2}},
		{"M/G/1 with a long tail", pick([]float64{0.25, 1, 6}, []float64{0.6, 0.31, 0.09}), []float64{0.25, 1, 6}, []float64{0.6, 0.31, 0.09}},
		{"M/G/1 within rounds", pick([]float64{0.1, 1.9}, []float64{0.5, 0.5}), []float64{0.1, 1.9}, []float64{0.5, 0.5}},
	} {
		q := queue{servers: 1, load: 0.6, mean: 100 * time.Second, round: 25 * time.Second, service: test.service}
		first, second := 0.0, 0.0
		for i, x := range test.values {
			s := q.rounded(x)
			first += test.chances[i] * s
			second += test.chances[i] * s * s
		}
		want := q.rate()*second/(2*(1-q.rate()*first)) + q.round.Seconds()/2
		checkWait(t, test.name, q.waits(t, 2, 120_000), want)
	}
}

// pick draws one of the values with these chances.
func pick(values, chances []float64) func(r *rand.Rand) float64 {
	return func(r *rand.Rand) float64 {
		u := r.Float64()
		for i, c := range chances {
			if u < c {
				return values[i]
			}
			u -= c
		}
		return values[len(values)-1]
	}
}

// M/M/c in rounds is a Markov chain that can be solved; Erlang's formula C is its
// limit for short rounds.
func TestWaitingTimeOfMMc(t *testing.T) {
	for _, servers := range []int{2, 5} {
		q := queue{servers: servers, load: 0.7, mean: 100 * time.Second, round: 4 * time.Second, service: exponential}
		offered := q.load * float64(servers)
		plain := erlangC(servers, offered) * q.mean.Seconds() / (float64(servers) - offered)
		want := q.slotted()
		half := q
		half.round /= 2
		// The error of a round is of first order in its length: extrapolated to 0.
		if limit := 2*half.slotted() - want; math.Abs(limit-plain) > 0.005*plain {
			t.Errorf("M/M/%d: the chain tends to %v s with short rounds, Erlang's formula says %v", servers, limit, plain)
		}
		checkWait(t, fmt.Sprintf("M/M/%d", servers), q.waits(t, 3, 150_000), want)
	}
}

// slotted returns the mean waiting time of M/M/c in rounds, in seconds. The
// number of jobs at round starts is a Markov chain: of those in service each
// leaves within a round with probability p, and Poisson arrivals join. Jobs that
// wait through a round are those beyond the servers; one that arrives in it waits
// half of it on average; Little's law does the rest.
func (q *queue) slotted() float64 {
	const states = 250
	r := q.round.Seconds()
	p := -math.Expm1(-r / q.mean.Seconds())
	arrive := make([]float64, 12) // P(so many arrive in a round)
	for k, term := 0, math.Exp(-q.rate()*r); k < len(arrive); k++ {
		arrive[k] = term
		term *= q.rate() * r / float64(k+1)
	}
	now, next := make([]float64, states), make([]float64, states)
	now[0] = 1
	for range 8000 {
		clear(next)
		for n, weight := range now {
			busy := min(n, q.servers)
			leave := math.Pow(1-p, float64(busy)) // P(k of busy leave), k = 0
			for k := 0; k <= busy; k++ {
				for a, chance := range arrive {
					next[min(states-1, n-k+a)] += weight * leave * chance
				}
				leave *= float64(busy-k) / float64(k+1) * p / (1 - p)
			}
		}
		now, next = next, now
	}
	waiting := 0.0
	for n, weight := range now {
		waiting += weight * float64(max(0, n-q.servers))
	}
	return waiting/q.rate() + r/2
}

// erlangC returns the probability that an arrival waits in M/M/c where jobs
// bring offered erlangs of work, by the recursion for Erlang's formula B.
func erlangC(servers int, offered float64) float64 {
	b := 1.0
	for n := 1; n <= servers; n++ {
		b = offered * b / (float64(n) + offered*b)
	}
	c := float64(servers)
	return b / (1 - offered/c*(1-b))
}

// Erlang's formula C against its definition, a ratio of sums.
func TestErlangC(t *testing.T) {
	if got, want := erlangC(1, 0.7), 0.7; math.Abs(got-want) > 1e-12 {
		t.Errorf("one server: got %v, want the load %v", got, want)
	}
	for _, servers := range []int{2, 5, 11} {
		offered := 0.8 * float64(servers)
		term, sum := 1.0, 0.0
		for n := range servers {
			sum += term
			term *= offered / float64(n+1)
		}
		term /= 1 - 0.8
		if got, want := erlangC(servers, offered), term/(sum+term); math.Abs(got-want) > 1e-12 {
			t.Errorf("%d servers: got %v, want %v", servers, got, want)
		}
	}
}
