package tune

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yardmaster/yardmaster/agent/neural"
	"github.com/yardmaster/yardmaster/env/sim"
	"github.com/yardmaster/yardmaster/models"
	"github.com/yardmaster/yardmaster/train/eval"
)

func testConfig() Config {
	return Config{Setting: testSetting(), Episodes: 4, Lessons: 12}
}

// TestRun trains on a workload whose published configuration is far from the
// best: what is searched and what is learned have to beat it on other episodes.
func TestRun(t *testing.T) {
	cfg := testConfig()
	cfg.Engine.Configurations = tiresias(600, 3600, 9000, 36_000, 1e6)
	cfg.Clone.Rate, cfg.Clone.Epochs = 1e-2, 60 // few lessons: large steps
	cfg.Dir = t.TempDir()
	cfg.TestSeeds = []uint64{11, 12, 13, 14}
	cfg.Provenance = map[string]string{"data": "poisson"}
	r, err := Run(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	base := r.Table.Row(RowDefault)
	for _, name := range []string{RowSearched, RowLearned} {
		row := r.Table.Row(name)
		if row.MeanJCT.Mean >= base.MeanJCT.Mean {
			t.Errorf("%s: mean JCT is %v s, want below the default's %v s", name, row.MeanJCT.Mean, base.MeanJCT.Mean)
		}
	}
	if r.Regret.Learned >= r.Regret.Default || r.Regret.Searched >= r.Regret.Default {
		t.Errorf("regrets are %+v, want those of searched and learned below the default's", r.Regret)
	}
	checkSaved(t, cfg.Dir, r)
}

func checkSaved(t *testing.T, dir string, r *Result) {
	t.Helper()
	m, err := models.Load(filepath.Join(dir, ModelDir))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(r.Model.Params.Flat, m.Params.Flat); diff != "" {
		t.Errorf("saved weights differ:\n%s", diff)
	}
	if m.Manifest.Kind != models.Configuration || m.Manifest.Provenance["data"] != "poisson" {
		t.Errorf("manifest is %+v", m.Manifest)
	}
	if _, err := neural.NewConfigurer(m, r.Configurations); err != nil {
		t.Error(err)
	}
	raw, err := os.ReadFile(filepath.Join(dir, ResultFile))
	if err != nil {
		t.Fatal(err)
	}
	var saved resultFile
	if err := json.Unmarshal(raw, &saved); err != nil {
		t.Fatal(err)
	}
	if saved.Lessons != r.Lessons || saved.Regret != r.Regret || len(saved.Table.Rows) != 3 {
		t.Errorf("saved result is %+v", saved)
	}
	lessons, err := os.ReadFile(filepath.Join(dir, LessonsFile))
	if err != nil {
		t.Fatal(err)
	}
	if got := bytes.Count(lessons, []byte{'\n'}); got != r.Lessons {
		t.Errorf("%d lines of lessons, want %d", got, r.Lessons)
	}
}

// TestRunDoesNotDependOnProcessors compares weights and figures.
func TestRunDoesNotDependOnProcessors(t *testing.T) {
	run := func(processors int) *Result {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(processors))
		cfg := testConfig()
		cfg.TestSeeds = []uint64{11, 12}
		r, err := Run(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		for i := range r.Table.Rows {
			r.Table.Rows[i].DecisionMicros = 0 // wall time
		}
		return r
	}
	one, four := run(1), run(4)
	if diff := cmp.Diff(one.Model.Params.Flat, four.Model.Params.Flat); diff != "" {
		t.Errorf("weights with 1 and 4 processors:\n%s", diff)
	}
	if diff := cmp.Diff([]any{one.Table, one.Regret, one.Clone, one.Lessons}, []any{four.Table, four.Regret, four.Clone, four.Lessons}); diff != "" {
		t.Errorf("results with 1 and 4 processors:\n%s", diff)
	}
}

func TestRunOnAnIdleCluster(t *testing.T) {
	cfg := testConfig()
	cfg.Train.Cluster = gpus(1000) // nothing ever waits
	_, err := Run(t.Context(), cfg)
	if err == nil || !strings.Contains(err.Error(), "configurations do not matter") {
		t.Errorf("got %v, want an error that says so", err)
	}
}

func TestRunCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cfg := testConfig()
	cfg.Dir = filepath.Join(t.TempDir(), "run")
	cfg.Progress = func(done, total int) { cancel() }
	if _, err := Run(ctx, cfg); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
	if _, err := os.Stat(cfg.Dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a cancelled run left %s behind", cfg.Dir)
	}
}

func TestConfigErrors(t *testing.T) {
	_, err := Run(t.Context(), Config{
		Setting: Setting{Window: -1}, Episodes: 1, Lessons: -1, Stride: -1, Explore: 2, Temperature: -1, TestSeeds: []uint64{1},
	})
	for _, field := range []string{"Train", "Window", "Episodes", "Lessons", "Stride", "Explore", "Temperature", "Test"} {
		if err == nil || !strings.Contains(err.Error(), field) {
			t.Errorf("got %v, want an error that names %s", err, field)
		}
	}
}

func TestContestantsWithoutAModel(t *testing.T) {
	rows, err := Contestants(testSetting(), nil)
	if err != nil {
		t.Fatal(err)
	}
	table, err := eval.Compare(t.Context(), eval.Config{Contestants: rows, Seeds: []uint64{1}})
	if err != nil {
		t.Fatal(err)
	}
	if len(table.Rows) != 2 || table.Row(RowDefault) == nil || table.Row(RowSearched) == nil {
		t.Errorf("rows are %+v, want default and searched", table.Rows)
	}
	if got := table.Row(RowDefault).Summaries[0].Jobs; got != 60 {
		t.Errorf("%d jobs finished, want all 60", got)
	}
	if _, err := Contestants(Setting{Train: sim.Config{}}, nil); err == nil {
		t.Error("no workload: got no error")
	}
}
