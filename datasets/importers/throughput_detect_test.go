package importers_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yardmaster/yardmaster/datasets/importers"
	"github.com/yardmaster/yardmaster/datasets/importers/elasticflow"
	"github.com/yardmaster/yardmaster/datasets/importers/importertest"
	"github.com/yardmaster/yardmaster/datasets/importers/rubick"
	"github.com/yardmaster/yardmaster/datasets/importers/sailor"
	"github.com/yardmaster/yardmaster/datasets/importers/throughputs"
	"github.com/yardmaster/yardmaster/datasets/importers/titan"
)

func throughputFormats() []importers.ThroughputFormat {
	return []importers.ThroughputFormat{
		elasticflow.ThroughputFormat(), rubick.ThroughputFormat(), sailor.Format(), throughputs.Format(), titan.Format(),
	}
}

// Every file of throughputs in the real data is recognised by its importer, no
// file by two, and none of them is taken for a trace of jobs.
func TestRealThroughputsAreRecognisedOnce(t *testing.T) {
	licence := importertest.OpenShared(t, "titan", "LICENSE") // skips where there is no real data
	root := filepath.Dir(filepath.Dir(licence.Name()))
	files := make(map[string]int) // by format
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		head, _, err := importers.Head(bytes.NewReader(text))
		if err != nil {
			return err
		}
		var names []string
		for _, f := range throughputFormats() {
			if f.Sniff(head) {
				names = append(names, f.Name)
				files[f.Name]++
			}
		}
		if len(names) > 1 {
			t.Errorf("%s is taken for %v", path, names)
		}
		if jobs := detected(head); len(names) > 0 && len(jobs) > 0 {
			t.Errorf("%s is taken for throughputs (%v) and for jobs (%v)", path, names, jobs)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]int{"elasticflow": 13, "rubick": 9, "sailor": 1, "throughputs": 1, "titan": 34}
	if diff := cmp.Diff(want, files); diff != "" {
		t.Errorf("files by format (-want +got):\n%s", diff)
	}
}

// Names are what a user types, and unique.
func TestThroughputFormatsHaveNames(t *testing.T) {
	var names []string
	for _, f := range throughputFormats() {
		names = append(names, f.Name)
		if f.Name != strings.ToLower(f.Name) || strings.ContainsAny(f.Name, " ,") || f.About == "" {
			t.Errorf("the format %q, about %q: want one word in lower case and what it is", f.Name, f.About)
		}
	}
	if !slices.IsSorted(names) || len(slices.Compact(names)) != len(throughputFormats()) {
		t.Errorf("got the names %v, want each once and in order", names)
	}
}
