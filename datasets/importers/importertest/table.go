package importertest

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"

	"github.com/yardmaster/yardmaster/datasets"
	"github.com/yardmaster/yardmaster/datasets/importers"
)

// File is an input of a format of tables, whose name may matter.
type File struct {
	Name string
	Text []byte
}

// Inputs returns files as an importer takes them.
func Inputs(files ...File) []importers.Input {
	inputs := make([]importers.Input, len(files))
	for i, f := range files {
		inputs[i] = importers.Input{Name: f.Name, Reader: bytes.NewReader(f.Text)}
	}
	return inputs
}

// CheckTable imports files that the format can read and reports every rule
// that is broken. It writes files to dir.
func CheckTable[T datasets.Table](f importers.TableFormat[T], dir string, files ...File) error {
	if f.Name == "" || f.About == "" || strings.Contains(f.About, "\n") {
		return fmt.Errorf("the format is called %q, about %q: want a name and one line", f.Name, f.About)
	}
	table, report, err := f.Import(Inputs(files...)...)
	if err != nil {
		return fmt.Errorf("the files cannot be imported: %w", err)
	}
	if err := OutcomeTable(table, report, nil, files...); err != nil {
		return err
	}
	return errors.Join(
		checkVariants(f, table, report, files),
		RoundTripTable(table, dir),
		checkTableDamage(f, files),
		checkTableForeign(f, files[0].Name),
	)
}

// OutcomeTable is [Outcome] for a format of tables other than jobs.
func OutcomeTable[T datasets.Table](table T, r importers.Report, err error, files ...File) error {
	if err != nil {
		s := err.Error()
		named := len(files) == 0 || slices.ContainsFunc(files, func(f File) bool { return strings.Contains(s, f.Name) })
		if rowErr, ok := errors.AsType[*datasets.RowError](err); !ok || rowErr.Fix == "" || strings.Contains(s, "\n") || !named {
			return fmt.Errorf("got the error %#v, want a RowError of one line that names the file and says what to do", err)
		}
		return nil
	}
	if err := table.Validate(); err != nil {
		return fmt.Errorf("the table is not valid: %w", err)
	}
	sum := r.Kept
	for _, d := range r.Dropped {
		sum += d.Rows
	}
	if sum != r.Read || r.Kept != table.Len() || table.Metadata().RowsIn != int64(r.Read) {
		return fmt.Errorf("report %+v does not account for the values: %d rows in the table, %d in its metadata", r, table.Len(), table.Metadata().RowsIn)
	}
	if m := table.Metadata(); m.Source == "" || m.Licence == "" || len(m.SourceSHA256) != 64 {
		return fmt.Errorf("metadata %+v is not complete", *m)
	}
	return nil
}

// RoundTripTable writes a table to dir and reads it back.
func RoundTripTable[T datasets.Table](table T, dir string) error {
	path := filepath.Join(dir, table.Kind()+".parquet")
	if err := table.Write(path); err != nil {
		return err
	}
	back, err := datasets.ReadTable(path)
	if err != nil {
		return err
	}
	if table.Kind() != back.Kind() || table.Hash() != back.Hash() {
		return fmt.Errorf("rows changed on the way through the file: %d %s rows were written, %d %s rows read", table.Len(), table.Kind(), back.Len(), back.Kind())
	}
	want, got := *table.Metadata(), *back.Metadata()
	if !want.Epoch.Equal(got.Epoch) {
		return fmt.Errorf("epoch %v became %v", want.Epoch, got.Epoch)
	}
	want.Epoch = got.Epoch // compared above: the zone's name is not kept
	if diff := cmp.Diff(want, got); diff != "" {
		return fmt.Errorf("metadata changed on the way through the file (-written +read):\n%s", diff)
	}
	return os.Remove(path)
}

// checkVariants imports the files compressed, and in another order.
func checkVariants[T datasets.Table](f importers.TableFormat[T], plain T, report importers.Report, files []File) error {
	var errs []error
	for _, in := range files {
		for _, text := range [][]byte{in.Text, Gzip(in.Text), Zstd(in.Text)} {
			if head, _, err := importers.Head(bytes.NewReader(text)); err != nil || !f.Sniff(head) {
				errs = append(errs, fmt.Errorf("%s does not recognise its own %s (%v)", f.Name, in.Name, err))
			}
		}
	}
	packed := func(compress func([]byte) []byte, ending string) []File {
		out := make([]File, len(files))
		for i, in := range files {
			out[len(files)-1-i] = File{in.Name + ending, compress(in.Text)}
		}
		return out
	}
	reversed := packed(func(b []byte) []byte { return b }, "")
	for what, variant := range map[string][]File{"none": reversed, "gzip": packed(Gzip, ".gz"), "zstd": packed(Zstd, ".zst")} {
		table, r, err := f.Import(Inputs(variant...)...)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", what, err))
			continue
		}
		if table.Hash() != plain.Hash() || r.Compression != what {
			errs = append(errs, fmt.Errorf("%s: other rows, or compression %q", what, r.Compression))
		}
		r.Compression = report.Compression
		if diff := cmp.Diff(report, r); diff != "" {
			errs = append(errs, fmt.Errorf("%s: another report:\n%s", what, diff))
		}
	}
	return errors.Join(errs...)
}

// checkThroughputDamage cuts each file at a hundred places and flips a bit at
// as many.
func checkTableDamage[T datasets.Table](f importers.TableFormat[T], files []File) error {
	for i, in := range files {
		for at := 0; at < len(in.Text); at += max(1, len(in.Text)/100) {
			flipped := bytes.Clone(in.Text)
			flipped[at] ^= 1 << (at % 8)
			for _, text := range [][]byte{in.Text[:at], flipped} {
				bad := slices.Clone(files)
				bad[i].Text = text
				table, report, err := f.Import(Inputs(bad...)...)
				if err := OutcomeTable(table, report, err, bad...); err != nil {
					return fmt.Errorf("%s damaged at byte %d: %w", in.Name, at, err)
				}
			}
		}
	}
	packed := Gzip(files[0].Text)
	for at := 0; at < len(packed); at += max(1, len(packed)/50) {
		file := File{files[0].Name, packed[:at]}
		_, _, err := f.Import(Inputs(file)...)
		if err == nil {
			return fmt.Errorf("gzip cut at byte %d of %d: no error", at, len(packed))
		}
		if err := OutcomeTable[*datasets.Jobs](nil, importers.Report{}, err, file); err != nil {
			return fmt.Errorf("gzip cut at byte %d: %w", at, err)
		}
	}
	return nil
}

func checkTableForeign[T datasets.Table](f importers.TableFormat[T], path string) error {
	var errs []error
	for _, input := range foreign {
		file := File{path, []byte(input.text)}
		_, _, err := f.Import(Inputs(file)...)
		if err == nil {
			errs = append(errs, fmt.Errorf("%s was imported", input.what))
			continue
		}
		if err := OutcomeTable[*datasets.Jobs](nil, importers.Report{}, err, file); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", input.what, err))
		}
		if f.Sniff([]byte(input.text)) {
			errs = append(errs, fmt.Errorf("%s is taken for %s", input.what, f.Name))
		}
	}
	if _, _, err := f.Import(); err == nil {
		errs = append(errs, errors.New("nothing at all was imported"))
	}
	return errors.Join(errs...)
}

// FuzzTable reports what is wrong with the import of any bytes under some
// name. It is the body of a fuzz target.
func FuzzTable[T datasets.Table](f importers.TableFormat[T], file File) error {
	f.Sniff(file.Text[:min(len(file.Text), importers.SniffSize)])
	table, report, err := f.Import(Inputs(file)...)
	return OutcomeTable(table, report, err, file)
}
