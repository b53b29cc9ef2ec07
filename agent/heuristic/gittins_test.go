package heuristic

import (
	"math"
	"testing"

	"github.com/yardmaster/yardmaster/env"
)

// slowGittins is the definition, by numerical integration with 20,000 cells.
func slowGittins(sigma, a float64) float64 {
	const cells = 20_000
	low, high := -6*sigma, 6*sigma
	if a > 0 {
		low = math.Log(a)
	}
	h := (high - low) / cells
	survive := 1 - normal(low/sigma)
	best, finished, spent := 0.0, 0.0, 0.0
	for i := range cells {
		x := low + float64(i)*h
		mass := normal((x+h)/sigma) - normal(x/sigma)
		finished += mass
		spent += mass * (math.Exp(x+h/2) - a)
		best = max(best, finished/(spent+(survive-finished)*(math.Exp(x+h)-a)))
	}
	return best
}

func TestGittinsAgainstItsDefinition(t *testing.T) {
	for _, sigma := range []float64{0.5, 0.8, 2} {
		g := newGittins(sigma)
		for _, a := range []float64{0, 0.01, 0.3, 1, 2, 5, 20} {
			if math.Abs(math.Log(a+1e-9)) > 4*sigma && a > 0 {
				continue // the tail is an extrapolation
			}
			got, want := g.at(a), slowGittins(sigma, a)
			if math.Abs(got/want-1) > 0.05 {
				t.Errorf("σ = %v: G(%v) = %v, want %v within 5 %%", sigma, a, got, want)
			}
		}
	}
}

// TestGittinsFallsWithAge: a heavy tail makes an old job a long one, so that the
// index orders jobs as least attained service does.
func TestGittinsFallsWithAge(t *testing.T) {
	g := newGittins(2)
	for a := 1.0; a < 1e9; a *= 1.5 {
		if g.at(a*1.5) >= g.at(a) {
			t.Errorf("G(%v) = %v, at %v it is %v: want less", a, g.at(a), a*1.5, g.at(a*1.5))
		}
	}
}

// TestGittinsKnowsWhatIsNearlyDone: where totals are almost certain, the index
// rises towards the end as one over the remaining work does.
func TestGittinsKnowsWhatIsNearlyDone(t *testing.T) {
	g := newGittins(0.1)
	for _, a := range []float64{0, 0.25, 0.5} {
		if got, want := g.at(a), 1/(1-a); math.Abs(got/want-1) > 0.15 {
			t.Errorf("G(%v) = %v, want about %v", a, got, want)
		}
	}
}

func TestGittinsGoesByTheJobsThatFinished(t *testing.T) {
	s := &env.State{}
	if p := newPopulation(s, 2, 3600); math.Abs(p.median/3600-1) > 1e-12 {
		t.Errorf("nothing finished: median %v, want the assumed 3600", p.median)
	}
	// 90 log-normal jobs with mean 20,000 and σ = 1, whose median is 20,000/√e.
	s.Recent = env.Window{Completed: 90, CompletedService: 90 * 20_000, CompletedSquare: 90 * 20_000 * 20_000 * math.E}
	want := math.Exp(0.1*math.Log(3600) + 0.9*(math.Log(20_000)-0.5))
	if p := newPopulation(s, 2, 3600); math.Abs(p.median/want-1) > 1e-12 {
		t.Errorf("90 finished: median %v, want %v", p.median, want)
	}
}

func TestGittinsPolicy(t *testing.T) {
	p, err := NewGittins(GittinsConfig{})
	if err != nil {
		t.Fatal(err)
	}
	// By age alone the third would take the place of the second, which is less
	// than 10 % ahead and keeps it.
	s := unknown(stateOf(served(waiting(4, 0), 90_000), served(running(4, 0, slow), 10_300), served(waiting(4, 0), 10_000), served(waiting(4, 0), 1000)))
	wantDecision(t, p, s, idle, slow, idle, fast)
}

// A window whose services are too small for their squares says no more than that
// they are small: the index stays a number.
func TestPopulationOfTinyServices(t *testing.T) {
	s := stateOf(waiting(1, 1))
	s.Recent = env.Window{Completed: 3, CompletedService: 1e-200}
	p := newPopulation(s, populationSigma, populationMedian)
	if x := p.at(1); !(x > 0) || !(p.median > 0) || p.median >= populationMedian {
		t.Errorf("index %v of a median of %v GPU-seconds, want a number and less than the assumed median", x, p.median)
	}
}

// Requests that add up to more than an int holds are a high load, not a low one.
func TestLoadOfHugeRequests(t *testing.T) {
	s := stateOf(waiting(4, 1), waiting(4, 1), waiting(4, 1))
	for i := range s.Jobs {
		s.Jobs[i].GPUs = math.MaxInt
	}
	if load := emptyPool(s).load(); !(load > 40) {
		t.Errorf("load %v, want the logarithm of 3·2⁶³/8", load)
	}
}
