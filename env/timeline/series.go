package timeline

import "time"

// series averages step functions of time over bins of equal length.
type series struct {
	from time.Duration
	bin  float64   // length of a bin, ns
	sum  []float64 // what lies in the bin alone, ns × value
	step []float64 // change of what covers whole bins, from this bin on
}

func newSeries(from, to time.Duration, bins int) *series {
	return &series{from: from, bin: float64(to-from) / float64(bins), sum: make([]float64, bins), step: make([]float64, bins+1)}
}

// add adds value from one time to another.
func (s *series) add(from, to time.Duration, value float64) {
	if to <= from {
		return
	}
	a, b := float64(from-s.from)/s.bin, float64(to-s.from)/s.bin
	i, k := min(int(a), len(s.sum)-1), min(int(b), len(s.sum)-1)
	if i == k {
		s.sum[i] += value * (b - a)
		return
	}
	s.sum[i] += value * (float64(i+1) - a)
	s.sum[k] += value * (b - float64(k))
	s.step[i+1] += value
	s.step[k] -= value
}

// averages returns the average in every bin.
func (s *series) averages() []float64 {
	out := make([]float64, len(s.sum))
	level := 0.0
	for i := range out {
		level += s.step[i]
		out[i] = max(0, level+s.sum[i])
	}
	return out
}

// busy returns, for each GPU type, the average number of GPUs that jobs hold in
// each of so many bins, shape [types][bins].
func (l *layout) busy(bins int) [][]float64 {
	types := make([]*series, len(l.rec.Cluster.Types))
	for t := range types {
		types[t] = newSeries(l.from, l.to, bins)
	}
	for i := range l.blocks {
		b := &l.blocks[i]
		h := &l.holds[b.hold]
		types[l.shelves[b.shelf].typ].add(h.from, h.to, float64(b.lanes)/parts)
	}
	out := make([][]float64, len(types))
	for t := range types {
		out[t] = types[t].averages()
	}
	return out
}

// waiting returns the average number of jobs that were submitted, not finished
// and hold nothing, shape [bins].
func (l *layout) waiting(bins int) []float64 {
	s := newSeries(l.from, l.to, bins)
	left, _ := finishes(l.rec)
	for i, finish := range left {
		if finish == 0 {
			finish = l.to
		}
		s.add(max(l.from, l.rec.Jobs[i].Submit), finish, 1)
	}
	for i := range l.holds {
		s.add(l.holds[i].from, l.holds[i].to, -1)
	}
	return s.averages()
}
