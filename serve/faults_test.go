package serve_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The README's table of faults has a row for each of the 32, with tests that are
// there; and every such test is in the table.
func TestFaultsAreTested(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	name := regexp.MustCompile(`TestFault(\d\d)\w+`)
	table := map[string]bool{}
	rows := 0
	for line := range strings.Lines(string(readme)) {
		var n int
		if _, err := fmt.Sscanf(line, "| %d |", &n); err != nil || !strings.Contains(line, "TestFault") {
			continue
		}
		rows++
		if n != rows {
			t.Errorf("row %d is number %d", rows, n)
		}
		for _, test := range name.FindAllStringSubmatch(line, -1) {
			table[test[0]] = true
			if test[1] != fmt.Sprintf("%02d", n) {
				t.Errorf("row %d names %s", n, test[0])
			}
		}
	}
	if rows != 32 {
		t.Errorf("got %d rows, want 32", rows)
	}
	written := map[string]bool{}
	for _, root := range []string{".", "../cmd"} {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, "_test.go") {
				return err
			}
			code, err := os.ReadFile(path)
			for _, f := range regexp.MustCompile(`func (TestFault\d\d\w+)\(`).FindAllStringSubmatch(string(code), -1) {
				written[f[1]] = true
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for test := range table {
		if !written[test] {
			t.Errorf("%s is in the table and nowhere else", test)
		}
	}
	for test := range written {
		if !table[test] {
			t.Errorf("%s is not in the table", test)
		}
	}
}
