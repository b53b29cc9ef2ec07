package importers

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/yardmaster/yardmaster/datasets"
	"github.com/yardmaster/yardmaster/env/perf"
)

// MaxValues is the most values, kept or dropped, of a table that is not of jobs.
const MaxValues = 1 << 20

// Collector collects the rows R of a table that is not of jobs, from one or more
// files, and accounts for the values they came from. The zero value is ready to
// use. It is not safe for concurrent use.
type Collector[R any] struct {
	rows        []R
	read        int
	dropped     datasets.Tally
	warnings    datasets.Tally
	digests     []string
	compression []string
	names       []string // of the inputs
}

// Collected is what a [Collector] has collected.
type Collected[R any] struct {
	Name string // of the input, or the first of several
	Meta datasets.Meta
	Rows []R
}

// SortInputs returns the inputs by name, so that their order does not matter.
func SortInputs(inputs []Input) []Input {
	sorted := slices.Clone(inputs)
	slices.SortStableFunc(sorted, func(a, b Input) int { return cmp.Compare(a.Name, b.Name) })
	return sorted
}

// Each opens the inputs one after the other, by name, and calls read with each.
func (p *Collector[R]) Each(inputs []Input, read func(*Source) error) error {
	if len(inputs) == 0 {
		return &datasets.RowError{Value: "no file", Fix: "name the files with the table"}
	}
	for _, in := range SortInputs(inputs) {
		if err := p.one(in, read); err != nil {
			return err
		}
	}
	return nil
}

func (p *Collector[R]) one(in Input, read func(*Source) error) error {
	source, err := Open(in.Reader, in.Name)
	if err != nil {
		return err
	}
	defer source.Close()
	if err := read(source); err != nil {
		return err
	}
	digest, err := source.SHA256()
	if err != nil {
		return err
	}
	p.names = append(p.names, in.Name)
	p.digests = append(p.digests, digest)
	if !slices.Contains(p.compression, source.Compression) {
		p.compression = append(p.compression, source.Compression)
	}
	return nil
}

// ReadTable calls row with the values of each row of a table in s. row drops or
// keeps them; it need do neither where a value is bad.
func (p *Collector[R]) ReadTable(s *Source, layout Layout, row func(v *Values) error) error {
	columns, err := NewColumns(s, layout)
	if err != nil {
		return err
	}
	v := new(Values)
	for {
		values, err := columns.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := p.Begin(s, columns.Line); err != nil {
			return err
		}
		*v = Values{columns: columns, text: values}
		if err := cmp.Or(row(v), v.err); err != nil {
			return err
		}
	}
}

// Begin counts a value of the source, at this line. It is to be dropped or kept
// before the next.
func (p *Collector[R]) Begin(s *Source, line int64) error {
	p.read++
	if p.read > MaxValues {
		return s.Error(line, "", "too many values", fmt.Sprintf("split the file: at most %d are read", MaxValues))
	}
	return nil
}

// Drop accounts for the value last begun as left out.
func (p *Collector[R]) Drop(reason string) { p.dropped.Add(reason) }

// Warn counts a value as suspicious.
func (p *Collector[R]) Warn(reason string) { p.warnings.Add(reason) }

// Keep adds the row of the value last begun, at this line.
func (p *Collector[R]) Keep(s *Source, line int64, r R) error {
	if err := any(&r).(interface{ Validate() error }).Validate(); err != nil { // every row of datasets has it
		rowErr, ok := errors.AsType[*datasets.RowError](err)
		if !ok {
			return err
		}
		rowErr.File, rowErr.Row = s.Name, line
		return rowErr
	}
	p.rows = append(p.rows, r)
	return nil
}

// GPUType gives a GPU type the name it goes by: the known one, or that of
// [GPUType], or its own. It warns if that is not in the performance catalogue.
func (p *Collector[R]) GPUType(s string, known map[string]string) string {
	name, ok := known[s]
	if !ok {
		if name, ok = GPUType(s); !ok {
			name = strings.Clone(s)
		}
	}
	if _, ok := catalogue().GPU(name); !ok {
		p.Warn("GPU type " + strconv.Quote(name) + " is not in the performance catalogue")
	}
	return name
}

// catalogue is read only.
var catalogue = sync.OnceValue(perf.Default)

// Model gives a model the name it goes by.
func (p *Collector[R]) Model(m *Models, s string) string {
	name, warning := m.Name(s)
	if warning != "" {
		p.Warn(warning)
	}
	return strings.Clone(name)
}

// Collect returns the rows with their account; meta has Source and Licence, the
// rest is filled in. Several inputs have the hash of their sorted hashes, a line
// each.
func (p *Collector[R]) Collect(meta datasets.Meta) (Collected[R], Report, error) {
	name := strings.Join(p.names, ", ")
	if len(p.names) > 1 {
		name = fmt.Sprintf("%s and %d more", p.names[0], len(p.names)-1)
	}
	report := Report{
		Report:      datasets.Report{Read: p.read, Kept: len(p.rows), Dropped: p.dropped.Counts()},
		Compression: strings.Join(p.compression, ", "), Warnings: p.warnings.Counts(),
	}
	if len(p.rows) == 0 {
		value := fmt.Sprintf("no row is left of %d values", p.read)
		if len(report.Dropped) > 0 {
			value += fmt.Sprintf(" (%d: %s)", report.Dropped[0].Rows, report.Dropped[0].Reason)
		}
		return Collected[R]{}, Report{}, &datasets.RowError{File: name, Value: value, Fix: "check the file, and name with it those that it belongs to"}
	}
	meta.SchemaVersion, meta.RowsIn, meta.SourceSHA256 = 1, int64(p.read), p.digest()
	for _, d := range report.Dropped {
		meta.Filters = append(meta.Filters, fmt.Sprintf("dropped %d rows: %s", d.Rows, d.Reason))
	}
	return Collected[R]{Name: name, Meta: meta, Rows: p.rows}, report, nil
}

func (p *Collector[R]) digest() string {
	if len(p.digests) == 1 {
		return p.digests[0]
	}
	sum := sha256.Sum256([]byte(strings.Join(slices.Sorted(slices.Values(p.digests)), "\n") + "\n"))
	return hex.EncodeToString(sum[:])
}

// Checked returns the table made of collected rows, if it is valid.
func Checked[T datasets.Table](table T, report Report) (T, Report, error) {
	if err := table.Validate(); err != nil {
		var none T
		return none, Report{}, fmt.Errorf("importers: the table is not valid: %w", err)
	}
	return table, report, nil
}
