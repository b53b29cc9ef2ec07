package datasets

import (
	"fmt"
	"slices"
	"strings"
)

// split are the columns of names that results may be split by: what no policy chooses.
var split = []struct {
	column string
	of     func(*Row) string
}{
	{columnStatus, func(r *Row) string { return r.Status }},
	{columnTenant, func(r *Row) string { return r.Tenant }},
	{columnReferenceGPU, func(r *Row) string { return r.ReferenceGPU }},
}

// SplitColumns returns the columns that [Jobs.By] takes.
func SplitColumns() []string {
	names := make([]string, len(split))
	for i := range split {
		names[i] = split[i].column
	}
	return names
}

// By returns what the rows have in a column of names, by their IDs, "" where that is null. It fails for a column that is not one of [SplitColumns] or that no row has.
func (j *Jobs) By(column string) (func(id int64) string, error) {
	k := slices.Index(SplitColumns(), column)
	if k < 0 {
		return nil, fmt.Errorf("datasets: %q is no column to split by, want %s", column, strings.Join(SplitColumns(), ", "))
	}
	names := make(map[int64]string)
	for i := range j.Rows {
		if name := split[k].of(&j.Rows[i]); name != "" {
			names[j.Rows[i].ID] = name
		}
	}
	if len(names) == 0 {
		return nil, &RowError{File: j.Name, Column: column, Value: "null in every row", Fix: "there is nothing to split by"}
	}
	return func(id int64) string { return names[id] }, nil
}
