package sacct

import (
	"fmt"
	"strings"

	"github.com/yardmaster/yardmaster/datasets"
	"github.com/yardmaster/yardmaster/datasets/importers"
)

// layout is what sacct prints with --parsable2. Names of jobs may hold bars,
// which it does not quote; lists of resources are long.
var layout = importers.Layout{
	Names: []string{"State", "Submit", "Start"},
	Optional: []string{
		"JobID", "JobIDRaw", "End", "Elapsed", "ElapsedRaw", "AllocTRES", "AllocGRES", "ReqTRES", "ReqGRES", "NNodes",
		"User", "Account", "Partition", "QOS", "JobName",
	},
	Comma: '|', Free: "JobName", MaxValue: 4096,
}

// Positions of the columns in the layout.
const (
	colState = iota
	colSubmit
	colStart
	colJobID
	colJobIDRaw
	colEnd
	colElapsed
	colElapsedRaw
	colAllocTRES
	colAllocGRES
	colReqTRES
	colReqGRES
	colNodes
	colTenants // the first of tenantColumns
)

var tenantColumns = []string{"User", "Account", "Partition", "QOS"}

// requireColumns reports columns of which at least one is needed.
func requireColumns(source *importers.Source, c *importers.Columns) error {
	for _, group := range []struct {
		what    string
		columns []int
	}{
		{"job id", []int{colJobID, colJobIDRaw}},
		{"run time", []int{colElapsedRaw, colElapsed, colEnd}},
		{"number of GPUs", []int{colAllocTRES, colReqTRES, colAllocGRES, colReqGRES}},
	} {
		var names []string
		found := false
		for _, column := range group.columns {
			found = found || c.Has(column)
			names = append(names, layout.Optional[column-colJobID])
		}
		if !found {
			return source.Error(c.Line, "", "no column tells the "+group.what, "add "+strings.Join(names, " or ")+" to sacct's --format")
		}
	}
	return nil
}

// tenantColumn returns the position of the column of tenants, -1 for none.
func (c *Config) tenantColumn(source *importers.Source, columns *importers.Columns) (int, error) {
	for i, name := range tenantColumns {
		if (c.Tenant == name || c.Tenant == "" && i < 2) && columns.Has(colTenants+i) {
			return colTenants + i, nil
		}
	}
	if c.Tenant != "" {
		return 0, source.Error(columns.Line, c.Tenant, "missing from the header", fmt.Sprintf("add %s to sacct's --format", c.Tenant))
	}
	return -1, nil
}

// isStep reports whether an id is that of a step, such as 123.batch.
func isStep(id string) bool { return strings.Contains(id, ".") }

// state returns the state without what follows it: "CANCELLED by 1000".
func state(s string) string {
	first, _, _ := strings.Cut(s, " ")
	return strings.TrimSuffix(first, "+") // as sacct shortens it to fit its column
}

// keep adds a job under its id.
func keep(t *importers.Trace, v *importers.Values, row datasets.Row) {
	if v.Has(colJobIDRaw) && v.Text(colJobIDRaw) != "" {
		t.KeepNamed(v.Text(colJobIDRaw), row)
		return
	}
	t.KeepNamed(v.Text(colJobID), row)
}
