package bc

import (
	"fmt"

	"github.com/yardmaster/yardmaster/train/checkpoint"
)

const section = "demonstrations"

// Save writes demonstrations to a file.
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
	return checkpoint.Write(path, checkpoint.Sections{section: w.Data})
}

// Load reads a file of Save. Its errors name the file.
func Load(path string) ([]Demonstration, error) {
	s, err := checkpoint.Read(path)
	if err != nil {
		return nil, err
	}
	demos, err := decode(s[section])
	if err != nil {
		return nil, fmt.Errorf("%w (%s)", err, path)
	}
	return demos, nil
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
