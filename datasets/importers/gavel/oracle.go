package gavel

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/yardmaster/yardmaster/datasets"
	"github.com/yardmaster/yardmaster/datasets/importers"
)

// MaxOracle is the most bytes of an oracle that are read.
const MaxOracle = 64 << 20

const (
	alone          = "null"
	unconsolidated = "_unconsolidated"
	maxRate        = 1e12 // steps/s
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

// ReadOracle reads a throughput file, which may be compressed; name is what
// errors call it. It fails with a [*datasets.RowError] that names the entry.
func ReadOracle(r io.Reader, name string) (*Oracle, error) {
	source, err := importers.Open(r, name)
	if err != nil {
		return nil, err
	}
	defer source.Close()
	return readOracle(source)
}

func readOracle(source *importers.Source) (*Oracle, error) {
	text, err := io.ReadAll(io.LimitReader(source.Text(), MaxOracle+1))
	if err != nil {
		return nil, source.Error(0, "", "cannot be read ("+err.Error()+")", "copy or download it again")
	}
	if len(text) > MaxOracle {
		return nil, source.Error(0, "", "more than 64 MiB of text", "name the throughput file itself")
	}
	var raw map[string]map[string]map[string]json.RawMessage
	if err := json.Unmarshal(text, &raw); err != nil {
		return nil, source.Error(0, "", datasets.Excerpt(err.Error()), `want JSON of the form {"v100": {"('LM (batch size 5)', 2)": {"null": 12.3}}}`)
	}
	o := &Oracle{alone: make(map[Place]map[Class]float64), pairs: make(map[Place]map[Pair][2]float64)}
	for _, gpu := range slices.Sorted(maps.Keys(raw)) {
		if gpu == "" || len(gpu) > datasets.MaxName || !utf8.ValidString(gpu) {
			return nil, source.Error(0, "GPU type", datasets.Excerpt(gpu), "want a name of 1 to 256 bytes")
		}
		for _, key := range slices.Sorted(maps.Keys(raw[gpu])) {
			where := gpu + " " + datasets.Excerpt(key)
			class, err := parseKey(key)
			if err != nil {
				return nil, source.Error(0, where, "", err.Error())
			}
			if err := o.add(parsePlace(gpu), class, raw[gpu][key]); err != nil {
				return nil, source.Error(0, where, "", err.Error())
			}
		}
	}
	if len(o.alone) == 0 {
		return nil, source.Error(0, "", "no throughputs", "name the throughput file itself")
	}
	o.places = slices.SortedFunc(maps.Keys(o.alone), func(a, b Place) int { return strings.Compare(a.String(), b.String()) })
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
		return errors.New("occurs twice, remove one")
	}
	if _, ok := values[alone]; !ok {
		return errors.New("has no \"null\": want the throughput of the job alone")
	}
	for _, other := range slices.Sorted(maps.Keys(values)) {
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
			return fmt.Errorf("beside %s: %w", datasets.Excerpt(other), err)
		}
		rates, err := parseRates(values[other], 2)
		if err != nil {
			return fmt.Errorf("beside %s: %w", datasets.Excerpt(other), err)
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
		if r == nil || !(*r >= 0 && *r <= maxRate) {
			return out, fmt.Errorf("is %s: want steps/s from 0, which is out of memory, to 1e12", datasets.Excerpt(string(raw)))
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
	return slices.SortedFunc(maps.Keys(o.alone[p]), Class.Compare)
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
