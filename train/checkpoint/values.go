package checkpoint

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/train/picks"
)

// Writer appends values to the data of a section, for a Reader to read in the same
// order. Lengths and counts are varints, numbers little-endian.
type Writer struct{ Data []byte }

// Count appends a number >= 0.
func (w *Writer) Count(n int) { w.Data = binary.AppendUvarint(w.Data, uint64(n)) }

// Int appends an integer.
func (w *Writer) Int(n int64) { w.Data = binary.AppendVarint(w.Data, n) }

// Float32s appends numbers and how many there are.
func (w *Writer) Float32s(xs []float32) {
	w.Count(len(xs))
	for _, x := range xs {
		w.Data = binary.LittleEndian.AppendUint32(w.Data, math.Float32bits(x))
	}
}

// Float64s appends numbers and how many there are.
func (w *Writer) Float64s(xs []float64) {
	w.Count(len(xs))
	for _, x := range xs {
		w.Data = binary.LittleEndian.AppendUint64(w.Data, math.Float64bits(x))
	}
}

func (w *Writer) int32s(xs []int32) {
	for _, x := range xs {
		w.Count(int(x))
	}
}

// Observation appends o.
func (w *Writer) Observation(o *env.Observation) {
	w.Float32s(o.Global)
	w.Float32s(o.Candidates)
	w.Count(len(o.Mask))
	for _, legal := range o.Mask {
		b := byte(0)
		if legal {
			b = 1
		}
		w.Data = append(w.Data, b)
	}
	w.Int(o.Epoch)
}

// Picks appends q.
func (w *Writer) Picks(q *picks.Sequence) {
	w.Count(len(q.Actions))
	for _, a := range q.Actions {
		w.Count(int(a))
	}
	w.Count(len(q.From))
	w.int32s(q.From)
	w.int32s(q.Until)
}

// Reader reads what a Writer wrote. The first thing that is wrong is its error, after
// which everything reads as zero.
type Reader struct {
	rest []byte
	err  error
}

// NewReader returns a reader of the data of a section.
func NewReader(data []byte) *Reader { return &Reader{rest: data} }

// Close returns what was wrong, an error also where data is left.
func (r *Reader) Close() error {
	if r.err == nil && len(r.rest) > 0 {
		r.fail("%d bytes too many", len(r.rest))
	}
	return r.err
}

// Err returns what was wrong so far.
func (r *Reader) Err() error { return r.err }

func (r *Reader) fail(format string, values ...any) {
	if r.err == nil {
		r.err = fmt.Errorf("%w: "+format, append([]any{ErrDamaged}, values...)...)
	}
	r.rest = nil
}

// Count reads a number from 0 to most.
func (r *Reader) Count(most int) int {
	n := r.uint()
	if n > uint64(max(0, most)) {
		r.fail("a count is above %d", most)
		return 0
	}
	return int(n)
}

func (r *Reader) uint() uint64 {
	n, width := binary.Uvarint(r.rest)
	if width <= 0 {
		r.fail("a number is missing")
		return 0
	}
	r.rest = r.rest[width:]
	return n
}

// Int reads an integer.
func (r *Reader) Int() int64 {
	n, width := binary.Varint(r.rest)
	if width <= 0 {
		r.fail("an integer is missing")
		return 0
	}
	r.rest = r.rest[width:]
	return n
}

// Left returns how many bytes are left: no list is longer.
func (r *Reader) Left() int { return len(r.rest) }

// take returns the bytes of a list whose members have so many bytes each, and how
// many there are.
func (r *Reader) take(width int) (data []byte, n int) {
	n = r.Count(len(r.rest) / width)
	if n > len(r.rest)/width { // the count itself took bytes
		r.fail("a list ends with its section")
		return nil, 0
	}
	data, r.rest = r.rest[:n*width], r.rest[n*width:]
	return data, n
}

// Float32s reads numbers.
func (r *Reader) Float32s() []float32 {
	data, n := r.take(4)
	xs := make([]float32, n)
	for i := range xs {
		xs[i] = math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:]))
	}
	return xs
}

// Float64s reads numbers.
func (r *Reader) Float64s() []float64 {
	data, n := r.take(8)
	xs := make([]float64, n)
	for i := range xs {
		xs[i] = math.Float64frombits(binary.LittleEndian.Uint64(data[8*i:]))
	}
	return xs
}

// counts reads n numbers from 0 to most.
func (r *Reader) counts(n, most int) []int32 {
	xs := make([]int32, n)
	for i := range xs {
		xs[i] = int32(r.Count(most))
	}
	return xs
}

// Observation reads an observation whose shapes fit each other.
func (r *Reader) Observation() env.Observation {
	o := env.Observation{Global: r.Float32s(), Candidates: r.Float32s()}
	data, n := r.take(1)
	o.Mask = make([]bool, n)
	for i, b := range data {
		if o.Mask[i] = b == 1; b > 1 {
			r.fail("row %d of a mask is %d", i, b)
		}
	}
	o.Epoch = r.Int()
	if n == 0 && len(o.Candidates) > 0 || n > 0 && len(o.Candidates)%n != 0 {
		r.fail("an observation of %d rows has %d values", n, len(o.Candidates))
	}
	return o
}

// Picks reads picks over n rows, or an empty sequence that was never Reset.
func (r *Reader) Picks(n int) picks.Sequence {
	var q picks.Sequence
	p := r.Count(len(r.rest))
	if p > 0 && n == 0 {
		r.fail("%d picks among no rows", p)
		return q
	}
	q.Actions = make([]env.Action, p)
	for i := range q.Actions {
		q.Actions[i] = env.Action(r.Count(n - 1))
	}
	rows := r.Count(len(r.rest))
	if p == 0 && rows == 0 {
		return picks.Sequence{}
	}
	if r.err != nil || rows != n {
		r.fail("picks over %d rows, want %d", rows, n)
		return picks.Sequence{}
	}
	q.From, q.Until = r.counts(n, p), r.counts(n, p)
	for i, until := range q.Until {
		if q.From[i] > until {
			r.fail("row %d is legal from pick %d until %d", i, q.From[i], until)
		}
	}
	for i, a := range q.Actions {
		if r.err == nil && !q.Legal(int(a), i) {
			r.fail("pick %d is row %d, which was not legal", i, a)
		}
	}
	return q
}
