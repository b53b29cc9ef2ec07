package catalogue_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/yardmaster/yardmaster/datasets/importers/catalogue"
	"github.com/yardmaster/yardmaster/datasets/importers/importertest"
)

// fixture is an input of one format, written by hand: a folder of
// testdata/fixtures called FORMAT.TABLE, with what follows for a second one.
type fixture struct {
	name   string
	format catalogue.Format
	files  []importertest.File
}

// request asks for the import of files in the fixture's format.
func (f *fixture) request(files []importertest.File) catalogue.Request {
	return catalogue.Request{From: f.format.Name, Table: f.format.Table, Inputs: importertest.Inputs(files...)}
}

// with returns the fixture's files, one of them with other text.
func (f *fixture) with(i int, text []byte) []importertest.File {
	files := slices.Clone(f.files)
	files[i].Text = text
	return files
}

func fixtures(t testing.TB) []fixture {
	t.Helper()
	root := filepath.Join("testdata", "fixtures")
	folders, err := os.ReadDir(root)
	if err != nil {
		t.Fatal(err)
	}
	var all []fixture
	for _, folder := range folders {
		parts := strings.SplitN(folder.Name(), ".", 3)
		at := slices.IndexFunc(catalogue.Formats(), func(f catalogue.Format) bool { return f.Name == parts[0] && f.Table == parts[1] })
		if at < 0 {
			t.Fatalf("the fixture %s is of no format", folder.Name())
		}
		f := fixture{name: folder.Name(), format: catalogue.Formats()[at]}
		err := filepath.WalkDir(filepath.Join(root, folder.Name()), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			text, err := os.ReadFile(path)
			name, errName := filepath.Rel(filepath.Join(root, folder.Name()), path)
			f.files = append(f.files, importertest.File{Name: filepath.ToSlash(name), Text: text})
			if err != nil {
				return err
			}
			return errName
		})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, f)
	}
	return all
}

func TestEveryFormatHasAFixtureThatImports(t *testing.T) {
	all := fixtures(t)
	for _, format := range catalogue.Formats() {
		if !slices.ContainsFunc(all, func(f fixture) bool { return f.format.Name == format.Name && f.format.Table == format.Table }) {
			t.Errorf("%s %s has no folder in testdata/fixtures", format.Name, format.Table)
		}
	}
	for i := range all {
		f := &all[i]
		r := f.request(f.files)
		r.From = catalogue.Auto
		choice, table, report, err := catalogue.Import(r)
		if err != nil {
			t.Errorf("%s: %v", f.name, err)
			continue
		}
		if choice.Name != f.format.Name || table.Kind() != f.format.Table || table.Len() < 1 || report.Kept != table.Len() {
			t.Errorf("%s became a %s table of %d rows as %s: %s", f.name, table.Kind(), table.Len(), choice.Name, report.Report)
		}
	}
}
