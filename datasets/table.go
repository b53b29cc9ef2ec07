package datasets

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"
)

// SchemaVersion is the version of the jobs table that [Write] writes. [Read]
// takes this one and every older one.
const SchemaVersion = 1

// Meta says where a table comes from.
type Meta struct {
	SchemaVersion int       // of the file it was read from; Write sets SchemaVersion
	Source        string    // what the jobs are and where they come from
	Licence       string    // of the source; an SPDX identifier where there is one
	SourceSHA256  string    // of the file the rows were imported from, hex; "" where there is none
	Epoch         time.Time // the instant of Submit 0; the zero time where the trace has none
	Zone          string    // time zone of the source and how it is known, such as "America/Los_Angeles (assumed)"
	Filters       []string  // what was left out or changed since the source, in order
	RowsIn        int64     // rows of the source, before any filter
	Generator     string    // what generated the rows, with its settings; "" for recorded jobs
	Seed          uint64    // of Generator
}

// Jobs is a table of jobs, ordered by (Submit, ID).
type Jobs struct {
	// Name is the file the table was read from, or what errors call it.
	Name string
	Meta Meta
	Rows []Row
}

// compareRows orders rows by (Submit, ID).
func compareRows(a, b Row) int {
	return cmp.Or(cmp.Compare(a.Submit, b.Submit), cmp.Compare(a.ID, b.ID))
}

// Sort brings the rows into the order of a table: by (Submit, ID).
func (j *Jobs) Sort() { slices.SortFunc(j.Rows, compareRows) }

// maxReported bounds how many problems one Validate reports.
const maxReported = 10

// Validate reports what is wrong with j, up to ten problems at once, each a
// [*RowError]. A table that it accepts can be written and resolved.
func (j *Jobs) Validate() error {
	if len(j.Rows) == 0 {
		return &RowError{File: j.Name, Value: "the table has no rows", Fix: "check the filters of the import; a trace needs at least one job"}
	}
	if len(j.Rows) > MaxRows {
		return &RowError{File: j.Name, Value: fmt.Sprintf("the table has %d rows", len(j.Rows)), Fix: fmt.Sprintf("split it: at most %d are read", MaxRows)}
	}
	var errs []error
	for i := range j.Rows {
		err := j.Rows[i].check()
		if err == nil && i > 0 {
			err = checkOrder(&j.Rows[i-1], &j.Rows[i])
		}
		if err != nil {
			err.File, err.Row = j.Name, int64(i)+1
			errs = append(errs, err)
		}
		if len(errs) >= maxReported {
			return errors.Join(errs...)
		}
	}
	if err := j.checkUnique(); err != nil {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// checkOrder reports a row that comes before its predecessor.
func checkOrder(before, r *Row) *RowError {
	if compareRows(*before, *r) < 0 || before.ID == r.ID {
		return nil // equal IDs are checkUnique's
	}
	return &RowError{
		Column: columnSubmit,
		Value:  fmt.Sprintf("%d (%s %d), before the row above it", int64(r.Submit), columnID, r.ID),
		Fix:    "sort the rows by " + columnSubmit + ", " + columnID,
	}
}

// checkUnique reports the first job ID that occurs twice.
func (j *Jobs) checkUnique() error {
	order := make([]int32, len(j.Rows)) // MaxRows fits
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(a, b int32) int {
		return cmp.Or(cmp.Compare(j.Rows[a].ID, j.Rows[b].ID), cmp.Compare(a, b))
	})
	first := -1 // position of the earliest repetition in the file
	for i := 1; i < len(order); i++ {
		if j.Rows[order[i]].ID == j.Rows[order[i-1]].ID && (first < 0 || order[i] < order[first]) {
			first = i
		}
	}
	if first < 0 {
		return nil
	}
	return &RowError{
		File: j.Name, Row: int64(order[first]) + 1, Column: columnID,
		Value: fmt.Sprintf("%d, as in row %d", j.Rows[order[first]].ID, order[first-1]+1),
		Fix:   "give every job an id of its own, or drop the copy",
	}
}

// Hash returns a hash of the rows (SHA-256, hex), for the provenance of a run.
// It depends on nothing but the rows: not on the metadata, the file layout or
// the compression.
func (j *Jobs) Hash() string {
	h := sha256.New()
	h.Write(appendString(nil, hashTitle)) // never fails
	var b []byte
	for i := range j.Rows {
		b = j.Rows[i].appendHash(b[:0])
		h.Write(b)
	}
	return hex.EncodeToString(h.Sum(nil))
}

const hashTitle = "yardmaster jobs 1"

// appendHash appends what the hash of a table takes of r.
func (r *Row) appendHash(b []byte) []byte {
	for _, word := range [...]uint64{
		uint64(r.ID), uint64(r.Submit), uint64(r.GPUs), uint64(r.Duration), math.Float64bits(r.Steps),
		uint64(r.Batch), math.Float64bits(r.Weight), uint64(r.Deadline),
	} {
		b = binary.LittleEndian.AppendUint64(b, word)
	}
	for _, name := range [...]string{r.Model, r.ReferenceGPU, r.Tenant, r.Status} {
		b = appendString(b, name)
	}
	return b
}

// appendString appends s after its length, so that no two lists of strings
// give the same bytes.
func appendString(b []byte, s string) []byte {
	return append(binary.LittleEndian.AppendUint64(b, uint64(len(s))), s...)
}
