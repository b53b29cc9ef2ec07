package datasets_test

import (
	"path/filepath"
	"testing"

	"github.com/yardmaster/yardmaster/datasets"
	"github.com/yardmaster/yardmaster/datasets/synth"
)

const benchmarkRows = 200_000

func benchmarkTable(b *testing.B) *datasets.Jobs {
	b.Helper()
	j, err := synth.Generate(synth.Config{Jobs: benchmarkRows})
	if err != nil {
		b.Fatal(err)
	}
	return j
}

func rowsPerSecond(b *testing.B) {
	b.ReportMetric(float64(b.N)*benchmarkRows/b.Elapsed().Seconds(), "rows/s")
}

func BenchmarkRead(b *testing.B) {
	path := filepath.Join(b.TempDir(), "jobs.parquet")
	if err := datasets.Write(path, benchmarkTable(b)); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := datasets.Read(path); err != nil {
			b.Fatal(err)
		}
	}
	rowsPerSecond(b)
}

func BenchmarkWrite(b *testing.B) {
	path := filepath.Join(b.TempDir(), "jobs.parquet")
	j := benchmarkTable(b)
	b.ReportAllocs()
	for b.Loop() {
		if err := datasets.Write(path, j); err != nil {
			b.Fatal(err)
		}
	}
	rowsPerSecond(b)
}

func BenchmarkHash(b *testing.B) {
	j := benchmarkTable(b)
	for b.Loop() {
		j.Hash()
	}
	rowsPerSecond(b)
}
