package importers

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/yardmaster/yardmaster/datasets"
	"github.com/yardmaster/yardmaster/env/perf"
)

// DropNotMeasured is why a value that says nothing is left out.
const DropNotMeasured = "not measured"

// TableFormat is a published form of a table other than that of jobs, and its
// importer.
type TableFormat[T datasets.Table] struct {
	Name  string // what the user calls it, such as "titan"
	About string // one line for a list of formats
	// Sniff is as that of a [Format], for each of the files.
	Sniff func(head []byte) bool
	// Import reads one or more files. Their order does not matter, their names
	// may: some sources name the model and the GPU type only there.
	Import func(inputs ...Input) (T, Report, error)
}

// Forms of tables. Each importer's package that reads one has a function of that
// name, or Format where it reads nothing else.
type (
	ThroughputFormat = TableFormat[*datasets.ThroughputTable]
	ColocationFormat = TableFormat[*datasets.ColocationTable]
	NodesFormat      = TableFormat[*datasets.NodeTable]
	QuotasFormat     = TableFormat[*datasets.QuotaTable]
)

// Points collects the rows of a throughput table and accounts for the values
// they came from. It is not safe for concurrent use.
type Points struct {
	rows        []datasets.ThroughputRow
	read        int
	dropped     datasets.Tally
	warnings    datasets.Tally
	digests     []string
	compression []string
	names       []string // of the inputs
}

// SortInputs returns the inputs by name, so that their order does not matter.
func SortInputs(inputs []Input) []Input {
	sorted := slices.Clone(inputs)
	slices.SortStableFunc(sorted, func(a, b Input) int { return cmp.Compare(a.Name, b.Name) })
	return sorted
}

// Each opens the inputs one after the other, by name, and calls read with each.
func (p *Points) Each(inputs []Input, read func(*Source) error) error {
	if len(inputs) == 0 {
		return &datasets.RowError{Value: "no file", Fix: "name the files with the throughputs"}
	}
	for _, in := range SortInputs(inputs) {
		if err := p.one(in, read); err != nil {
			return err
		}
	}
	return nil
}

func (p *Points) one(in Input, read func(*Source) error) error {
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
func (p *Points) ReadTable(s *Source, layout Layout, row func(v *Values) error) error {
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
func (p *Points) Begin(s *Source, line int64) error {
	p.read++
	if p.read > datasets.MaxThroughputRows {
		return s.Error(line, "", "too many throughputs", fmt.Sprintf("split the file: at most %d are read", datasets.MaxThroughputRows))
	}
	return nil
}

// Drop accounts for the value last begun as left out.
func (p *Points) Drop(reason string) { p.dropped.Add(reason) }

// Warn counts a value as suspicious.
func (p *Points) Warn(reason string) { p.warnings.Add(reason) }

// Keep adds the row of the value last begun, at this line.
func (p *Points) Keep(s *Source, line int64, r datasets.ThroughputRow) error {
	if err := r.Validate(); err != nil {
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
func (p *Points) GPUType(s string, known map[string]string) string {
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
func (p *Points) Model(m *Models, s string) string {
	name, warning := m.Name(s)
	if warning != "" {
		p.Warn(warning)
	}
	return strings.Clone(name)
}

// Finish returns the table with its account; meta has Source and Licence, the
// rest is filled in. Several inputs have the hash of their sorted hashes, a line
// each.
func (p *Points) Finish(meta datasets.Meta) (*datasets.ThroughputTable, Report, error) {
	name := strings.Join(p.names, ", ")
	if len(p.names) > 1 {
		name = fmt.Sprintf("%s and %d more", p.names[0], len(p.names)-1)
	}
	if len(p.rows) == 0 {
		return nil, Report{}, &datasets.RowError{File: name, Value: fmt.Sprintf("no throughput is left of %d values", p.read), Fix: "check the file"}
	}
	report := Report{
		Report:      datasets.Report{Read: p.read, Kept: len(p.rows), Dropped: p.dropped.Counts()},
		Compression: strings.Join(p.compression, ", "), Warnings: p.warnings.Counts(),
	}
	table := &datasets.ThroughputTable{Name: name, Meta: meta, Rows: p.rows}
	table.Meta.SchemaVersion, table.Meta.RowsIn, table.Meta.SourceSHA256 = datasets.ThroughputVersion, int64(p.read), p.digest()
	for _, d := range report.Dropped {
		table.Meta.Filters = append(table.Meta.Filters, fmt.Sprintf("dropped %d rows: %s", d.Rows, d.Reason))
	}
	if err := table.Validate(); err != nil {
		return nil, Report{}, fmt.Errorf("importers: the table made of %s is not valid: %w", name, err)
	}
	return table, report, nil
}

func (p *Points) digest() string {
	if len(p.digests) == 1 {
		return p.digests[0]
	}
	sum := sha256.Sum256([]byte(strings.Join(slices.Sorted(slices.Values(p.digests)), "\n") + "\n"))
	return hex.EncodeToString(sum[:])
}

// Digits returns a placement written as a digit for each node, "4444", in the
// form of the throughput table, "4+4+4+4", with its GPUs and nodes. It fails if
// there is anything but digits from 1 to 9.
func Digits(s string) (placement string, gpus, nodes int32, ok bool) {
	if s == "" || strings.Trim(s, "123456789") != "" {
		return "", 0, 0, false
	}
	placement = strings.Join(strings.Split(s, ""), "+")
	gpus, nodes, ok = datasets.ParsePlacement(placement)
	return placement, gpus, nodes, ok
}

// PathNames returns the name of a file without its endings, and that of the
// folder it is in, "" where its path names none.
func PathNames(name string) (folder, file string) {
	clean := path.Clean(strings.ReplaceAll(name, `\`, "/"))
	file = path.Base(clean)
	for _, ending := range []string{".gz", ".zst", ".csv"} {
		file = strings.TrimSuffix(file, ending)
	}
	if dir := path.Dir(clean); dir != "." && dir != "/" {
		folder = path.Base(dir)
	}
	return folder, file
}
