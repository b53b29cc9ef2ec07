package datasets

import (
	"encoding/binary"
	"fmt"

	"github.com/parquet-go/parquet-go/format"
)

// What follows decodes the values of pages that the guard has let through, a
// batch at a time. Encodings:
// https://github.com/apache/parquet-format/blob/master/Encodings.md

// hybridReader reads values of the RLE/bit-packing hybrid: definition levels, or
// indexes into a dictionary.
type hybridReader struct {
	data  []byte
	width int
	left  int // values that are still to come, those of the current run included
	run   run
	used  int // values of the current run that were read
}

// next sees to it that the current run has values left, if any are.
func (h *hybridReader) next() error {
	for h.used >= h.run.count {
		r, rest, err := nextRun(h.data, h.width, h.left)
		if err != nil {
			return err
		}
		h.run, h.data, h.used = r, rest, 0
	}
	return nil
}

// same reports whether the next n values are in one run of equal values, and the
// value. It then skips them.
func (h *hybridReader) same(n int) (value uint32, ok bool) {
	if n == 0 || h.next() != nil || h.run.packed != nil || h.run.count-h.used < n {
		return 0, false
	}
	h.used += n
	h.left -= n
	return h.run.value, true
}

// read fills dst.
func (h *hybridReader) read(dst []uint32) error {
	for len(dst) > 0 {
		if err := h.next(); err != nil {
			return err
		}
		n := min(len(dst), h.run.count-h.used)
		if h.run.packed == nil {
			for i := range dst[:n] {
				dst[i] = h.run.value
			}
		} else {
			unpack32(dst[:n], h.run.packed, h.used, h.width)
		}
		h.used += n
		h.left -= n
		dst = dst[n:]
	}
	return nil
}

// load64 returns the eight bytes at an offset, zeros where data ends.
func load64(data []byte, at int) uint64 {
	if at+8 <= len(data) {
		return binary.LittleEndian.Uint64(data[at:])
	}
	var x uint64
	for i := at; i < len(data); i++ {
		x |= uint64(data[i]) << (8 * (i - at))
	}
	return x
}

// unpack32 fills dst with packed values of width bits, at most 32, from the one
// with this number on.
func unpack32(dst []uint32, packed []byte, first, width int) {
	mask := uint64(1)<<width - 1
	bit := first * width
	for i := range dst {
		dst[i] = uint32(load64(packed, bit>>3) >> (bit & 7) & mask)
		bit += width
	}
}

// deltaReader reads delta-encoded integers.
type deltaReader struct {
	data       []byte
	narrow     bool // 32 bits, in which sums wrap
	size       int  // values of a miniblock
	miniblocks int  // of a block
	left       int  // values that are still to come
	started    bool
	last       int64
	least      int64  // delta of the current block
	widths     []byte // of the miniblocks of the current block that are still to come
	packed     []byte // the current miniblock
	width      int
	used       int // values of it that were read
}

// newDeltaReader reads the head of data, which checkDelta has accepted.
func newDeltaReader(data []byte, kind format.Type) deltaReader {
	var head [3]uint64
	for i := range head {
		x, n := binary.Uvarint(data)
		head[i], data = x, data[n:]
	}
	first, n := binary.Varint(data)
	return deltaReader{
		data: data[n:], narrow: kind == format.Int32, size: int(head[0] / head[1]), miniblocks: int(head[1]), left: int(head[2]), last: first,
		used: int(head[0] / head[1]),
	}
}

// read fills dst.
func (d *deltaReader) read(dst []int64) {
	d.left -= len(dst)
	if !d.started && len(dst) > 0 {
		d.started = true
		dst[0] = d.value()
		dst = dst[1:]
	}
	for len(dst) > 0 {
		if d.used == d.size {
			d.nextMiniblock()
		}
		n := min(len(dst), d.size-d.used)
		d.unpack(dst[:n])
		d.used += n
		dst = dst[n:]
	}
}

// value returns the last value, in its width.
func (d *deltaReader) value() int64 {
	if d.narrow {
		return int64(int32(d.last))
	}
	return d.last
}

// nextMiniblock begins the next miniblock, and a block where one ended.
func (d *deltaReader) nextMiniblock() {
	if len(d.widths) == 0 {
		least, n := binary.Varint(d.data)
		d.least, d.widths, d.data = least, d.data[n:n+d.miniblocks], d.data[n+d.miniblocks:]
	}
	d.width, d.widths = int(d.widths[0]), d.widths[1:]
	length := d.size * d.width / 8
	d.packed, d.data, d.used = d.data[:length], d.data[length:], 0
}

// unpack fills dst with values of the current miniblock.
func (d *deltaReader) unpack(dst []int64) {
	if d.width == 0 {
		for i := range dst {
			d.last += d.least
			dst[i] = d.value()
		}
		return
	}
	mask := ^uint64(0) >> (64 - d.width)
	bit := d.used * d.width
	for i := range dst {
		at, shift := bit>>3, bit&7
		x := load64(d.packed, at) >> shift
		if shift+d.width > 64 {
			x |= uint64(d.packed[at+8]) << (64 - shift)
		}
		d.last += d.least + int64(x&mask)
		dst[i] = d.value()
		bit += d.width
	}
}

// valueReader reads the values of a page that are present. Which of its methods
// is called follows from the type of the column.
type valueReader struct {
	encoding format.Encoding
	kind     format.Type
	data     []byte // plain values that are still to come
	at, n    int    // values read and there in all, of split streams
	indexes  hybridReader
	delta    deltaReader // numbers, or the lengths of strings
	lengths  []int64     // scratch
	scratch  []uint32
}

// reset begins a page.
func (v *valueReader) reset(p *dataPage, kind format.Type) error {
	v.encoding, v.kind, v.data, v.at, v.n = p.encoding, kind, p.data, 0, p.present
	if p.present == 0 {
		return nil
	}
	switch p.encoding {
	case format.RLEDictionary, plainDictionary:
		v.encoding = format.RLEDictionary
		v.indexes = hybridReader{data: p.data[1:], width: int(p.data[0]), left: p.present}
	case format.DeltaBinaryPacked:
		v.delta = newDeltaReader(p.data, kind)
	case format.DeltaLengthByteArray:
		rest, err := checkDelta(p.data, p.present, format.Int32) // which has been: only where it ends is asked for
		if err != nil {
			return err
		}
		v.delta, v.data = newDeltaReader(p.data[:len(p.data)-len(rest)], format.Int32), rest
	}
	return nil
}

// words fills dst with numbers: whole ones, or the bits of others. dictionary
// holds the entries for pages that have indexes.
func (v *valueReader) words(dst []int64, dictionary []int64) error {
	switch v.encoding {
	case format.RLEDictionary:
		return v.look(len(dst), len(dictionary), func(indexes []uint32) {
			for i, x := range indexes {
				dst[i] = dictionary[x]
			}
		})
	case format.DeltaBinaryPacked:
		v.delta.read(dst)
	case format.ByteStreamSplit:
		v.split(dst)
	default:
		v.data = plainWords(dst, v.data, v.kind)
	}
	return nil
}

// look reads n indexes, checks them and hands them on.
func (v *valueReader) look(n, entries int, use func([]uint32)) error {
	if cap(v.scratch) < n {
		v.scratch = make([]uint32, n)
	}
	indexes := v.scratch[:n]
	if err := v.indexes.read(indexes); err != nil {
		return err
	}
	most := uint32(0)
	for _, x := range indexes {
		most = max(most, x)
	}
	if n > 0 && uint64(most) >= uint64(entries) {
		return fmt.Errorf("index %d in a dictionary of %d", most, entries)
	}
	use(indexes)
	return nil
}

// plainWords fills dst with plain numbers and returns what follows them.
func plainWords(dst []int64, data []byte, kind format.Type) []byte {
	if kind == format.Int32 {
		for i := range dst {
			dst[i] = int64(int32(binary.LittleEndian.Uint32(data[4*i:])))
		}
		return data[4*len(dst):]
	}
	for i := range dst {
		dst[i] = int64(binary.LittleEndian.Uint64(data[8*i:]))
	}
	return data[8*len(dst):]
}

// split fills dst with numbers whose bytes are in streams of their own.
func (v *valueReader) split(dst []int64) {
	width := 8
	if v.kind == format.Int32 {
		width = 4
	}
	for i := range dst {
		var x uint64
		for b := range width {
			x |= uint64(v.data[b*v.n+v.at+i]) << (8 * b)
		}
		if width == 4 {
			dst[i] = int64(int32(uint32(x)))
		} else {
			dst[i] = int64(x)
		}
	}
	v.at += len(dst)
}

// strings hands n strings on, one after the other; they are parts of the page.
func (v *valueReader) strings(n int, use func(i int, s []byte)) {
	if v.encoding == format.DeltaLengthByteArray {
		if cap(v.lengths) < n {
			v.lengths = make([]int64, n)
		}
		lengths := v.lengths[:n]
		v.delta.read(lengths)
		for i, length := range lengths {
			use(i, v.data[:length])
			v.data = v.data[length:]
		}
		return
	}
	for i := range n {
		length := int(binary.LittleEndian.Uint32(v.data))
		use(i, v.data[4:4+length])
		v.data = v.data[4+length:]
	}
}
