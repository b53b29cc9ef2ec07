package importertest

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yardmaster/yardmaster/datasets"
)

func TestCounts(t *testing.T) {
	got := Counts([]datasets.Count{{Reason: "a", Rows: 2}, {Reason: "b", Rows: 1}})
	if diff := cmp.Diff(map[string]int{"a": 2, "b": 1}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestRefusalTellsErrorsApart(t *testing.T) {
	good := datasets.RowError{Row: 2, Column: "gpus", Value: "-1", Fix: "want 1"}
	if err := Refusal(&good, datasets.RowError{Row: 2, Column: "gpus", Fix: "want"}); err != nil {
		t.Error(err)
	}
	want := datasets.RowError{Row: 2, Column: "gpus"}
	for name, err := range map[string]error{
		"none": nil, "another kind": errors.New("x"), "no fix": &datasets.RowError{Row: 2, Column: "gpus"},
		"another row": &datasets.RowError{Row: 3, Column: "gpus", Fix: "x"}, "another column": &datasets.RowError{Row: 2, Column: "batch", Fix: "x"},
		"two lines": &datasets.RowError{Row: 2, Column: "gpus", Value: "a\nb", Fix: "x"},
	} {
		if Refusal(err, want) == nil {
			t.Errorf("%s: taken for the refusal", name)
		}
	}
	if err := Refused(sound(), "no table at all", datasets.RowError{Row: 9}); err == nil {
		t.Error("an error about another row was taken for the refusal")
	}
}
