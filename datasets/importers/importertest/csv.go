package importertest

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/google/go-cmp/cmp"

	"github.com/yardmaster/yardmaster/datasets"
	"github.com/yardmaster/yardmaster/datasets/importers"
	"github.com/yardmaster/yardmaster/datasets/importers/jobscsv"
)

// RoundTripCSV turns a table into its CSV form, imports that and reports unless
// it is recognised and becomes an equal table.
func RoundTripCSV(j *datasets.Jobs) error {
	var text bytes.Buffer
	if err := datasets.EncodeCSV(&text, j); err != nil {
		return err
	}
	head, _, err := importers.Head(bytes.NewReader(text.Bytes()))
	if err != nil || !jobscsv.Sniff(head) {
		return fmt.Errorf("its CSV form is not recognised (%w): %.80q", err, head)
	}
	back, report, err := jobscsv.Import(&text, j.Name)
	if err != nil {
		return fmt.Errorf("its CSV form cannot be imported: %w", err)
	}
	if !back.Meta.Epoch.Equal(j.Meta.Epoch) {
		return fmt.Errorf("epoch %v became %v on the way through CSV", j.Meta.Epoch, back.Meta.Epoch)
	}
	want := *j
	want.Meta.Epoch = back.Meta.Epoch // compared above: the zone's name is not kept
	if diff := cmp.Diff(&want, back); diff != "" {
		return fmt.Errorf("the table changed on the way through CSV (-written +read):\n%s", diff)
	}
	if report.Read != len(j.Rows) || report.Kept != len(j.Rows) {
		return errors.New("the import of its CSV form does not account for the rows")
	}
	return nil
}
