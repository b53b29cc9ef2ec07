package heuristic

import (
	"math"

	"github.com/yardmaster/yardmaster/env"
)

// Limits of what Gittins may be told; beyond them exponentials leave float64.
const (
	minSigma  = 0.1 // smaller ones are this
	maxSigma  = 10
	maxMedian = 1e15
)

// Defaults of the log-normal distributions that Gittins assumes.
const (
	// estimateSigma is the error of estimates that env/sim draws.
	estimateSigma = 0.8
	// populationSigma is between those of Philly's and Gavel's durations.
	populationSigma  = 2.0
	populationMedian = 3600.0 // GPU-seconds
	// priorJobs is how many finished jobs the assumed distribution counts as
	// beside those that State.Recent reports.
	priorJobs = 10
)

// gittins tabulates the Gittins index of a log-normal total X with a median of 1
// and a given σ: with a of it done,
//
//	G(a) = sup over b > a of P(a < X <= b) / E[min(X, b) − a; X > a],
//
// the best rate of completions per unit of work that any plan to go on until b
// can reach (Gittins 1979; Aalto, Ayesta and Righter 2009, the form for queues).
// Tiresias' Gittins policy (Gu et al., NSDI 2019, section 3.2.2) takes the same
// index with b − a fixed to its queues' quantum. By scale the index with a median
// of m is G(a/m)/m. Immutable.
type gittins struct {
	low, step float64 // of the grid in ln a
	index     []float64
}

// gittinsCells is the number of cells of the grid, which makes the index of the
// default distributions right to 4 %: its errors all go one way, so that the order
// of jobs hardly feels them.
const gittinsCells = 192

func newGittins(sigma float64) *gittins {
	sigma = max(sigma, minSigma)
	// P(X outside the grid) < 1e-6 on each side; what is less than a fiftieth of
	// the median is nothing done.
	low, high := min(-5*sigma, -4), 5*sigma
	g := &gittins{low: low, step: (high - low) / gittinsCells, index: make([]float64, gittinsCells)}
	var mass, at [gittinsCells]float64 // of a cell, and the work at its middle
	var edge [gittinsCells + 1]float64 // work where a cell begins
	for i := range mass {
		x := g.low + float64(i)*g.step
		mass[i] = normal((x+g.step)/sigma) - normal(x/sigma)
		at[i] = math.Exp(x + g.step/2)
		edge[i+1] = math.Exp(x + g.step)
	}
	tail := 1 - normal(5.0) // the mass from a cell on, and beyond the grid
	for i := gittinsCells - 1; i >= 0; i-- {
		tail += mass[i]
		finished, spent := 0.0, 0.0
		for k := i; k < gittinsCells; k++ {
			finished += mass[k]
			spent += mass[k] * (at[k] - edge[i])
			g.index[i] = max(g.index[i], finished/(spent+(tail-finished)*(edge[k+1]-edge[i])))
		}
	}
	return g
}

// normal is the distribution function of the standard normal distribution.
func normal(x float64) float64 { return 0.5 * math.Erfc(-x/math.Sqrt2) }

// at returns G(a). Beyond the grid it falls as 1/a.
func (g *gittins) at(a float64) float64 {
	if a <= 0 {
		return g.index[0]
	}
	x := (math.Log(a) - g.low) / g.step
	last := len(g.index) - 1
	switch {
	case x <= 0:
		return g.index[0]
	case x >= float64(last):
		return g.index[last] * math.Exp((float64(last)-x)*g.step)
	}
	i := int(x)
	part := x - float64(i)
	return float64(g.index[i]*(1-part)) + float64(g.index[i+1]*part)
}

// ofEstimate is the expectation for work that is known but for a log-normal
// error: the total, whose median is the estimate, is at least what is done.
func (g *gittins) ofEstimate(j *env.JobState, _ *env.Strategy) float64 {
	median := j.Done + j.Remaining
	return median / g.at(j.Done/median)
}

// population is the distribution of the service of all jobs.
type population struct {
	*gittins
	median float64 // GPU-seconds
}

// newPopulation returns the distribution that s and the assumptions suggest: a
// log-normal one whose parameters are the assumed ones, which count as priorJobs
// jobs, and those that the mean and the square of the jobs of State.Recent give.
func newPopulation(s *env.State, sigma, median float64) population {
	mu, square := math.Log(median), sigma*sigma
	if w := &s.Recent; w.Completed > 0 && w.CompletedService > 0 {
		n := float64(w.Completed)
		mean := w.CompletedService / n
		seen := 0.0                          // σ² of the log
		if least := mean * mean; least > 0 { // else it is too small to be told
			seen = min(math.Log(max(1, w.CompletedSquare/n/least)), maxSigma*maxSigma)
		}
		mu = (priorJobs*mu + n*(math.Log(mean)-seen/2)) / (priorJobs + n)
		square = (priorJobs*square + n*seen) / (priorJobs + n)
	}
	return population{newGittins(math.Sqrt(square)), math.Exp(mu)}
}

// ofService is the expectation for work of which only the service so far is
// known. Service counts as it was attained, on whatever GPU type, as in
// Tiresias.
func (p population) ofService(s *env.State) expectation {
	return func(j *env.JobState, best *env.Strategy) float64 {
		// Completions per second in the fastest strategy, whose GPUs attain
		// service at their number.
		rate := p.at(j.Service/p.median) / p.median * best.Held()
		return best.Throughput / rate
	}
}
