// Package catalogue lists every published format that can be imported, whatever
// table it becomes, and those files of theirs that are recognised and refused.
// A new format is a package under importers and a line here.
package catalogue

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/yardmaster/yardmaster/datasets"
	"github.com/yardmaster/yardmaster/datasets/importers"
	"github.com/yardmaster/yardmaster/datasets/importers/acme"
	"github.com/yardmaster/yardmaster/datasets/importers/elasticflow"
	"github.com/yardmaster/yardmaster/datasets/importers/gavel"
	"github.com/yardmaster/yardmaster/datasets/importers/helios"
	"github.com/yardmaster/yardmaster/datasets/importers/jobscsv"
	"github.com/yardmaster/yardmaster/datasets/importers/muri"
	"github.com/yardmaster/yardmaster/datasets/importers/openb"
	"github.com/yardmaster/yardmaster/datasets/importers/pai"
	"github.com/yardmaster/yardmaster/datasets/importers/philly"
	"github.com/yardmaster/yardmaster/datasets/importers/pollux"
	"github.com/yardmaster/yardmaster/datasets/importers/rubick"
	"github.com/yardmaster/yardmaster/datasets/importers/sacct"
	"github.com/yardmaster/yardmaster/datasets/importers/sailor"
	"github.com/yardmaster/yardmaster/datasets/importers/shockwave"
	"github.com/yardmaster/yardmaster/datasets/importers/swf"
	"github.com/yardmaster/yardmaster/datasets/importers/throughputs"
	"github.com/yardmaster/yardmaster/datasets/importers/titan"
)

// Format is a published format and the table it becomes. Name and Table
// together are unique.
type Format struct {
	Name  string // what the user calls it, such as "philly"
	Table string // one of datasets.Kinds
	About string // one line for a list of formats
	// Many says that several files make one table.
	Many bool
	// Sniff reports whether an input begins like this format; see
	// [importers.Format].
	Sniff func(head []byte) bool
	// Import reads one file, or several where Many is set.
	Import func(inputs ...importers.Input) (datasets.Table, importers.Report, error)
}

// Formats returns every format, by name, then in the order of datasets.Kinds.
// The caller owns the list.
func Formats() []Format {
	var all []Format
	for _, f := range Jobs() {
		all = append(all, jobs(f))
	}
	for _, f := range Throughputs() {
		all = append(all, of(datasets.KindThroughput, f))
	}
	for _, f := range Colocations() {
		all = append(all, of(datasets.KindColocation, f))
	}
	for _, f := range Nodes() {
		all = append(all, of(datasets.KindClusterNodes, f))
	}
	for _, f := range Quotas() {
		all = append(all, of(datasets.KindQuotas, f))
	}
	kinds := datasets.Kinds()
	slices.SortStableFunc(all, func(a, b Format) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(slices.Index(kinds, a.Table), slices.Index(kinds, b.Table)))
	})
	return all
}

// Jobs returns the formats of traces of jobs, by name.
func Jobs() []importers.Format {
	return []importers.Format{
		acme.Format(), jobscsv.Format(), elasticflow.Format(), gavel.Format(), gavel.StreamFormat(), helios.Format(), muri.Format(), openb.Format(), pai.Format(), philly.Format(),
		pollux.Format(), rubick.Format(), sacct.Format(), shockwave.Format(), swf.Format(),
	}
}

// Throughputs returns the formats of throughputs, by name.
func Throughputs() []importers.ThroughputFormat {
	return []importers.ThroughputFormat{
		elasticflow.ThroughputFormat(), gavel.ThroughputFormat(), rubick.ThroughputFormat(), sailor.Format(), throughputs.Format(), titan.Format(),
	}
}

// Colocations returns the formats of pairs of jobs, by name.
func Colocations() []importers.ColocationFormat {
	return []importers.ColocationFormat{throughputs.ColocationFormat(), gavel.ColocationFormat(), titan.ColocationFormat()}
}

// Nodes returns the formats of the hardware of clusters, by name.
func Nodes() []importers.NodesFormat {
	return []importers.NodesFormat{throughputs.ClustersFormat(), helios.SummaryFormat(), openb.NodesFormat(), pai.MachinesFormat()}
}

// Quotas returns the formats of quotas, by name.
func Quotas() []importers.QuotasFormat {
	return []importers.QuotasFormat{helios.QuotasFormat()}
}

// Names returns the names of formats, each once, ascending.
func Names() []string {
	var names []string
	for _, f := range Formats() {
		names = append(names, f.Name)
	}
	return slices.Compact(names)
}

// jobs makes a format of traces one of the list.
func jobs(f importers.Format) Format {
	return Format{
		Name: f.Name, Table: datasets.KindJobs, About: f.About, Many: f.Join != nil, Sniff: f.Sniff,
		Import: func(inputs ...importers.Input) (datasets.Table, importers.Report, error) {
			switch {
			case len(inputs) == 1:
				return result(f.Import(inputs[0].Reader, inputs[0].Name))
			case len(inputs) == 0 || f.Join == nil:
				return nil, importers.Report{}, &datasets.RowError{
					Value: fmt.Sprintf("%d files", len(inputs)), Fix: "a " + f.Name + " trace is one file: import them one by one",
				}
			}
			return result(f.Join(inputs))
		},
	}
}

// of makes a format of tables of another kind one of the list.
func of[T datasets.Table](kind string, f importers.TableFormat[T]) Format {
	return Format{
		Name: f.Name, Table: kind, About: f.About, Many: true, Sniff: f.Sniff,
		Import: func(inputs ...importers.Input) (datasets.Table, importers.Report, error) {
			return result(f.Import(inputs...))
		},
	}
}

// result gives an outcome the form of the list's: no table with an error.
func result[T datasets.Table](table T, report importers.Report, err error) (datasets.Table, importers.Report, error) {
	if err != nil {
		return nil, importers.Report{}, err
	}
	return table, report, nil
}

// Detect returns the formats that recognise the beginning of an input, in the
// order of [Formats].
func Detect(head []byte) []Format {
	return slices.DeleteFunc(Formats(), func(f Format) bool { return !f.Sniff(head) })
}

// Titles returns the formats as lines of "name", "table", "about", for a help.
func Titles() string {
	var b strings.Builder
	for _, f := range Formats() {
		fmt.Fprintf(&b, "  %-12s  %-13s  %s\n", f.Name, f.Table, f.About)
	}
	return b.String()
}
