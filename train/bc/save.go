package bc

import (
	"fmt"

	"github.com/klauspost/compress/zstd"

	"github.com/yardmaster/yardmaster/train/checkpoint"
)

const section = "demonstrations"

// mostRatio bounds how much a file of demonstrations may grow when it is unpacked;
// theirs shrink to a quarter.
const mostRatio = 200

// Save writes demonstrations to a file, compressed: they are megabytes, most of them
// features that repeat from row to row.
func Save(path string, demos []Demonstration) error {
	var w checkpoint.Writer
	w.Count(len(demos))
	for i := range demos {
		d := &demos[i]
		w.Observation(&d.Observation)
		w.Picks(&d.Picks)
		w.Count(d.Set)
		w.Float64s(d.Target)
	}
	pack, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1))
	if err != nil {
		return fmt.Errorf("bc: save: %w", err)
	}
	defer pack.Close()
	return checkpoint.Write(path, checkpoint.Sections{section: pack.EncodeAll(w.Data, nil)})
}

// Load reads a file of Save. Its errors name the file.
func Load(path string) ([]Demonstration, error) {
	s, err := checkpoint.Read(path)
	if err != nil {
		return nil, err
	}
	data, err := unpack(s[section])
	if err == nil {
		var demos []Demonstration
		if demos, err = decode(data); err == nil {
			return demos, nil
		}
	}
	return nil, fmt.Errorf("%w (%s)", err, path)
}

// unpack is the inverse of the compression of Save.
func unpack(packed []byte) ([]byte, error) {
	r, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(uint64(1<<16+mostRatio*len(packed))))
	if err != nil {
		return nil, fmt.Errorf("bc: load: %w", err)
	}
	defer r.Close()
	data, err := r.DecodeAll(packed, nil)
	if err != nil {
		return nil, fmt.Errorf("%w: demonstrations: %w", checkpoint.ErrDamaged, err)
	}
	return data, nil
}

// decode is the inverse of what Save encodes. What it returns can be learned from
// without a panic, whatever the bytes.
func decode(data []byte) ([]Demonstration, error) {
	r := checkpoint.NewReader(data)
	n := r.Count(r.Left())
	var demos []Demonstration
	for range n {
		d := Demonstration{Observation: r.Observation()}
		d.Picks = r.Picks(d.Observation.N())
		d.Set = r.Count(len(d.Picks.Actions))
		if d.Target = r.Float64s(); len(d.Target) == 0 {
			d.Target = nil
		}
		if err := r.Err(); err != nil {
			return nil, err
		}
		if len(d.Target) != 0 && len(d.Target) != d.Observation.N() || d.picks() == 0 {
			return nil, fmt.Errorf("%w: demonstration %d has %d picks and a target for %d of %d rows",
				checkpoint.ErrDamaged, len(demos), len(d.Picks.Actions), len(d.Target), d.Observation.N())
		}
		demos = append(demos, d)
	}
	return demos, r.Close()
}
