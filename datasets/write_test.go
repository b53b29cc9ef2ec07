package datasets

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// A table written row by row is the file that Write makes of it.
func TestWriterWritesWhatWriteDoes(t *testing.T) {
	j := &Jobs{Meta: Meta{SchemaVersion: SchemaVersion, Source: "s", Licence: "l", RowsIn: 9, Filters: []string{"f"}, Epoch: time.Unix(0, 0).UTC()}}
	for i := range rowsPerGroup + 5000 {
		j.Rows = append(j.Rows, Row{ID: int64(i * 7919 % 1_000_003), Submit: time.Duration(i), GPUs: int32(1 + i%9), Duration: time.Duration(1 + i), Tenant: "t"})
	}
	dir := t.TempDir()
	for name, rows := range map[string]int{"one": 1, "odd": 997, "all": len(j.Rows)} {
		whole, parts := filepath.Join(dir, "whole"), filepath.Join(dir, name)
		if err := Write(whole, j); err != nil {
			t.Fatal(err)
		}
		w, err := Create(parts)
		if err != nil {
			t.Fatal(err)
		}
		for first := 0; first < len(j.Rows); first += rows {
			if err := w.Append(j.Rows[first:min(first+rows, len(j.Rows))]); err != nil {
				t.Fatal(err)
			}
		}
		if w.Hash() != j.Hash() || w.Len() != len(j.Rows) {
			t.Errorf("%s: another hash, or %d rows", name, w.Len())
		}
		if _, err := os.Stat(parts); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: the file is there before it is complete (%v)", name, err)
		}
		if err := w.Close(j.Meta); err != nil {
			t.Fatal(err)
		}
		if err := w.Abort(); err != nil {
			t.Errorf("%s: Abort after Close: %v", name, err)
		}
		want, err := os.ReadFile(whole)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(parts); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: another file (%v)", name, err)
		}
	}
}

func TestWriterRefusesAndLeavesNothing(t *testing.T) {
	good := Row{ID: 1, Submit: 5, GPUs: 1, Duration: 1}
	later := Row{ID: 2, Submit: 6, GPUs: 1, Duration: 1}
	bad := Row{ID: 3, Submit: 7, Duration: 1}
	copied := Row{ID: 1, Submit: 6, GPUs: 1, Duration: 1}
	dir := t.TempDir()
	path := filepath.Join(dir, "t.parquet")
	for name, test := range map[string]struct {
		rows []Row
		want RowError
	}{
		"no rows":   {nil, RowError{Value: "no rows", Fix: "at least one"}},
		"bad row":   {[]Row{good, bad}, RowError{Row: 2, Column: "gpus", Value: "0", Fix: "1 to 1000000"}},
		"unsorted":  {[]Row{later, good}, RowError{Row: 2, Column: "submit_ns", Fix: "sort the rows"}},
		"two of it": {[]Row{good, copied}, RowError{Column: "job_id", Value: "1 in two rows", Fix: "an id of its own"}},
	} {
		discarding := Discard()
		discarded := discarding.Append(test.rows)
		if discarded == nil {
			discarded = discarding.Close(Meta{})
		}
		checkRowError(t, discarded, "the table", test.want)
		w, err := Create(path)
		if err != nil {
			t.Fatal(err)
		}
		for i := range test.rows {
			if err = w.Append(test.rows[i : i+1]); err != nil {
				break
			}
		}
		if err == nil {
			err = w.Close(Meta{})
		} else if abortErr := w.Abort(); abortErr != nil {
			t.Fatal(abortErr)
		}
		checkRowError(t, err, path, test.want)
		if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
			t.Errorf("%s: left %v (%v)", name, entries, err)
		}
	}
	if _, err := Create(filepath.Join(dir, "none", "t.parquet")); err == nil {
		t.Error("a file was begun in a folder that is not there")
	}
}
