package verify

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/yardmaster/yardmaster/train/verify/pollux"
)

// Tiresias on Pollux' workload 1 takes the published times, every job to the
// second and so the mean of 1450.9375 s.
func TestPolluxRun(t *testing.T) {
	rows, err := Pollux(t.Context(), sharedData(t, "pollux"))
	if err != nil {
		t.Fatal(err)
	}
	if err := Misses(rows); err != nil {
		t.Error(err)
	}
	var table strings.Builder
	if err := Write(&table, rows); err != nil {
		t.Fatal(err)
	}
	t.Log("\n" + table.String())
	if len(rows) != 1 || len(rows[0].Figures) != 2 || rows[0].Figures[0].Theirs != 1450.9375 {
		t.Errorf("got %+v, want one row with the published mean of 1450.9375 s and the worst job", rows)
	}
}

func TestPolluxMissesAreFound(t *testing.T) {
	jobs := []pollux.Job{{Name: "a"}, {Name: "b"}}
	published := map[string]int{"a": 100, "b": 200}
	f, err := polluxFigures(jobs, []int{100, 201}, published)
	if err != nil {
		t.Fatal(err)
	}
	if f[0].Pass() || f[1].Pass() || !strings.Contains(f[1].Name, "JCT of b") {
		t.Errorf("a job is late by a second: got %+v, want mean and job b to miss", f)
	}
	if f, err = polluxFigures(jobs, []int{100, 200}, published); err != nil || !f[0].Pass() || !f[1].Pass() {
		t.Errorf("all agree: got %+v, %v", f, err)
	}
	if _, err := polluxFigures(jobs[:1], []int{100}, published); err == nil {
		t.Error("a job of the published ones is missing: got no error")
	}
	jobs[1].Name = "c"
	if _, err := polluxFigures(jobs, []int{100, 200}, published); err == nil {
		t.Error("a job that was not published: got no error")
	}
}

func TestPolluxSaysWhyThereIsNoComparison(t *testing.T) {
	if _, err := Pollux(t.Context(), fstest.MapFS{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no workload: got %v, want fs.ErrNotExist", err)
	}
	data := fstest.MapFS{polluxWorkload: {Data: []byte("name,time,application,num_replicas,batch_size\na,1,ncf,64,32768\n")}}
	rows, err := Pollux(t.Context(), data)
	if err != nil || !errors.Is(rows[0].Miss(), pollux.ErrNotMeasured) {
		t.Errorf("a placement that was not measured: got %+v, %v, want a row with pollux.ErrNotMeasured", rows, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Pollux(ctx, data); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: got %v", err)
	}
}
