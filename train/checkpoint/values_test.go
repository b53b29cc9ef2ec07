package checkpoint

import (
	"errors"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/train/picks"
)

func observation() env.Observation {
	return env.Observation{Global: []float32{1, 2}, Candidates: []float32{3, 4, 5, 6, 7, 8}, Mask: []bool{true, true, false}, Epoch: -9}
}

func sequence(t testing.TB) picks.Sequence {
	t.Helper()
	var q picks.Sequence
	q.Reset(3)
	for _, mask := range [][]bool{{false, true, true}, {true, true, false}} {
		if err := q.Add(1, mask); err != nil {
			t.Fatal(err)
		}
	}
	return q
}

func TestValuesRoundTrip(t *testing.T) {
	o, q := observation(), sequence(t)
	var w Writer
	w.Count(300)
	w.Int(-5)
	w.Float64s([]float64{math.Pi, math.Inf(-1)})
	w.Observation(&o)
	w.Picks(&q)
	r := NewReader(w.Data)
	if n, i, xs := r.Count(300), r.Int(), r.Float64s(); n != 300 || i != -5 || xs[0] != math.Pi || !math.IsInf(xs[1], -1) {
		t.Errorf("got %d, %d, %v", n, i, xs)
	}
	if diff := cmp.Diff(o, r.Observation()); diff != "" {
		t.Errorf("observation (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(q, r.Picks(3)); diff != "" {
		t.Errorf("picks (-want +got):\n%s", diff)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}

// The first fault of the data is the error, and stays it.
func TestReaderRefuses(t *testing.T) {
	write := func(f func(w *Writer)) []byte {
		var w Writer
		f(&w)
		return w.Data
	}
	good := sequence(t)
	for name, c := range map[string]struct {
		data []byte
		read func(r *Reader)
		want string
	}{
		"nothing":          {nil, func(r *Reader) { r.Count(9) }, "a number is missing"},
		"no integer":       {nil, func(r *Reader) { r.Int() }, "integer"},
		"a large count":    {write(func(w *Writer) { w.Count(10) }), func(r *Reader) { r.Count(9) }, "above 9"},
		"a negative count": {write(func(w *Writer) { w.Count(-1) }), func(r *Reader) { r.Count(math.MaxInt) }, "above"},
		"a long list":      {write(func(w *Writer) { w.Count(1 << 40) }), func(r *Reader) { r.Float32s() }, "above"},
		"half a list":      {write(func(w *Writer) { w.Float64s([]float64{1, 2}) })[:12], func(r *Reader) { r.Float64s() }, "above 1"},
		"too much":         {[]byte{0, 0}, func(r *Reader) { r.Int() }, "1 bytes too many"},
		"a mask of 2": {write(func(w *Writer) {
			w.Float32s(nil)
			w.Float32s(nil)
			w.Count(1)
			w.Data = append(w.Data, 2)
			w.Int(0)
		}), func(r *Reader) { r.Observation() }, "row 0 of a mask is 2"},
		"uneven rows": {write(func(w *Writer) {
			w.Observation(&env.Observation{Candidates: []float32{1, 2, 3}, Mask: []bool{true, true}})
		}), func(r *Reader) { r.Observation() }, "2 rows has 3 values"},
		"no rows": {write(func(w *Writer) {
			w.Observation(&env.Observation{Candidates: []float32{1}})
		}), func(r *Reader) { r.Observation() }, "0 rows has 1 values"},
		"picks of no rows":    {write(func(w *Writer) { w.Picks(&good) }), func(r *Reader) { r.Picks(0) }, "among no rows"},
		"picks of other rows": {write(func(w *Writer) { w.Picks(&good) }), func(r *Reader) { r.Picks(4) }, "3 rows, want 4"},
		"a row too high":      {write(func(w *Writer) { w.Picks(&good) }), func(r *Reader) { r.Picks(1) }, "above 0"},
		"legal backwards": {write(func(w *Writer) {
			w.Picks(&picks.Sequence{Actions: []env.Action{0}, From: []int32{0, 1}, Until: []int32{1, 0}})
		}), func(r *Reader) { r.Picks(2) }, "row 1 is legal from pick 1 until 0"},
		"an illegal pick": {write(func(w *Writer) {
			w.Picks(&picks.Sequence{Actions: []env.Action{1}, From: []int32{0, 0}, Until: []int32{1, 0}})
		}), func(r *Reader) { r.Picks(2) }, "not legal"},
	} {
		r := NewReader(c.data)
		c.read(r)
		err := r.Close()
		if !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want ErrDamaged with %q", name, err, c.want)
		}
		if n := r.Count(5); n != 0 || r.Close() != err {
			t.Errorf("%s: after the error it reads %d, %v", name, n, r.Close())
		}
	}
}

func TestBatchRoundTrips(t *testing.T) {
	o, q := observation(), sequence(t)
	want := &Batch{
		Parameters: []float32{1, 2, 3}, Observations: []env.Observation{o, o}, Picks: []picks.Sequence{q, q},
		Sets: []int{1, 2}, LogProbs: []float64{-1, -2}, Advantages: []float64{math.Inf(1), 0}, Values: []float64{}, Targets: []float64{3, 4},
		Seeds: []uint64{math.MaxUint64}, Costs: []float64{math.NaN()},
	}
	path := filepath.Join(t.TempDir(), "batch.state")
	if err := WriteBatch(path, want); err != nil {
		t.Fatal(err)
	}
	got, err := ReadBatch(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateNaNs()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for name, spoil := range map[string]func(b *Batch){
		"uneven values": func(b *Batch) { b.Values = []float64{1} },
		"uneven sets":   func(b *Batch) { b.Sets = []int{1} },
		"a large set":   func(b *Batch) { b.Sets = []int{1, 3} },
		"uneven costs":  func(b *Batch) { b.Costs = nil },
	} {
		bad := *want
		spoil(&bad)
		if err := WriteBatch(path, &bad); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadBatch(path); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: got %v, want ErrDamaged and the file's name", name, err)
		}
	}
	if err := Write(path, Sections{}); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadBatch(path); !errors.Is(err, ErrDamaged) {
		t.Errorf("no batch: got %v, want ErrDamaged", err)
	}
}

// Bytes that are no batch are an error, never a panic.
func FuzzDecodeBatch(f *testing.F) {
	path := filepath.Join(f.TempDir(), "batch.state")
	if err := WriteBatch(path, &Batch{Observations: []env.Observation{observation()}, Picks: []picks.Sequence{sequence(f)}, Sets: []int{1}, Targets: []float64{1}}); err != nil {
		f.Fatal(err)
	}
	s, err := Read(path)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(s[batchSection])
	f.Fuzz(func(t *testing.T, data []byte) {
		b, err := decodeBatch(data)
		if err != nil {
			if !errors.Is(err, ErrDamaged) {
				t.Errorf("got %v, want ErrDamaged", err)
			}
			return
		}
		for i := range b.Observations {
			var e picks.Evaluator
			scores := make([]float32, b.Observations[i].N())
			if len(scores) > 0 && len(b.Picks[i].Actions) > 0 {
				e.Forward(&b.Picks[i], scores, nil) // what is read can be learned from
			}
		}
	})
}
