package gavel

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/yardmaster/yardmaster/datasets"
	"github.com/yardmaster/yardmaster/datasets/importers"
	"github.com/yardmaster/yardmaster/datasets/importers/importertest"
)

// models are drawn with batch sizes that need not be the paper's.
var models = rapid.SampledFrom([]string{"LM", "ResNet-18", "ResNet-50", "Transformer", "A3C", "CycleGAN", "Recommendation"})

// line draws a job in 10 columns, or in the 7 of the first version.
func line(t *rapid.T, columns int) string {
	model := models.Draw(t, "model")
	if model != "A3C" && model != "CycleGAN" {
		model += fmt.Sprintf(" (batch size %d)", rapid.IntRange(1, 1<<14).Draw(t, "batch"))
	}
	steps, arrival, gpus := rapid.IntRange(1, 1<<40).Draw(t, "steps"), rapid.Float64Range(0, 1e8).Draw(t, "arrival"), rapid.IntRange(1, 64).Draw(t, "gpus")
	if columns == 7 {
		return fmt.Sprintf("%s\tpython3 main.py\t-n\t1\t%d\t%f\t%d\n", model, steps, arrival, gpus)
	}
	weight, slo := rapid.Float64Range(0.1, 10).Draw(t, "weight"), rapid.SampledFrom([]string{"-1.000000", "1.2", "2"}).Draw(t, "slo")
	return fmt.Sprintf("%s\tpython3 main.py\tdir\t--steps\t1\t%d\t%d\t%g\t%s\t%f\n", model, steps, gpus, weight, slo, arrival)
}

// roundTrips imports text and takes the table through Parquet and CSV and back.
func roundTrips(t *rapid.T, f importers.Format, text, dir string) {
	j, report, err := f.Import(strings.NewReader(text), "t")
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	if report.Kept != len(j.Rows) || j.Meta.RowsIn != int64(report.Read) {
		t.Fatalf("report %+v does not account for %d rows", report, len(j.Rows))
	}
	if err := importertest.RoundTrip(j, dir); err != nil {
		t.Fatal(err)
	}
}

// Whatever is imported can be written and read back, as Parquet and as CSV.
func TestAnyTraceRoundTrips(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		columns := rapid.SampledFrom([]int{7, 10}).Draw(t, "columns")
		var b strings.Builder
		for range rapid.IntRange(1, 20).Draw(t, "jobs") {
			b.WriteString(line(t, columns))
		}
		roundTrips(t, Format(), b.String(), dir)
	})
}

func TestAnyStreamRoundTrips(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		var b strings.Builder
		b.WriteString("job_id,unit_arrival,model,batch_size,gpus,duration_s_v100,total_steps\n")
		arrival := 0.0
		for i := range rapid.IntRange(1, 20).Draw(t, "jobs") {
			model, batch := models.Draw(t, "model"), ""
			if model != "A3C" && model != "CycleGAN" {
				batch = fmt.Sprint(rapid.IntRange(1, datasets.MaxBatch).Draw(t, "batch"))
			}
			fmt.Fprintf(&b, "%d,%v,%s,%s,%d,%v,%v\n", i, arrival, model, batch, rapid.IntRange(1, 64).Draw(t, "gpus"),
				rapid.Float64Range(1, 1e7).Draw(t, "duration"), rapid.Float64Range(1, 1e12).Draw(t, "steps"))
			arrival += rapid.Float64Range(0, 10).Draw(t, "gap")
		}
		roundTrips(t, StreamFormat(), b.String(), dir)
	})
}
