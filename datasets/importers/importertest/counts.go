package importertest

import (
	"errors"
	"fmt"
	"strings"

	"github.com/yardmaster/yardmaster/datasets"
	"github.com/yardmaster/yardmaster/datasets/importers"
)

// Counts returns the rows of each reason, whose order a test need not know.
func Counts(counts []datasets.Count) map[string]int {
	m := make(map[string]int)
	for _, c := range counts {
		m[c.Reason] = c.Rows
	}
	return m
}

// Refused reports unless the format refuses text with an error about the row
// and column of want. Its Value and Fix need only be parts of what it says.
func Refused(f importers.Format, text string, want datasets.RowError) error {
	_, _, err := f.Import(strings.NewReader(text), name)
	return Refusal(err, want)
}

// Refusal reports unless err is about the row and column of want. Its Value and
// Fix need only be parts of what err says.
func Refusal(err error, want datasets.RowError) error {
	got, ok := errors.AsType[*datasets.RowError](err)
	if !ok || got.Fix == "" || strings.Contains(err.Error(), "\n") {
		return fmt.Errorf("got the error %v, want a RowError of one line that says what to do", err)
	}
	if got.Row != want.Row || got.Column != want.Column || !strings.Contains(got.Value, want.Value) || !strings.Contains(got.Fix, want.Fix) {
		return fmt.Errorf("got the error %+v, want %+v", *got, want)
	}
	return nil
}
