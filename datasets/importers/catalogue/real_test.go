package catalogue_test

import (
	"bytes"
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/yardmaster/yardmaster/datasets"
	"github.com/yardmaster/yardmaster/datasets/importers"
	"github.com/yardmaster/yardmaster/datasets/importers/catalogue"
	"github.com/yardmaster/yardmaster/datasets/importers/importertest"
)

var rewrite = flag.Bool("rewrite", false, "write testdata/real.txt anew")

// Every file of the real data is what testdata/real.txt says: its format and
// table, rows in, kept, dropped by reason, or why it is refused. Each is imported
// as every table that it can become, and what is kept survives a file.
func TestEveryRealFile(t *testing.T) {
	licence := importertest.OpenShared(t, "titan", "LICENSE") // skips where there is no real data
	root := filepath.Dir(filepath.Dir(licence.Name()))
	var lines []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		for i, tables := 0, []string{""}; i < len(tables); i++ {
			choice, line := importReal(t, path, tables[i])
			lines = append(lines, filepath.ToSlash(name)+": "+line)
			if i == 0 {
				tables = append(tables, choice.Others...)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(lines)
	got := strings.Join(lines, "\n") + "\n"
	golden := filepath.Join("testdata", "real.txt")
	if *rewrite {
		if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("files (-want +got; -rewrite accepts them):\n%s", diff)
	}
}

// importReal imports a file as one table and returns what came of it, in a line.
func importReal(t *testing.T, path, kind string) (catalogue.Choice, string) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	name := filepath.ToSlash(path)
	choice, table, report, err := catalogue.Import(catalogue.Request{Table: kind, Inputs: []importers.Input{{Name: name, Reader: f}}})
	what := cmp.Or(strings.TrimSpace(choice.Name+" "+choice.Table), "unknown")
	if err != nil {
		rowErr, ok := errors.AsType[*datasets.RowError](err)
		if !ok || rowErr.Fix == "" || !strings.Contains(err.Error(), name) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: got %v, want a RowError of one line that says what to do", path, err)
			return choice, what
		}
		return choice, what + ", refused: " + rowErr.Value
	}
	if err := roundTrip(table, t.TempDir()); err != nil {
		t.Errorf("%s: %v", path, err)
	}
	if err := streamed(path, name, kind, table, t.TempDir()); err != nil {
		t.Errorf("%s: %v", path, err)
	}
	parts := []string{fmt.Sprintf("%s, %d in, %d kept", what, report.Read, report.Kept)}
	for _, d := range report.Dropped {
		parts = append(parts, fmt.Sprintf("%d dropped: %s", d.Rows, d.Reason))
	}
	return choice, strings.Join(parts, ", ")
}

// streamed imports a file again, into a file, which must be the one that is made
// of the table.
func streamed(path, name, kind string, table datasets.Table, dir string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	whole, parts := filepath.Join(dir, "whole"), filepath.Join(dir, "parts")
	o, err := catalogue.ImportTo(catalogue.Request{Table: kind, Inputs: []importers.Input{{Name: name, Reader: f}}}, parts)
	if err != nil {
		return err
	}
	if err := table.Write(whole); err != nil {
		return err
	}
	want, err := os.ReadFile(whole)
	if err != nil {
		return err
	}
	got, err := os.ReadFile(parts)
	if err != nil {
		return err
	}
	if o.Hash != table.Hash() || o.Kept != table.Len() || !bytes.Equal(got, want) {
		return fmt.Errorf("the import into a file made another: %d rows, want %d", o.Kept, table.Len())
	}
	return nil
}

func roundTrip(table datasets.Table, dir string) error {
	path := filepath.Join(dir, "t.parquet")
	if err := table.Write(path); err != nil {
		return err
	}
	back, err := datasets.ReadTable(path)
	if err != nil {
		return err
	}
	if back.Kind() != table.Kind() || back.Hash() != table.Hash() {
		return fmt.Errorf("a %s table of %d rows became a %s table of %d", table.Kind(), table.Len(), back.Kind(), back.Len())
	}
	return nil
}
