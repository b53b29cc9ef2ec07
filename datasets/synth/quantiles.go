package synth

import (
	"cmp"
	"math"
	"slices"
	"strconv"
)

// Quantiles is a distribution of non-negative numbers, as points of its quantile
// function: {probability, value}, both ascending, from probability 0 to 1. Between
// two points the logarithm of the value is linear in the probability; two points
// with one value are an atom. So drawing from it is a smoothed bootstrap: every
// observed value lends its weight to its surroundings on a logarithmic scale, as
// far as the next value.
type Quantiles [][2]float64

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
		a, b := q[i-1], q[i]
		low, high := a[1]+grain, b[1]+grain
		value := low
		if ratio := high / low; ratio-1 > 1e-9 {
			value = (high - low) / math.Log(ratio)
		}
		sum += (b[0] - a[0]) * (value - grain)
	}
	return sum
}

// weighted is an observed value that counts with a weight.
type weighted struct{ value, weight float64 }

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
	before := 0.0
	for i := 0; i < len(sample); {
		next, weight := i, 0.0
		for ; next < len(sample) && sample[next].value == sample[i].value; next++ {
			weight += sample[next].weight
		}
		if v := sample[i].value; next > i+1 && weight >= total/100 {
			knots = append(knots, [2]float64{before / total, v}, [2]float64{(before + weight) / total, v})
		} else {
			knots = append(knots, [2]float64{(before + weight/2) / total, v})
		}
		before += weight
		i = next
	}
	knots[0][0] = 0
	if len(knots) == 1 || knots[len(knots)-1][0] < 1 {
		knots = append(knots, [2]float64{1, knots[len(knots)-1][1]})
	}
	knots[len(knots)-1][0] = 1
	return thin(knots, grain)
}

// tolerance is by how much the probability of a value may be off at p: 0.4 % in
// the middle and less in the tails, where the longest jobs carry the load.
func tolerance(p float64) float64 { return max(0.0005, min(0.004, 0.05*min(p, 1-p))) }

// thin leaves out points: first keeps the ends, then the point that is furthest
// off its chord in units of the tolerance, and so on until none is off by more
// than that or there are maxKnots (Ramer 1972, Douglas and Peucker 1973, with
// the largest error first).
func thin(knots Quantiles, grain float64) Quantiles {
	type chord struct {
		from, to, worst int
		off             float64
	}
	measure := func(from, to int) chord {
		c := chord{from: from, to: to, worst: -1}
		low, high := math.Log(knots[from][1]+grain), math.Log(knots[to][1]+grain)
		for i := from + 1; i < to; i++ {
			p := knots[from][0]
			if high > low {
				p += (math.Log(knots[i][1]+grain) - low) / (high - low) * (knots[to][0] - knots[from][0])
			} else {
				p = knots[i][0] // all are one value
			}
			if off := math.Abs(p-knots[i][0]) / tolerance(knots[i][0]); off > c.off {
				c.worst, c.off = i, off
			}
		}
		return c
	}
	keep := []int{0, len(knots) - 1}
	chords := []chord{measure(0, len(knots)-1)}
	for len(keep) < maxKnots {
		k := 0
		for i := range chords {
			if chords[i].off > chords[k].off {
				k = i
			}
		}
		c := chords[k]
		if c.off <= 1 {
			break
		}
		keep = append(keep, c.worst)
		chords[k] = measure(c.from, c.worst)
		chords = append(chords, measure(c.worst, c.to))
	}
	slices.Sort(keep)
	out := make(Quantiles, len(keep))
	for i, k := range keep {
		out[i] = [2]float64{round(knots[k][0], 5), round(knots[k][1], 6)}
	}
	return out
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
