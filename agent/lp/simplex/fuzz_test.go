package simplex

import (
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"testing"
)

// decode reads a problem from bytes, valid or not. Numbers come from a byte each,
// so that ties, zeros and extremes are common.
func decode(data []byte) (*Problem, Options) {
	next := func() int {
		if len(data) == 0 {
			return 0
		}
		b := data[0]
		data = data[1:]
		return int(b)
	}
	number := func() float64 {
		switch b := next(); {
		case b == 255: // any bits at all
			var raw [8]byte
			data = data[copy(raw[:], data):]
			return math.Float64frombits(binary.LittleEndian.Uint64(raw[:]))
		case b >= 240:
			return math.Pow(10, float64(4*(b-247)))
		default:
			return float64(b) / 16
		}
	}
	kind := next()
	p := &Problem{Objective: Objective(kind % 3), Offsets: []int32{0}}
	o := Options{MaxPivots: next()}
	for range next() % 5 {
		p.Capacity = append(p.Capacity, number())
	}
	for range 1 + next()%6 {
		var u Usage
		for b := next(); b&3 != 0; b >>= 2 {
			u = append(u, Term{int32(b&3 - 1), number()})
		}
		p.Usages = append(p.Usages, u)
	}
	for len(data) > 0 {
		for range next() % 5 {
			p.Rate = append(p.Rate, number())
			p.Usage = append(p.Usage, int32(next()%len(p.Usages)))
		}
		target := 1.0
		if p.Objective != Sum {
			target = number()
		}
		p.endJob(target)
		if kind&8 != 0 && p.Objective == Sum {
			p.Floor = append(p.Floor, number())
		}
		if kind&8 != 0 && p.Objective == MaxMin {
			p.Base = append(p.Base, number())
		}
		if kind&16 != 0 && kind&8 == 0 && p.Objective == MaxMin {
			p.Lag = append(p.Lag, number())
		}
	}
	if kind&64 != 0 {
		p.multiply(kind)
	}
	if p.Objective != Sum {
		return p, o
	}
	// From what is used already, so that the bytes above mean the same without.
	if kind&16 != 0 {
		for i, r := range p.Rate {
			p.Value = append(p.Value, r-0.5*p.Rate[(i+1)%len(p.Rate)])
		}
	}
	if kind&32 != 0 {
		for k, c := range p.Capacity {
			p.Least = append(p.Least, c*float64(k%3)/2)
		}
	}
	return p, o
}

// multiply repeats p's jobs, if they are plain ones, so that there are some hundreds,
// for which prices are smoothed: exactly the same, near-copies, or of other rates.
func (p *Problem) multiply(kind int) {
	n := p.Jobs()
	if n == 0 || n > 100 || p.Floor != nil || p.Base != nil || p.Lag != nil || p.Objective == Total {
		return
	}
	spread := []float64{0, 1e-9, 1e-3, 1}[kind&3]
	times := 300/n + 1
	for c := 1; c < times; c++ {
		for j := range n {
			for i := p.Offsets[j]; i < p.Offsets[j+1]; i++ {
				p.Rate = append(p.Rate, p.Rate[i]*(1+spread*math.Abs(math.Sin(float64(len(p.Rate))))))
				p.Usage = append(p.Usage, p.Usage[i])
			}
			target := 1.0
			if p.Objective != Sum {
				target = p.Target[j]
			}
			p.endJob(target)
		}
	}
	for k := range p.Capacity {
		p.Capacity[k] *= float64(times)
	}
}

// FuzzSolve wants an error for malformed problems and, for all others, an answer
// that passes the independent check.
func FuzzSolve(f *testing.F) {
	f.Add([]byte{0, 0, 2, 16, 32, 2, 1, 16, 2, 16, 2, 32, 0, 48, 1, 2, 16, 0, 20, 1})
	f.Add([]byte{1, 0, 2, 16, 32, 2, 1, 16, 2, 16, 2, 32, 0, 48, 1, 16, 2, 16, 0, 20, 1, 32})
	f.Add([]byte{1, 3, 1, 250, 1, 1, 240, 1, 254, 0, 16})
	f.Add([]byte{0, 0, 1, 255, 1, 2, 3, 4, 5, 6, 7, 8, 1, 1, 16})
	f.Add([]byte{8 + 16 + 24, 0, 2, 16, 32, 2, 1, 16, 2, 16, 2, 32, 0, 48, 1, 8, 2, 16, 0, 20, 1, 4})
	f.Add([]byte{10, 0, 2, 16, 32, 2, 1, 16, 2, 16, 2, 32, 0, 48, 1, 16, 8, 2, 16, 0, 20, 1, 32, 4})
	f.Add([]byte{16 + 3, 0, 2, 16, 32, 2, 1, 16, 2, 16, 2, 32, 0, 48, 1, 16, 8, 2, 16, 0, 20, 1, 32, 4})
	f.Add([]byte{2, 0, 2, 16, 32, 2, 1, 16, 2, 16, 2, 32, 0, 48, 1, 16, 2, 16, 0, 20, 1, 32})
	for _, kind := range []byte{64, 65, 66, 67, 64 + 1, 64 + 4, 64 + 7} {
		f.Add([]byte{kind, 0, 3, 16, 32, 9, 4, 1, 16, 2, 16, 2, 32, 3, 8, 48, 1, 2, 16, 0, 20, 1, 3, 17, 0, 33, 1, 9, 2, 2, 40, 3, 12, 2})
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		p, o := decode(data)
		r, err := Solve(t.Context(), p, o)
		if p.validate() != nil {
			if !errors.Is(err, ErrProblem) {
				t.Fatalf("got %v, want ErrProblem", err)
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := Check(p, r, 1e-6); err != nil {
			t.Fatal(err)
		}
		fuzzWarm(t, p, o)
	})
}

// fuzzWarm solves p and then, from where that ended, problems over the same resources
// that are more and more unlike it.
func fuzzWarm(t *testing.T, p *Problem, o Options) {
	var solver Solver
	for turn := range 4 {
		if p.validate() != nil {
			return // changed numbers may leave what is allowed
		}
		r, err := solver.Solve(t.Context(), p, o)
		if err != nil {
			t.Fatalf("turn %d: %v", turn, err)
		}
		if err := Check(p, r, 1e-6); err != nil {
			t.Fatalf("turn %d: %v", turn, err)
		}
		p = p.changed(turn)
	}
}

// changed returns p with other rates, then without its first job, then with other
// capacities.
func (p *Problem) changed(turn int) *Problem {
	q := *p
	switch turn {
	case 0:
		q.Rate = slices.Clone(p.Rate)
		for i := range q.Rate {
			q.Rate[i] *= []float64{1, 0.5, 2, 0, 1 + 1e-9}[i%5]
		}
	case 1:
		if p.Jobs() == 0 {
			break
		}
		first := p.Offsets[1]
		q.Offsets = slices.Clone(p.Offsets[1:])
		for j := range q.Offsets {
			q.Offsets[j] -= first
		}
		q.Rate, q.Usage = p.Rate[first:], p.Usage[first:]
		if p.Value != nil {
			q.Value = p.Value[first:]
		}
		for _, list := range []*[]float64{&q.Floor, &q.Target, &q.Base, &q.Lag} {
			if *list != nil {
				*list = (*list)[1:]
			}
		}
	default:
		q.Capacity, q.Least = slices.Clone(p.Capacity), nil
		for k := range q.Capacity {
			q.Capacity[k] *= []float64{4, 0, 0.01}[k%3]
		}
	}
	return &q
}
