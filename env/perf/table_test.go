package perf

import (
	"compress/gzip"
	"encoding/csv"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"testing"
)

// tablePath returns where the table of published throughputs is, which is not part
// of the repository. SHARED names its folder, relative to the root of the
// repository as in the Makefile.
func tablePath() string {
	shared := os.Getenv("SHARED")
	if shared == "" {
		shared = filepath.Join("..", "shared")
	}
	if !filepath.IsAbs(shared) {
		shared = filepath.Join("..", "..", shared)
	}
	return filepath.Join(shared, "data", "tables", "throughput.csv.gz")
}

// tableRow is a row of the table; numbers it lacks are 0.
type tableRow struct {
	source, model, gpu, placement, strategy string
	gpus, nodes, batch                      int
	consolidated                            string
	stepTime, steps                         float64
}

// readTable returns all rows of the table, or skips the test, saying why,
// where it is absent.
func readTable(t testing.TB) []tableRow {
	f, err := os.Open(tablePath())
	if errors.Is(err, fs.ErrNotExist) {
		t.Skipf("nothing measured to compare with: %v (set SHARED to its folder)", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := parseTable(z)
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

func parseTable(r io.Reader) ([]tableRow, error) {
	records, err := csv.NewReader(r).ReadAll()
	if err != nil {
		return nil, err
	}
	column := make(map[string]int)
	for i, name := range records[0] {
		column[name] = i
	}
	var rows []tableRow
	for _, record := range records[1:] {
		text := func(name string) string { return record[column[name]] }
		number := func(name string) float64 {
			x, _ := strconv.ParseFloat(text(name), 64) // empty is 0
			return x
		}
		rows = append(rows, tableRow{
			source: text("source"), model: text("model"), gpu: text("gpu_type"),
			placement: text("placement"), strategy: text("strategy"),
			gpus: int(number("gpus")), nodes: int(number("nodes")), batch: int(number("batch_local")),
			consolidated: text("consolidated"), stepTime: number("step_time_s"), steps: number("steps_per_s"),
		})
	}
	return rows, nil
}

// gavelGPUs maps the names of the table to those of the catalogue.
var gavelGPUs = map[string]string{"k80-12": "K80", "p100-16": "P100", "v100-16": "V100"}

// gavelRows returns Gavel's isolated measurements from one source. Rows that
// are not consolidated have every GPU in a node of its own.
func gavelRows(rows []tableRow, source string) []Measurement {
	var ms []Measurement
	for _, r := range rows {
		gpu, ok := gavelGPUs[r.gpu]
		if r.source != source || !ok {
			continue
		}
		m := Measurement{Model: r.model, Batch: r.batch, GPUType: gpu, GPUs: r.gpus, Nodes: 1, StepsPerSecond: r.steps, Source: source}
		if r.consolidated == "0" {
			m.Nodes = r.gpus
		}
		if m.Batch == 0 { // A3C and CycleGAN have one size each
			m.Batch = map[string]int{"A3C": 4, "CycleGAN": 1}[r.model]
		}
		ms = append(ms, m)
	}
	return ms
}
