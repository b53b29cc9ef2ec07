package catalogue_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/yardmaster/yardmaster/datasets"
	"github.com/yardmaster/yardmaster/datasets/importers"
	"github.com/yardmaster/yardmaster/datasets/importers/catalogue"
	"github.com/yardmaster/yardmaster/datasets/importers/importertest"
)

// full asks for every cut and many more flips (make damage): minutes in place of
// seconds.
var full = os.Getenv("YARDMASTER_DAMAGE") == "full"

// tally counts what became of damaged inputs.
type tally struct{ tried, imported, refused int }

func (c *tally) String() string {
	return fmt.Sprintf("%d damaged inputs: %d imported with an account of every row, %d refused", c.tried, c.imported, c.refused)
}

// attempt imports inputs as the command does, writes what becomes of them to
// dir and reports every rule that is broken: an account of every row, or a line
// that names the file and says what to do; never a panic; nothing left behind.
func (c *tally) attempt(r catalogue.Request, dir string) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	c.tried++
	out := filepath.Join(dir, "out.parquet")
	_, table, report, failure := catalogue.Import(r)
	if failure == nil {
		failure = table.Write(out)
	}
	left, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	if failure != nil {
		c.refused++
		if len(left) > 0 {
			return fmt.Errorf("left %v behind after the error %w", left, failure)
		}
		return clear(failure, r.Inputs)
	}
	c.imported++
	if len(left) != 1 {
		return fmt.Errorf("left %v behind, want the table alone", left)
	}
	sum := report.Kept
	for _, d := range report.Dropped {
		sum += d.Rows
	}
	if sum != report.Read || report.Kept != table.Len() {
		return fmt.Errorf("%s does not account for every row, %d in the table", report.Report, table.Len())
	}
	return errors.Join(table.Validate(), os.Remove(out))
}

// clear reports unless an error is one line that names an input and says what to
// do.
func clear(err error, inputs []importers.Input) error {
	rowErr, ok := errors.AsType[*datasets.RowError](err)
	named := slices.ContainsFunc(inputs, func(in importers.Input) bool { return strings.Contains(err.Error(), in.Name) })
	if !ok || rowErr.Fix == "" || !named || strings.Contains(err.Error(), "\n") {
		return fmt.Errorf("got the error %q, want one line that names the file and says what to do", err)
	}
	return nil
}

// variant is a damaged text and what was done to it.
type variant struct {
	how  string
	text []byte
}

// wrong are put in the place of numbers.
var wrong = []string{"abc", "-7", "1e999", `""`, "99999999999999999999", "", "null", "0.5", "NaN", "[]", "\xff", strings.Repeat("9", 300)}

var number = regexp.MustCompile(`-?[0-9]+(\.[0-9]+)?`)

// mostDrawn bounds how many damages of a kind are drawn for one text.
const mostDrawn = 100

// damages yields variants of a text: cut at multiples of step, as many flipped
// bits and values of a wrong type (mostDrawn at most), whose places are drawn with
// the seed. Where most is not 0 it bounds the number of each kind.
func damages(text []byte, step, most int, seed uint64) func(func(variant) bool) {
	return func(yield func(variant) bool) {
		r := rand.New(rand.NewPCG(seed, uint64(len(text))))
		cuts := (len(text) + step - 1) / step
		n := cuts
		if most > 0 {
			n = min(n, most)
		}
		for i := range n {
			at := i * step
			if n < cuts {
				at = r.IntN(cuts) * step
			}
			if !yield(variant{fmt.Sprintf("cut at byte %d of %d", at, len(text)), text[:at]}) {
				return
			}
		}
		n = min(n, max(most, mostDrawn))
		for range n {
			flipped := bytes.Clone(text)
			at, bit := r.IntN(len(text)), r.IntN(8)
			flipped[at] ^= 1 << bit
			if !yield(variant{fmt.Sprintf("bit %d of byte %d flipped", bit, at), flipped}) {
				return
			}
		}
		for range n {
			from := r.IntN(len(text))
			at := number.FindIndex(text[from:])
			if at == nil {
				continue
			}
			at[0], at[1] = from+at[0], from+at[1]
			to := wrong[r.IntN(len(wrong))]
			how := fmt.Sprintf("%q at byte %d made %.20q", text[at[0]:at[1]], at[0], to)
			if !yield(variant{how, slices.Concat(text[:at[0]], []byte(to), text[at[1]:])}) {
				return
			}
		}
	}
}

func TestDamagedFixtures(t *testing.T) {
	plain, packed := 8, 8 // damages of each kind; 0 is at every byte
	if full {
		plain, packed = 0, mostDrawn
	}
	dir := t.TempDir()
	var count tally
	all := fixtures(t)
	for i := range all {
		f := &all[i]
		for part, file := range f.files {
			for _, form := range []struct {
				how  string
				text []byte
				most int
			}{{"text", file.Text, plain}, {"gzip", importertest.Gzip(file.Text), packed}, {"zstd", importertest.Zstd(file.Text), packed}} {
				if form.how != "text" && part > 0 {
					continue
				}
				for v := range damages(form.text, 1, form.most, uint64(i)) {
					r := f.request(f.with(part, v.text))
					if count.tried%4 == 0 {
						r.From = catalogue.Auto
					}
					if err := count.attempt(r, dir); err != nil {
						t.Errorf("%s: %s, %s: %s: %v", f.name, file.Name, form.how, v.how, err)
					}
				}
			}
		}
	}
	t.Log(&count)
}

// A file in one format is refused by every other, unless that knows its
// beginning, too.
func TestWrongFormats(t *testing.T) {
	dir := t.TempDir()
	var count tally
	all := fixtures(t)
	for i := range all {
		f := &all[i]
		for _, other := range catalogue.Formats() {
			r := catalogue.Request{From: other.Name, Table: other.Table, Inputs: importertest.Inputs(f.files[0])}
			imported := count.imported
			if err := count.attempt(r, dir); err != nil {
				t.Errorf("%s as %s %s: %v", f.name, other.Name, other.Table, err)
			}
			if count.imported > imported && !other.Sniff(f.files[0].Text) {
				t.Errorf("%s was imported as %s %s", f.name, other.Name, other.Table)
			}
		}
	}
	t.Log(&count)
}

func TestDamagedRealFiles(t *testing.T) {
	licence := importertest.OpenShared(t, "titan", "LICENSE") // skips where there is no real data
	root := filepath.Dir(filepath.Dir(licence.Name()))
	dir := t.TempDir()
	var count tally
	files := 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		choice, err := catalogue.Recognise(bytes.NewReader(raw), path)
		if err != nil {
			return nil //nolint:nilerr // no trace: TestEveryRealFile knows them all
		}
		files++
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		t.Run(strings.ReplaceAll(filepath.ToSlash(name), "/", "_"), func(t *testing.T) {
			before := count
			damageReal(t, &count, choice, importertest.File{Name: filepath.ToSlash(name), Text: raw}, dir)
			if full {
				t.Logf("%d damaged inputs: %d imported, %d refused", count.tried-before.tried, count.imported-before.imported, count.refused-before.refused)
			}
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if files < 50 {
		t.Errorf("saw %d files only", files)
	}
	t.Logf("%d files, %s", files, &count)
}

// damageReal damages a file of the real data and, where it is compressed, its
// text.
func damageReal(t *testing.T, count *tally, choice catalogue.Choice, file importertest.File, dir string) {
	t.Helper()
	texts := [][]byte{file.Text}
	if plain := unpacked(t, file.Text); !bytes.Equal(plain, file.Text) {
		texts = append(texts, plain)
	}
	for nth, table := range append([]string{choice.Table}, choice.Others...) {
		for i, text := range texts {
			most := 0
			switch {
			case !full:
				most = 1 + 20_000/len(text)
			case i > 0 || nth > 0: // the text of a compressed file is long; another table, of the same bytes
				most = mostDrawn
			}
			for v := range damages(text, 1000, most, uint64(len(file.Name)+i)) {
				r := catalogue.Request{From: choice.Name, Table: table, Inputs: importertest.Inputs(importertest.File{Name: file.Name, Text: v.text})}
				if count.tried%4 == 0 {
					r.From = catalogue.Auto
				}
				if err := count.attempt(r, dir); err != nil {
					t.Errorf("%s as %s %s: %s: %v", file.Name, choice.Name, table, v.how, err)
				}
			}
		}
	}
}

// unpacked returns the text of a file, compressed or not.
func unpacked(t *testing.T, raw []byte) []byte {
	t.Helper()
	s, err := importers.Open(bytes.NewReader(raw), "file")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	text, err := io.ReadAll(s.Text())
	if err != nil {
		t.Fatal(err)
	}
	return text
}
