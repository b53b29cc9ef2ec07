package gavel

import "math"

// double is a number of twice the precision of float64, hi + lo with lo at most
// half a unit in the last place of hi (Dekker, Numer. Math. 1971). Operations
// are good to about 2⁻¹⁰⁰.
type double struct{ hi, lo float64 }

// sum returns a + b exactly (Knuth's two-sum).
func sum(a, b float64) double {
	s := a + b
	t := s - a
	return double{s, (a - (s - t)) + (b - t)}
}

func (a double) plus(b double) double {
	s := sum(a.hi, b.hi)
	return sum(s.hi, s.lo+a.lo+b.lo)
}

func (a double) times(b double) double {
	p := a.hi * b.hi
	low := math.FMA(a.hi, b.hi, -p) // what p lost
	return sum(p, low+(float64(a.hi*b.lo)+float64(a.lo*b.hi)))
}

func (a double) over(b double) double {
	q := a.hi / b.hi
	rest := a.plus(b.times(double{hi: -q}))
	return sum(q, (rest.hi+rest.lo)/b.hi)
}
