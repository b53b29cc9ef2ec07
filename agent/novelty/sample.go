package novelty

import (
	"math"
	"math/bits"
	"slices"

	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/models"
)

// sample is the observations in the form that statistics are made of.
type sample struct {
	observations []*env.Observation
	points       [][]float64 // [states][D]
	fold         []uint32    // [states]
	class        []int       // [states], index into least
	least        []int       // candidates of each class, at least
	global       []column    // [G]
	candidate    []column    // [F]
}

// column is the values of one feature, ascending, each with its fold: the upper
// half is the value's bits in the order of the values, the lower the fold.
type column []uint64

func newSample(observations []*env.Observation) *sample {
	g, f := len(observations[0].Global), len(observations[0].Candidates)/observations[0].N()
	s := &sample{observations: observations, global: make([]column, g), candidate: make([]column, f)}
	plain := &Scorer{global: make([]models.Range, g), candidate: make([]models.Range, f)}
	w := newScratch(g, f)
	for i, o := range observations {
		fold := uint32(i * folds / len(observations))
		plain.reduce(w, o)
		s.points, s.fold = append(s.points, slices.Clone(w.x)), append(s.fold, fold)
		for k, x := range o.Global {
			s.global[k] = append(s.global[k], pack(x, fold))
		}
		for row := range spread(o.N()) {
			if !o.Mask[row] {
				continue
			}
			for k, x := range o.Candidates[row*f:][:f] {
				s.candidate[k] = append(s.candidate[k], pack(x, fold))
			}
		}
	}
	for _, columns := range [][]column{s.global, s.candidate} {
		for _, c := range columns {
			slices.Sort(c)
		}
	}
	s.classify()
	return s
}

// minClass is how many states of a class there must be without any one fold.
const minClass = 300

// classify divides the states by the powers of two of their number of candidates,
// into as many classes as have enough states, from the largest down: what is too
// little for a class of its own joins the one below, at the bottom the one above.
func (s *sample) classify() {
	sizes := make([]int, len(s.observations))
	var count [bits.UintSize + 1][folds]int
	for i, o := range s.observations {
		sizes[i] = bits.Len(uint(legal(o)))
		count[sizes[i]][s.fold[i]]++
	}
	var open [folds]int
	for size := len(count) - 1; size > 0; size-- {
		total := 0
		for fold := range open {
			open[fold] += count[size][fold]
			total += open[fold]
		}
		if total-slices.Max(open[:]) >= minClass {
			s.least = append(s.least, 1<<(size-1))
			open = [folds]int{}
		}
	}
	if len(s.least) == 0 {
		s.least = []int{0}
	}
	s.least[len(s.least)-1] = 0
	slices.Reverse(s.least)
	s.class = make([]int, len(s.observations))
	for i, o := range s.observations {
		after, _ := slices.BinarySearch(s.least, legal(o)+1)
		s.class[i] = after - 1
	}
}

// pack and unpack map a value and its fold to an integer that is ordered as the
// values are.
func pack(x float32, fold uint32) uint64 {
	bits := math.Float32bits(x)
	if bits&(1<<31) != 0 {
		bits = ^bits
	} else {
		bits |= 1 << 31
	}
	return uint64(bits)<<32 | uint64(fold)
}

func unpack(key uint64) float32 {
	bits := uint32(key >> 32)
	if bits&(1<<31) != 0 {
		bits &^= 1 << 31
	} else {
		bits = ^bits
	}
	return math.Float32frombits(bits)
}

// statistics returns ranges, means and covariances of all states but those of a
// fold, without units.
func (s *sample) statistics(without uint32) *models.Novelty {
	d := len(s.points[0])
	n := new(models.Novelty)
	for _, c := range s.global {
		n.Global = append(n.Global, c.between(without))
	}
	for _, c := range s.candidate {
		n.Candidate = append(n.Candidate, c.between(without))
	}
	for _, least := range s.least {
		n.Classes = append(n.Classes, models.SizeClass{Candidates: least, Mean: make([]float64, d), Features: make([]float64, d)})
	}
	for i, p := range s.points {
		if s.fold[i] != without {
			n.States++
			c := &n.Classes[s.class[i]]
			c.States++
			for k, x := range p {
				c.Mean[k] += x
			}
		}
	}
	for k := range n.Classes {
		c := &n.Classes[k]
		for i := range c.Mean {
			c.Mean[i] /= float64(max(1, c.States))
		}
		round(c.Mean)
	}
	var deviations [][]float64
	for i, p := range s.points {
		if s.fold[i] != without {
			d := slices.Clone(p)
			for k, mean := range n.Classes[s.class[i]].Mean {
				d[k] -= mean
			}
			deviations = append(deviations, d)
		}
	}
	n.Covariance = covariance(deviations)
	return n
}

// between returns the range of the values that are not of a fold.
func (c column) between(without uint32) models.Range {
	count := 0
	for _, key := range c {
		if uint32(key) != without {
			count++
		}
	}
	skip := int(rare * float64(count))
	var r models.Range
	for left, i := skip, 0; i < len(c); i++ {
		if uint32(c[i]) != without {
			if r.Low = unpack(c[i]); left == 0 {
				break
			}
			left--
		}
	}
	for left, i := skip, len(c)-1; i >= 0; i-- {
		if uint32(c[i]) != without {
			if r.High = unpack(c[i]); left == 0 {
				break
			}
			left--
		}
	}
	return r
}
