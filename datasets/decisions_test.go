package datasets

import (
	"bytes"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/yardmaster/yardmaster/env"
)

// decidedState returns a state with every field in use.
func decidedState() *env.State {
	strategies := []env.Strategy{
		{Type: 0, GPUs: 2, Nodes: 1, Throughput: 1.0 / 3, Restart: 30 * time.Second, Plan: env.Plan{Data: 2, Tensor: 1, Pipeline: 1, MicroBatch: 8}},
		{Type: 1, GPUs: 1, Nodes: 1, Share: 2, Throughput: 0.1, Plan: env.Plan{Data: 1, Tensor: 1, Pipeline: 1, MicroBatch: 8}},
	}
	return &env.State{
		Cluster: env.Cluster{Types: []env.GPUType{{Name: "A", MemoryGiB: 16}, {Name: "größer", MemoryGiB: 80}}, Nodes: []env.Node{{GPUs: 4}, {Type: 1, GPUs: 2}, {Type: 1, GPUs: 2}}},
		Now:     time.Hour, Round: 10, RoundLen: 6 * time.Minute, Knowledge: env.Estimate,
		Recent: env.Window{Length: time.Hour, Arrivals: 3, ArrivedGPUs: 5, Completed: 1, CompletedService: 0.1, CompletedSquare: math.Pi, Queue: 1, Running: 2, BusyGPUs: 3},
		Jobs: []env.JobState{
			{ID: 1, Model: "m", Batch: 8, GPUs: 2, Tenant: "t", Weight: 1, Deadline: 9 * time.Hour, Done: 7, Remaining: 1e-9, Service: 5, Ran: time.Minute, Restarts: 1, Current: 0, Strategies: strategies},
			{ID: 2, Model: "m", Batch: 8, GPUs: 2, Weight: 2, Submit: time.Minute, Remaining: 1e17, Current: env.Idle, Waiting: 59 * time.Minute, Strategies: strategies},
		},
		Down: []int{2}, Quotas: []env.Quota{{Tenant: "t", Type: env.AnyType, GPUs: 3}},
	}
}

func decisions() *DecisionTable {
	text, err := EncodeState(decidedState())
	if err != nil {
		panic(err)
	}
	return &DecisionTable{
		Name: "t.parquet",
		Meta: Meta{SchemaVersion: DecisionsVersion, Source: "made up", Epoch: time.Unix(0, 0).UTC()},
		Rows: []DecisionRow{
			{
				Decided: 3 * time.Hour, Cluster: "c1", Epoch: 7, StateSeq: 1, Jobs: 2, State: text, Mode: "shadow", Source: "lp", Reason: "mode", Model: "demo@1.0.0+0123456789ab",
				Published: "[0,-1]", Learned: "[-1,1]", Program: "[0,-1]", PublishedValue: 2, LearnedValue: 0.5, ProgramValue: 2, Regret: 0.75, Latency: 12345,
			},
			{Decided: 3 * time.Hour, Cluster: "c1", Epoch: 7, StateSeq: 1<<53 - 1, Jobs: 2, State: text, Mode: "shadow", Source: "hold", Failure: "late", Published: "[-1,-1]", Regret: -1},
		},
	}
}

// A state comes back from its text as it was, bit for bit.
func TestDecisionStateIsWhole(t *testing.T) {
	s := decidedState()
	if err := s.Validate(); err != nil {
		t.Fatal(err)
	}
	table := decisions()
	got, err := table.Rows[0].DecodeState()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(s, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	a, err := DecodeAllocation(table.Rows[0].Learned, got)
	if diff := cmp.Diff(env.Allocation{env.Idle, 1}, a); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if got := EncodeAllocation(a); got != table.Rows[0].Learned {
		t.Errorf("got %s", got)
	}
	if a, err := DecodeAllocation("", got); a != nil || err != nil {
		t.Errorf("a null: got %v, %v", a, err)
	}
}

func TestDecisionsValidate(t *testing.T) {
	for name, test := range map[string]struct {
		edit func(*DecisionRow)
		want RowError
	}{
		"no cluster":          {func(r *DecisionRow) { r.Cluster = "" }, RowError{Column: "cluster", Value: "null"}},
		"a long failure":      {func(r *DecisionRow) { r.Failure = strings.Repeat("x", MaxName+1) }, RowError{Column: "failure", Fix: "256 bytes"}},
		"before the epoch":    {func(r *DecisionRow) { r.Decided = -1 }, RowError{Column: "decided_ns", Value: "-1"}},
		"no epoch":            {func(r *DecisionRow) { r.Epoch = 0 }, RowError{Column: "epoch", Value: "0"}},
		"a huge sequence":     {func(r *DecisionRow) { r.StateSeq = 1 << 53 }, RowError{Column: "state_seq"}},
		"negative latency":    {func(r *DecisionRow) { r.Latency = -1 }, RowError{Column: "latency_ns", Value: "-1"}},
		"regret beyond":       {func(r *DecisionRow) { r.Regret = 1.5 }, RowError{Column: "regret", Value: "1.5"}},
		"regret not a number": {func(r *DecisionRow) { r.Regret = math.NaN() }, RowError{Column: "regret", Value: "NaN"}},
		"infinite value":      {func(r *DecisionRow) { r.ProgramValue = math.Inf(1) }, RowError{Column: "program_value", Value: "+Inf"}},
		"no state":            {func(r *DecisionRow) { r.State = "" }, RowError{Column: "state"}},
		"a state with more":   {func(r *DecisionRow) { r.State += "{}" }, RowError{Column: "state"}},
		"an unknown field":    {func(r *DecisionRow) { r.State = `{"gpus":1}` }, RowError{Column: "state", Value: "unknown"}},
		"an invalid state":    {func(r *DecisionRow) { r.State = strings.Replace(r.State, `"round":10`, `"round":-1`, 1) }, RowError{Column: "state"}},
		"another number":      {func(r *DecisionRow) { r.Jobs = 3 }, RowError{Column: "jobs", Value: "3", Fix: "has 2"}},
		"nothing published":   {func(r *DecisionRow) { r.Published = "" }, RowError{Column: "published", Value: "null"}},
		"too few picks":       {func(r *DecisionRow) { r.Published = "[0]" }, RowError{Column: "published"}},
		"an impossible pick":  {func(r *DecisionRow) { r.Learned = "[0,7]" }, RowError{Column: "learned"}},
		"over capacity": {func(r *DecisionRow) {
			r.Program = "[0,0]"
			r.State = strings.Replace(r.State, `{"type":0,"gpus":4}`, `{"type":0,"gpus":2}`, 1)
		}, RowError{Column: "program"}},
		"an allocation no list": {func(r *DecisionRow) { r.Program = `{"0":1}` }, RowError{Column: "program"}},
	} {
		table := decisions()
		test.edit(&table.Rows[0])
		test.want.Row = 1
		t.Run(name, func(t *testing.T) { checkRowError(t, table.Validate(), "t.parquet", test.want) })
	}
}

func TestDecisionHashDependsOnEveryField(t *testing.T) {
	want := decisions().Hash()
	for i, edit := range []func(*DecisionRow){
		func(r *DecisionRow) { r.Decided++ }, func(r *DecisionRow) { r.Cluster += "x" }, func(r *DecisionRow) { r.Epoch++ }, func(r *DecisionRow) { r.StateSeq++ },
		func(r *DecisionRow) { r.Jobs++ }, func(r *DecisionRow) { r.State += " " }, func(r *DecisionRow) { r.Mode += "x" }, func(r *DecisionRow) { r.Source += "x" },
		func(r *DecisionRow) { r.Reason += "x" }, func(r *DecisionRow) { r.Model += "x" }, func(r *DecisionRow) { r.Failure += "x" }, func(r *DecisionRow) { r.Published += " " },
		func(r *DecisionRow) { r.Learned += " " }, func(r *DecisionRow) { r.Program += " " }, func(r *DecisionRow) { r.PublishedValue++ },
		func(r *DecisionRow) { r.LearnedValue++ }, func(r *DecisionRow) { r.ProgramValue++ }, func(r *DecisionRow) { r.Regret /= 2 }, func(r *DecisionRow) { r.Latency++ },
	} {
		table := decisions()
		edit(&table.Rows[0])
		if table.Hash() == want {
			t.Errorf("edit %d did not change the hash", i)
		}
	}
}

// A writer holds a row group, and its file is there when it is closed, whole, or
// not at all.
func TestDecisionWriter(t *testing.T) {
	table := decisions()
	path := filepath.Join(t.TempDir(), "log.parquet")
	w, err := CreateDecisions(path, table.Meta)
	if err != nil {
		t.Fatal(err)
	}
	const n = 300
	for i := range n {
		r := table.Rows[i%2]
		r.StateSeq = int64(i + 1)
		if err := w.Append(&r); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(path); err == nil {
			t.Fatal("the file is there before it is closed")
		}
	}
	if w.Len() != n || w.Size() < n*int64(len(table.Rows[0].State)) {
		t.Errorf("got %d rows of %d bytes", w.Len(), w.Size())
	}
	bad := table.Rows[0]
	bad.Regret = 2
	checkRowError(t, w.Append(&bad), path, RowError{Row: n + 1, Column: "regret"})
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	got, err := ReadDecisions(path)
	if err != nil || got.Len() != n || got.Rows[n-1].StateSeq != n {
		t.Fatalf("got %v, %v", got, err)
	}
	for name, end := range map[string]func(*DecisionWriter) error{"abort": (*DecisionWriter).Abort, "close without a row": (*DecisionWriter).Close} {
		other := filepath.Join(t.TempDir(), "log.parquet")
		w, err := CreateDecisions(other, table.Meta)
		if err != nil {
			t.Fatal(err)
		}
		if err := end(w); (err != nil) != (name != "abort") {
			t.Errorf("%s: got %v", name, err)
		}
		if left, _ := os.ReadDir(filepath.Dir(other)); len(left) != 0 {
			t.Errorf("%s: left %v", name, left)
		}
	}
}

// Texts of many sizes, also such as do not fit a page, come back as they were.
func TestDecisionsLongTexts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dir, err := os.MkdirTemp("", "decisions")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir)
		path := filepath.Join(dir, "t.parquet")
		w, err := CreateDecisions(path, Meta{Source: "made up"})
		if err != nil {
			t.Fatal(err)
		}
		var want []DecisionRow
		for range rapid.IntRange(1, 4).Draw(t, "rows") {
			r := decisions().Rows[rapid.IntRange(0, 1).Draw(t, "which")]
			s := decidedState()
			s.Jobs[0].Model = strings.Repeat("x", rapid.SampledFrom([]int{0, 1, 100, 5000, 5000, 300_000}).Draw(t, "length"))
			if r.State, err = EncodeState(s); err != nil {
				t.Fatal(err)
			}
			want = append(want, r)
			if err := w.Append(&r); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		got, err := ReadDecisions(path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got.Rows); diff != "" {
			t.Fatalf("(-want +got):\n%s", diff)
		}
	})
}

// A small file that comes to more text than a reader takes is refused before the
// text is made.
func TestDecisionsRefuseBombs(t *testing.T) {
	big := decisions().Rows[0]
	big.State = strings.Repeat(" ", 1<<20)
	path := filepath.Join(t.TempDir(), "t.parquet")
	w, err := CreateDecisions(path, Meta{Source: "made up"})
	if err != nil {
		t.Fatal(err)
	}
	for range 9 {
		if err := w.Append(&big); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if len(file) > 20<<10 {
		t.Errorf("got a file of %d bytes, want a small one", len(file))
	}
	small := decisionLayout
	small.texts = 8 << 20
	_, _, err = small.read(bytes.NewReader(file), int64(len(file)), "t.parquet")
	if rowErr, ok := errors.AsType[*RowError](err); !ok || !strings.Contains(rowErr.Value, "more text") || rowErr.Column != "state" {
		t.Errorf("got %v, want the column and that it is too much", err)
	}
	small.texts = 10 << 20
	if _, rows, err := small.read(bytes.NewReader(file), int64(len(file)), "t.parquet"); err != nil || len(rows) != 9 {
		t.Errorf("got %d rows, %v, want 9", len(rows), err)
	}
}

func TestDecisionsWriteIsDeterministic(t *testing.T) {
	if !bytes.Equal(fileOf(t, decisions()), fileOf(t, decisions())) {
		t.Error("the same table gave two files")
	}
}

func TestDescribeDecisions(t *testing.T) {
	table := decisions()
	more := table.Rows[0]
	more.Cluster, more.Learned, more.Regret, more.Latency, more.Decided = "c2", more.Published, 0.25, 54321, more.Decided+time.Hour
	table.Rows = append(table.Rows, more)
	got := table.Describe()
	want := DecisionSummary{
		Name: "t.parquet", Source: "made up", Rows: 3, Clusters: 2, First: time.Unix(3*3600, 0).UTC(), Last: time.Unix(4*3600, 0).UTC(), Jobs: [3]int32{2, 2, 2},
		ByMode: map[string]int{"shadow": 3}, BySource: map[string]int{"lp": 2, "hold": 1}, ByReason: map[string]int{"mode": 2},
		ByModel: map[string]int{"demo@1.0.0+0123456789ab": 2}, Failures: map[string]int{"late": 1}, Compared: 2, Agreed: 1,
		Regret: [4]float64{0.5, 0.75, 0.25, 0.75}, Latency: [3]time.Duration{54321, 12345, 54321}, Hash: table.Hash(),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, part := range []string{"3 decisions of 2 clusters", "mode 2", "2, in 1 of them what was published", "mean 0.5000"} {
		if !strings.Contains(got.String(), part) {
			t.Errorf("no %q in:\n%s", part, got)
		}
	}
}
