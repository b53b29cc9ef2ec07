package gavel

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/yardmaster/yardmaster/datasets"
)

// MaxOracle is the most bytes of an oracle that are read.
const MaxOracle = 64 << 20

const (
	alone          = "null"
	unconsolidated = "_unconsolidated"
)

// Place is where a throughput was measured.
type Place struct {
	GPUType string // in capitals
	Spread  bool   // over nodes ("unconsolidated")
}

// Pair is two jobs that share their GPUs.
type Pair struct{ First, Second Class }

// Oracle is a table of throughputs, steps/s summed over the workers of a job.
// It is immutable and safe for concurrent use.
type Oracle struct {
	places []Place
	alone  map[Place]map[Class]float64
	pairs  map[Place]map[Pair][2]float64
}

// ReadOracle reads a throughput file; name is what errors call it.
func ReadOracle(r io.Reader, name string) (*Oracle, error) {
	text, err := io.ReadAll(io.LimitReader(r, MaxOracle+1))
	if err != nil {
		return nil, fmt.Errorf("gavel: read %s: %w", name, err)
	}
	wrong := func(where, value, fix string) error {
		return &datasets.RowError{File: name, Column: where, Value: datasets.Excerpt(value), Fix: fix}
	}
	if len(text) > MaxOracle {
		return nil, wrong("", "more than 64 MiB", "name the throughput file itself")
	}
	var raw map[string]map[string]map[string]json.RawMessage
	if err := json.Unmarshal(text, &raw); err != nil {
		return nil, wrong("", err.Error(), "want JSON: GPU type, job type, \"null\" or job type, steps/s")
	}
	o := &Oracle{alone: make(map[Place]map[Class]float64), pairs: make(map[Place]map[Pair][2]float64)}
	for _, gpu := range sortedKeys(raw) {
		if gpu == "" || len(gpu) > datasets.MaxName {
			return nil, wrong("", gpu, "want a GPU type of 1 to 256 bytes")
		}
		for _, key := range sortedKeys(raw[gpu]) {
			class, err := parseKey(key)
			if err != nil {
				return nil, wrong(gpu, key, err.Error())
			}
			if err := o.add(parsePlace(gpu), class, raw[gpu][key]); err != nil {
				return nil, wrong(gpu+" "+key, "", err.Error())
			}
		}
	}
	if len(o.alone) == 0 {
		return nil, wrong("", "no throughputs", "name the throughput file itself")
	}
	o.places = slices.SortedFunc(mapKeys(o.alone), func(a, b Place) int { return strings.Compare(a.String(), b.String()) })
	return o, nil
}

// String returns the place in Gavel's words, "v100_unconsolidated".
func (p Place) String() string {
	if p.Spread {
		return strings.ToLower(p.GPUType) + unconsolidated
	}
	return strings.ToLower(p.GPUType)
}

func parsePlace(s string) Place {
	name, spread := strings.CutSuffix(s, unconsolidated)
	return Place{strings.ToUpper(name), spread}
}

// add stores the throughputs of one class in one place.
func (o *Oracle) add(place Place, class Class, values map[string]json.RawMessage) error {
	if o.alone[place] == nil {
		o.alone[place] = make(map[Class]float64)
		o.pairs[place] = make(map[Pair][2]float64)
	}
	if _, twice := o.alone[place][class]; twice {
		return errors.New("occurs twice: remove one")
	}
	if _, ok := values[alone]; !ok {
		return errors.New("has no \"null\": want the throughput of the job alone")
	}
	for _, other := range sortedKeys(values) {
		if other == alone {
			rate, err := parseRates(values[other], 1)
			if err != nil {
				return err
			}
			o.alone[place][class] = rate[0]
			continue
		}
		partner, err := parseKey(other)
		if err != nil {
			return err
		}
		rates, err := parseRates(values[other], 2)
		if err != nil {
			return fmt.Errorf("beside %s: %w", other, err)
		}
		o.pairs[place][Pair{class, partner}] = rates
	}
	return nil
}

// parseRates reads n numbers >= 0: a number, or an array of two.
func parseRates(raw json.RawMessage, n int) ([2]float64, error) {
	var rates []*float64
	if n == 1 {
		rates = make([]*float64, 1)
		if err := json.Unmarshal(raw, &rates[0]); err != nil {
			return [2]float64{}, fmt.Errorf("is %s: want a number of steps/s", datasets.Excerpt(string(raw)))
		}
	} else if err := json.Unmarshal(raw, &rates); err != nil || len(rates) != n {
		return [2]float64{}, fmt.Errorf("is %s: want two numbers of steps/s", datasets.Excerpt(string(raw)))
	}
	var out [2]float64
	for i, r := range rates {
		if r == nil || !(*r >= 0) || math.IsInf(*r, 1) {
			return out, fmt.Errorf("is %s: want finite steps/s >= 0, 0 for out of memory", datasets.Excerpt(string(raw)))
		}
		out[i] = *r
	}
	return out, nil
}

// Places returns where throughputs were measured, by name. The caller owns it.
func (o *Oracle) Places() []Place { return slices.Clone(o.places) }

// Classes returns the job types measured alone in a place, in order. The
// caller owns it.
func (o *Oracle) Classes(p Place) []Class {
	return slices.SortedFunc(mapKeys(o.alone[p]), Class.Compare)
}

// Alone returns the steps/s of a job that has its GPUs to itself, 0 where it
// runs out of memory; false where it was not measured.
func (o *Oracle) Alone(p Place, c Class) (float64, bool) {
	rate, ok := o.alone[p][c]
	return rate, ok
}

// Together returns the steps/s of each of two jobs that share their GPUs; false
// where they were not measured.
func (o *Oracle) Together(p Place, pair Pair) (first, second float64, ok bool) {
	rates, ok := o.pairs[p][pair]
	return rates[0], rates[1], ok
}
