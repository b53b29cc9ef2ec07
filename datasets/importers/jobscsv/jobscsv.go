// Package jobscsv imports a jobs table in its CSV form: what `yardmaster trace
// convert` writes, or a table made by hand after datasets/SCHEMA.md, which is
// the way in for traces in no published format.
//
// The metadata of the file is kept as it is. A table without any gets what can
// be known: the hash of the file and the number of its rows.
package jobscsv

import (
	"bytes"
	"io"

	"github.com/yardmaster/yardmaster/datasets"
	"github.com/yardmaster/yardmaster/datasets/importers"
)

// Metadata of a table that has none.
const (
	source  = "a jobs table in CSV form"
	licence = "not stated"
)

// Format returns the format, for lists of all.
func Format() importers.Format {
	return importers.Format{
		Name:   "csv",
		About:  "a jobs table as CSV: columns job_id, submit_ns or submit_s, gpus, duration_ns or duration_s, ... (datasets/SCHEMA.md)",
		Sniff:  Sniff,
		Import: Import,
	}
}

// Sniff reports whether the first line that is no comment names the required
// columns of a jobs table.
func Sniff(head []byte) bool {
	head = bytes.TrimPrefix(head, []byte("\ufeff"))
	for {
		line, rest, more := bytes.Cut(head, []byte("\n"))
		line = bytes.TrimSpace(line)
		if len(line) > 0 && line[0] != '#' {
			return importers.HasColumns(line, "job_id", "submit_ns", "gpus") || importers.HasColumns(line, "job_id", "submit_s", "gpus")
		}
		if !more {
			return false
		}
		head = rest
	}
}

// Import reads a jobs table; name is what errors call it.
func Import(r io.Reader, name string) (*datasets.Jobs, importers.Report, error) {
	s, err := importers.Open(r, name)
	if err != nil {
		return nil, importers.Report{}, err
	}
	defer s.Close()
	j, err := datasets.DecodeCSV(s.Text(), name)
	if err != nil {
		return nil, importers.Report{}, err
	}
	if j.Meta.SchemaVersion == 0 {
		digest, err := s.SHA256()
		if err != nil {
			return nil, importers.Report{}, err
		}
		j.Meta = datasets.Meta{
			SchemaVersion: datasets.SchemaVersion, Source: source, Licence: licence,
			SourceSHA256: digest, RowsIn: int64(len(j.Rows)),
		}
	}
	report := importers.Report{
		Report:      datasets.Report{Read: len(j.Rows), Kept: len(j.Rows)},
		Compression: s.Compression,
		First:       j.Instant(j.Rows[0].Submit), Last: j.Instant(j.Rows[len(j.Rows)-1].Submit),
	}
	return j, report, nil
}
