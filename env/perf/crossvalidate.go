package perf

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
)

// Split says which rows of a source are held out together.
type Split string

// The splits of [Catalogue.CrossValidate].
const (
	// HeldOutGPUs holds out all rows of one number of GPUs. What is judged is a
	// model known from other numbers of GPUs of that type.
	HeldOutGPUs Split = "gpus"
	// HeldOutModel holds out all rows of one model. What is judged is a new model
	// on GPU types known from others.
	HeldOutModel Split = "model"
	// HeldOutType holds out all rows of one GPU type. What is judged is a model
	// known from other types on a new one.
	HeldOutType Split = "gpu_type"
)

// Validation is the outcome of a cross-validation.
type Validation struct {
	Split   Split
	Sources []Comparison // by source, ascending
	// All is over the rows of all sources; a row that a source took over from
	// another counts once. Its Source is "".
	All Comparison
}

// CrossValidate predicts every measured row from rows of its source that share
// no fold with it, as split says: the figures of c.Unfitted() are calibrated on
// the other folds, and the rows of those folds correct the prediction. So
// nothing that is judged was seen, not even by who fitted the catalogue. Each
// source is a cluster and a software of its own and judged by itself. Modelled
// rows are left out.
func (c *Catalogue) CrossValidate(split Split, rows []Measurement) (Validation, error) {
	v := Validation{Split: split}
	if split != HeldOutGPUs && split != HeldOutModel && split != HeldOutType {
		return v, fmt.Errorf("perf: split is %q, want %s, %s or %s", split, HeldOutGPUs, HeldOutModel, HeldOutType)
	}
	if err := validateAll(rows, c); err != nil {
		return v, fmt.Errorf("cross-validate: %w", err)
	}
	rows = slices.DeleteFunc(slices.Clone(rows), func(r Measurement) bool { return r.Modelled })
	slices.SortStableFunc(rows, func(a, b Measurement) int {
		return cmp.Or(cmp.Compare(a.Source, b.Source), cmp.Compare(split.fold(&a), split.fold(&b)), compareRows(a, b))
	})
	sources, all, copies := make(scores), make(scores), make(map[Measurement]bool)
	for _, source := range runs(rows, func(r *Measurement) string { return r.Source }) {
		for _, held := range runs(source, split.fold) {
			p, err := learn(c.Unfitted(), split, source, split.fold(&held[0]))
			if err != nil {
				return v, err
			}
			for i := range held {
				p.judge(&held[i], sources)
				if once := held[i]; first(copies, &once) {
					once.Source = ""
					p.judge(&once, all)
				}
			}
		}
	}
	v.Sources = sources.comparisons()
	v.All = all.pooled()
	return v, nil
}

// fold returns the name of the fold that r is in.
func (s Split) fold(r *Measurement) string {
	switch s {
	case HeldOutModel:
		return r.Model
	case HeldOutType:
		return r.GPUType
	}
	return strconv.Itoa(r.GPUs)
}

// runs cuts rows into the runs of one key, in their order.
func runs(rows []Measurement, key func(*Measurement) string) [][]Measurement {
	var all [][]Measurement
	for len(rows) > 0 {
		n := 1
		for n < len(rows) && key(&rows[0]) == key(&rows[n]) {
			n++
		}
		all = append(all, rows[:n])
		rows = rows[n:]
	}
	return all
}

// first reports whether r, of any source, was not there before, and remembers it.
func first(seen map[Measurement]bool, r *Measurement) bool {
	k := *r
	k.Source = ""
	if seen[k] {
		return false
	}
	seen[k] = true
	return true
}

// learner predicts held-out rows.
type learner struct {
	*Performance
	split Split
	known map[place]bool // of the rows that were learned from, as the split needs it
}

// learn calibrates c on the rows of source outside a fold.
func learn(c *Catalogue, split Split, source []Measurement, fold string) (*learner, error) {
	var train []Measurement
	known := make(map[place]bool)
	for i := range source {
		if r := &source[i]; split.fold(r) != fold {
			train = append(train, *r)
			if r.StepsPerSecond > 0 {
				known[split.needs(r)] = true
			}
		}
	}
	calibrated, err := c.Calibrate(train)
	if err != nil {
		return nil, err
	}
	p, err := New(Config{Catalogue: calibrated, Measured: train})
	if err != nil {
		return nil, err
	}
	return &learner{p, split, known}, nil
}

// needs returns what has to be known of r from other folds.
func (s Split) needs(r *Measurement) place {
	switch s {
	case HeldOutModel:
		return place{gpu: r.GPUType}
	case HeldOutType:
		return place{model: r.Model}
	}
	return place{r.Model, r.GPUType}
}

// judge adds the error of a held-out row to all.
func (l *learner) judge(r *Measurement, all scores) {
	if !l.known[l.split.needs(r)] {
		all.of(r).Unknown++
		return
	}
	predicted, fits := l.corrected(r)
	all.add(r, predicted, fits)
}
