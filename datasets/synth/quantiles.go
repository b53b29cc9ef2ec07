package synth

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
)

// Quantiles is a distribution of non-negative numbers, as points of its quantile
// function: {probability, value}, both ascending, from probability 0 to 1. Between
// two points the logarithm of the value is linear in the probability; two points
// with one value are an atom, two with one probability leave out what is between
// them. So drawing from it is a smoothed bootstrap: every observed value lends its
// weight to its surroundings on a logarithmic scale, as far as the next value if
// that is not more than twice as large.
type Quantiles [][2]float64

// UnmarshalYAML reads a list of pairs: a list of one number is not one.
func (q *Quantiles) UnmarshalYAML(unmarshal func(any) error) error {
	var points [][]float64
	if err := unmarshal(&points); err != nil {
		return err
	}
	*q = make(Quantiles, len(points))
	for i, p := range points {
		if len(p) != 2 {
			return fmt.Errorf("point %d of a distribution has %d numbers, want a probability and a value", i, len(p))
		}
		(*q)[i] = [2]float64(p)
	}
	return nil
}

// maxKnots bounds the points of a distribution in a model.
const maxKnots = 48

// at returns the value at probability u, 0 <= u <= 1. Logarithms are taken of
// the value plus grain, which is > 0: the resolution of what was measured.
func (q Quantiles) at(u, grain float64) float64 {
	i, _ := slices.BinarySearchFunc(q, u, func(k [2]float64, u float64) int { return cmp.Compare(k[0], u) })
	if i == 0 {
		return q[0][1]
	}
	if i == len(q) {
		return q[i-1][1]
	}
	a, b := q[i-1], q[i]
	if a[1] == b[1] || b[0] == a[0] {
		return b[1]
	}
	part := (u - a[0]) / (b[0] - a[0])
	v := (a[1]+grain)*math.Pow((b[1]+grain)/(a[1]+grain), part) - grain
	return min(max(v, a[1]), b[1])
}

// mean returns the mean.
func (q Quantiles) mean(grain float64) float64 {
	sum := 0.0
	for i := 1; i < len(q); i++ {
		sum += q.integral(i, grain)
	}
	return sum
}

// integral returns the integral of the quantile function from point i−1 to i. With
// v + grain = A·e^(Bu) it is Δ(v + grain)/B less the grain.
func (q Quantiles) integral(i int, grain float64) float64 {
	a, b := q[i-1], q[i]
	low, high := a[1]+grain, b[1]+grain
	mean := low
	if ratio := high / low; ratio-1 > 1e-9 {
		mean = (high - low) / math.Log(ratio)
	}
	return max(0, (b[0]-a[0])*(mean-grain))
}

// around returns the value around a random instant of a sequence of intervals with
// this distribution: one with a probability in proportion to itself. u is uniform.
// Between two points such values are uniform, since dv/du is in proportion to v
// (to v + grain, that is).
func (q Quantiles) around(u, grain float64) float64 {
	weights := make([]float64, len(q)-1)
	for i := range weights {
		weights[i] = q.integral(i+1, grain)
	}
	cumulated := cumulate(weights)
	i := pick(cumulated, u)
	before := 0.0
	if i > 0 {
		before = cumulated[i-1]
	}
	part := 0.0
	if width := cumulated[i] - before; width > 0 {
		part = min(1, max(0, (u-before)/width))
	}
	return q[i][1] + part*(q[i+1][1]-q[i][1])
}

// weighted is an observed value that counts with a weight.
type weighted struct{ value, weight float64 }

// bridged is the largest ratio of successive values between which values are made
// up: beyond it nothing was seen to say that there are any, and the longest gaps
// and durations, which carry rate and load, would shrink.
const bridged = 2

// sketch returns the distribution of a sample with weights > 0, which it sorts.
// A value that makes up a hundredth of the weight and occurs more than once is
// an atom; all others become one point each at the middle of their probability,
// of which as many are left out as the tolerance allows.
func sketch(sample []weighted, grain float64) Quantiles {
	slices.SortFunc(sample, func(a, b weighted) int { return cmp.Compare(a.value, b.value) })
	total := 0.0
	for _, s := range sample {
		total += s.weight
	}
	var knots Quantiles
	add := func(p, v float64) {
		if k := [2]float64{min(1, p/total), v}; len(knots) == 0 || knots[len(knots)-1] != k {
			knots = append(knots, k)
		}
	}
	far := func(low, high float64) bool { return high+grain > bridged*(low+grain) }
	before := 0.0
	for i := 0; i < len(sample); {
		v, next, weight := sample[i].value, i, 0.0
		for ; next < len(sample) && sample[next].value == v; next++ {
			weight += sample[next].weight
		}
		atom := next > i+1 && weight >= total/100
		if atom || i == 0 || far(sample[i-1].value, v) {
			add(before, v)
		}
		if !atom {
			add(before+weight/2, v)
		}
		if atom || next == len(sample) || far(v, sample[next].value) {
			add(before+weight, v)
		}
		before += weight
		i = next
	}
	knots[len(knots)-1][0] = 1
	return thin(knots, grain)
}

// tolerance is by how much the probability of a value may be off at p: 0.4 % in
// the middle and less in the tails, where the longest jobs carry the load.
func tolerance(p float64) float64 { return max(0.0005, min(0.004, 0.05*min(p, 1-p))) }

// meanTolerance is by how much one left-out stretch may change the mean, as a part
// of it.
const meanTolerance = 0.001

// thin leaves out points: it keeps the ends, then the point that is furthest off
// its chord in units of the tolerance, and so on until no chord is off by more than
// that, nor its integral by more than meanTolerance, or there are maxKnots (Ramer
// 1972, Douglas and Peucker 1973, with the largest error first).
func thin(knots Quantiles, grain float64) Quantiles {
	sums := make([]float64, len(knots)) // integrals up to each point
	for i := 1; i < len(knots); i++ {
		sums[i] = sums[i-1] + knots.integral(i, grain)
	}
	scale := meanTolerance * sums[len(sums)-1]
	keep := []int{0, len(knots) - 1}
	chords := []chord{measureChord(knots, sums, scale, grain, 0, len(knots)-1)}
	for len(keep) < maxKnots {
		k := 0
		for i := range chords {
			if chords[i].off > chords[k].off {
				k = i
			}
		}
		c := chords[k]
		if c.off <= 1 || c.worst < 0 {
			break
		}
		keep = append(keep, c.worst)
		chords[k] = measureChord(knots, sums, scale, grain, c.from, c.worst)
		chords = append(chords, measureChord(knots, sums, scale, grain, c.worst, c.to))
	}
	slices.Sort(keep)
	out := make(Quantiles, len(keep))
	for i, k := range keep {
		out[i] = [2]float64{round(knots[k][0], 6), round(knots[k][1], 6)}
	}
	return out
}

// chord is a straight line that stands for the points between two.
type chord struct {
	from, to, worst int // worst is -1 where there is none between
	off             float64
}

// measureChord says how far off the chord from one point to another is. scale is
// the error of its integral that counts as 1.
func measureChord(knots Quantiles, sums []float64, scale, grain float64, from, to int) chord {
	c := chord{from: from, to: to, worst: -1}
	low, high := math.Log(knots[from][1]+grain), math.Log(knots[to][1]+grain)
	for i := from + 1; i < to; i++ {
		p := knots[i][0]
		if high > low {
			p = knots[from][0] + (math.Log(knots[i][1]+grain)-low)/(high-low)*(knots[to][0]-knots[from][0])
		}
		if off := math.Abs(p-knots[i][0]) / tolerance(knots[i][0]); off > c.off {
			c.worst, c.off = i, off
		}
	}
	if scale > 0 {
		line := Quantiles{knots[from], knots[to]}
		c.off = max(c.off, math.Abs(line.integral(1, grain)-(sums[to]-sums[from]))/scale)
	}
	return c
}

// round returns x to that many significant digits, so that a model is short to
// read and equal to what is read back.
func round(x float64, digits int) float64 {
	y, err := strconv.ParseFloat(strconv.FormatFloat(x, 'g', digits, 64), 64)
	if err != nil {
		return x // an overflow: x is within a digit of the largest number
	}
	return y
}
