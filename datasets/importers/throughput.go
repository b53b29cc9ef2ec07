package importers

import (
	"path"
	"strings"

	"github.com/yardmaster/yardmaster/datasets"
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
// they came from. The zero value is ready to use. It is not safe for concurrent
// use.
type Points struct {
	Collector[datasets.ThroughputRow]
}

// Finish returns the table with its account; meta has Source and Licence, the
// rest is filled in.
func (p *Points) Finish(meta datasets.Meta) (*datasets.ThroughputTable, Report, error) {
	c, report, err := p.Collect(meta)
	if err != nil {
		return nil, Report{}, err
	}
	return Checked(&datasets.ThroughputTable{Name: c.Name, Meta: c.Meta, Rows: c.Rows}, report)
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
