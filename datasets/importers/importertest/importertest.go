// Package importertest holds the tests that every importer of a trace passes:
// an account of each row, tables that can be written and read back, the same
// rows whatever the compression, clear errors about damaged input. The
// functions return errors, so that they can be tested themselves.
package importertest

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"

	"github.com/yardmaster/yardmaster/datasets"
	"github.com/yardmaster/yardmaster/datasets/importers"
)

// name is what errors are to call the input.
const name = "trace under test"

// Check imports a trace that the format can read and reports every rule that
// is broken. It writes files to dir.
func Check(f importers.Format, trace []byte, dir string) error {
	if f.Name == "" || f.About == "" || strings.Contains(f.About, "\n") {
		return fmt.Errorf("the format is called %q, about %q: want a name and one line", f.Name, f.About)
	}
	j, report, err := f.Import(bytes.NewReader(trace), name)
	if err := Outcome(j, report, err); err != nil {
		return err
	}
	if err != nil {
		return fmt.Errorf("the trace cannot be imported: %w", err)
	}
	return errors.Join(
		checkSniff(f, trace),
		checkCompression(f, trace, j, report),
		RoundTrip(j, dir),
		checkDamage(f, trace),
		checkForeign(f),
	)
}

// Outcome reports what is wrong with the result of an import, be it a table or
// an error: a table is valid, its rows are accounted for; an error is one line
// that names the input.
func Outcome(j *datasets.Jobs, r importers.Report, err error) error {
	if err != nil {
		if s := err.Error(); strings.Contains(s, "\n") || !strings.Contains(s, name) {
			return fmt.Errorf("got the error %q, want one line that names the input", s)
		}
		if rowErr, ok := errors.AsType[*datasets.RowError](err); !ok || rowErr.Fix == "" {
			return fmt.Errorf("got the error %#v, want a RowError that says what to do", err)
		}
		return nil
	}
	if err := j.Validate(); err != nil {
		return fmt.Errorf("the table is not valid: %w", err)
	}
	sum := r.Kept
	for _, d := range r.Dropped {
		sum += d.Rows
	}
	if sum != r.Read || r.Kept != len(j.Rows) || j.Meta.RowsIn != int64(r.Read) {
		return fmt.Errorf("report %+v does not account for the rows: %d in the table, %d in its metadata", r, len(j.Rows), j.Meta.RowsIn)
	}
	if r.Span() != j.Rows[len(j.Rows)-1].Submit-j.Rows[0].Submit {
		return fmt.Errorf("report says %v to %v, the table spans %v to %v", r.First, r.Last, j.Rows[0].Submit, j.Rows[len(j.Rows)-1].Submit)
	}
	if m := j.Meta; m.Source == "" || m.Licence == "" || len(m.SourceSHA256) != 64 || m.Zone == "" && !m.Epoch.IsZero() {
		return fmt.Errorf("metadata %+v is not complete", m)
	}
	return nil
}

// RoundTrip writes a table to dir and reads it back, and takes it through its
// CSV form and back.
func RoundTrip(j *datasets.Jobs, dir string) error {
	return errors.Join(roundTripParquet(j, dir), RoundTripCSV(j))
}

func roundTripParquet(j *datasets.Jobs, dir string) error {
	path := filepath.Join(dir, "jobs.parquet")
	if err := datasets.Write(path, j); err != nil {
		return err
	}
	back, err := datasets.Read(path)
	if err != nil {
		return err
	}
	if diff := cmp.Diff(j.Rows, back.Rows); diff != "" {
		return fmt.Errorf("rows changed on the way through the file (-written +read):\n%s", diff)
	}
	if !back.Meta.Epoch.Equal(j.Meta.Epoch) {
		return fmt.Errorf("epoch %v became %v", j.Meta.Epoch, back.Meta.Epoch)
	}
	want := j.Meta
	want.Epoch = back.Meta.Epoch // compared above: the zone's name is not kept
	if diff := cmp.Diff(want, back.Meta); diff != "" {
		return fmt.Errorf("metadata changed on the way through the file (-written +read):\n%s", diff)
	}
	return os.Remove(path)
}

// checkSniff reports whether the format recognises its own trace, however
// little of it there is beyond the first lines.
func checkSniff(f importers.Format, trace []byte) error {
	var errs []error
	for _, input := range [][]byte{trace, Gzip(trace), Zstd(trace)} {
		head, _, err := importers.Head(bytes.NewReader(input))
		if err != nil || !f.Sniff(head) {
			errs = append(errs, fmt.Errorf("%s does not recognise its own trace, beginning %.60q (%v)", f.Name, head, err))
		}
	}
	return errors.Join(errs...)
}

func checkCompression(f importers.Format, trace []byte, plain *datasets.Jobs, report importers.Report) error {
	var errs []error
	inputs := [][]byte{trace, Gzip(trace), Zstd(trace)}
	for i, compression := range []string{"none", "gzip", "zstd"} {
		j, r, err := f.Import(bytes.NewReader(inputs[i]), name)
		switch {
		case err != nil:
			errs = append(errs, fmt.Errorf("%s: %w", compression, err))
			continue
		case j.Hash() != plain.Hash():
			errs = append(errs, fmt.Errorf("%s: other rows", compression))
		case r.Compression != compression:
			errs = append(errs, fmt.Errorf("%s: reported as %q", compression, r.Compression))
		}
		r.Compression = report.Compression
		if diff := cmp.Diff(report, r); diff != "" {
			errs = append(errs, fmt.Errorf("%s: another report:\n%s", compression, diff))
		}
	}
	return errors.Join(errs...)
}

// checkDamage cuts the trace at a hundred places and flips a bit at as many.
func checkDamage(f importers.Format, trace []byte) error {
	step := max(1, len(trace)/100)
	packed := Gzip(trace)
	for at := 0; at < len(trace); at += step {
		flipped := bytes.Clone(trace)
		flipped[at] ^= 1 << (at % 8)
		for _, input := range [][]byte{trace[:at], flipped} {
			if err := Outcome(f.Import(bytes.NewReader(input), name)); err != nil {
				return fmt.Errorf("damaged at byte %d: %w", at, err)
			}
		}
	}
	for at := 0; at < len(packed); at += max(1, len(packed)/100) {
		_, _, err := f.Import(bytes.NewReader(packed[:at]), name)
		if err == nil {
			return fmt.Errorf("gzip cut at byte %d of %d: no error", at, len(packed))
		}
		if err := Outcome(nil, importers.Report{}, err); err != nil {
			return fmt.Errorf("gzip cut at byte %d: %w", at, err)
		}
	}
	return nil
}

// foreign are inputs in no format of a trace.
var foreign = []struct{ what, text string }{
	{"Parquet", "PAR1\x00\x01\x02\x03PAR1"},
	{"HTML", "<!DOCTYPE html>\n<html><body>404</body></html>\n"},
	{"prose", "A trace, of jobs.\nThey ran.\n"},
	{"another table", "sepal_length,sepal_width,species\n5.1,3.5,setosa\n"},
	{"JSON", `{"a": [1, 2, 3]}`},
	{"a list", `[1, 2, 3]`},
	{"a list of lists", `[[1, 2], [3]]`},
	{"numbers", "1 2 3\n4 5 6\n"},
	{"blank", "\n\n \n"},
	{"empty", ""},
	{"an LFS pointer", "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 12345\n"},
	{"null bytes", strings.Repeat("\x00", 100)},
}

func checkForeign(f importers.Format) error {
	var errs []error
	for _, input := range foreign {
		_, _, err := f.Import(strings.NewReader(input.text), name)
		if err == nil {
			errs = append(errs, fmt.Errorf("%s was imported", input.what))
			continue
		}
		if err := Outcome(nil, importers.Report{}, err); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", input.what, err))
		}
		if f.Sniff([]byte(input.text)) {
			errs = append(errs, fmt.Errorf("%s is taken for %s", input.what, f.Name))
		}
	}
	return errors.Join(errs...)
}

// Gzip compresses text.
func Gzip(text []byte) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write(text) // a Buffer takes everything
	_ = w.Close()
	return b.Bytes()
}

// Zstd compresses text.
func Zstd(text []byte) []byte {
	w, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	if err != nil {
		panic(err) // the options are constant
	}
	defer w.Close()
	return w.EncodeAll(text, nil)
}

// Fuzz reports what is wrong with the import of any bytes. It is the body of a
// fuzz target.
func Fuzz(f importers.Format, input []byte) error {
	f.Sniff(input[:min(len(input), importers.SniffSize)])
	j, report, err := f.Import(bytes.NewReader(input), name)
	return Outcome(j, report, err)
}
