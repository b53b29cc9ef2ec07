package decisionlog_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/serve/decisionlog"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// text is a file of one line per decision.
type text struct {
	path string
	b    strings.Builder
	gate chan struct{} // nil, or each append takes one
}

func (f *text) Append(r *decisionlog.Row) error {
	if f.gate != nil {
		<-f.gate
	}
	if r.Cluster == "panic" {
		panic("append")
	}
	fmt.Fprintf(&f.b, "%s %d\n", r.Cluster, r.StateSeq)
	return nil
}
func (f *text) Size() int64  { return int64(f.b.Len()) }
func (f *text) Close() error { return os.WriteFile(f.path, []byte(f.b.String()), 0o600) }
func (f *text) Abort() error { return nil }

func create(path string) (decisionlog.File, error) { return &text{path: path}, nil }

func row(cluster string, seq uint64) *decisionlog.Row {
	return &decisionlog.Row{Cluster: cluster, StateSeq: seq, State: &env.State{Jobs: []env.JobState{{Strategies: make([]env.Strategy, 9)}}}}
}

func open(t *testing.T, cfg decisionlog.Config) *decisionlog.Log {
	t.Helper()
	if cfg.Create == nil {
		cfg.Create = create
	}
	l, err := decisionlog.Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Close)
	return l
}

// contents returns the lines of all files in the order of their names.
func contents(t *testing.T, dir string) (lines []string, files int) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "decisions-*.parquet"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, strings.Fields(strings.ReplaceAll(string(raw), " ", ":"))...)
	}
	return lines, len(paths)
}

// Everything taken is written once and in order, in files that rotate by size and
// of which the newest are kept.
func TestRotation(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "log")
	l := open(t, decisionlog.Config{Dir: dir, MaxFileBytes: 50, MaxFiles: 3, Queue: 200})
	for i := range 100 {
		if !l.Add(row("c", uint64(i+1))) {
			t.Fatalf("decision %d was not taken", i)
		}
	}
	l.Close()
	l.Close()
	lines, files := contents(t, dir)
	if files != 3 || lines[len(lines)-1] != "c:100" {
		t.Errorf("got %d files that end in %v, want the 3 newest", files, lines)
	}
	for i, line := range lines {
		if want := fmt.Sprintf("c:%d", 101-len(lines)+i); line != want {
			t.Errorf("line %d is %s, want %s", i, line, want)
		}
	}
	if s := l.Stats(); s.Written != 100 || s.Dropped != 0 || s.Failed != 0 || s.Files < 8 {
		t.Errorf("got %+v", s)
	}
	if l.Add(row("late", 1)) {
		t.Error("taken after the end")
	}
}

func TestRotationByAge(t *testing.T) {
	dir := t.TempDir()
	l := open(t, decisionlog.Config{Dir: dir, MaxFileAge: 20 * time.Millisecond})
	l.Add(row("c", 1))
	for end := time.Now().Add(10 * time.Second); l.Stats().Files == 0; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the file was never completed")
		}
	}
	if lines, _ := contents(t, dir); len(lines) != 1 {
		t.Errorf("got %v", lines)
	}
}

// A log that is slower than decisions are made drops them; it never holds them up.
func TestFullQueue(t *testing.T) {
	dir, gate := t.TempDir(), make(chan struct{})
	l := open(t, decisionlog.Config{Dir: dir, Queue: 4, Create: func(path string) (decisionlog.File, error) { return &text{path: path, gate: gate}, nil }})
	taken := 0
	for i := range 50 {
		if l.Add(row("c", uint64(i+1))) {
			taken++
		}
	}
	if taken < 4 || taken > 5 { // one may be in the file's hands
		t.Errorf("got %d taken, want 4 or 5", taken)
	}
	close(gate)
	l.Close()
	if s := l.Stats(); s.Written != int64(taken) || s.Dropped != int64(50-taken) {
		t.Errorf("got %+v with %d taken", s, taken)
	}
}

// Large states count for what they are.
func TestQueueIsBoundedInMemory(t *testing.T) {
	gate := make(chan struct{})
	l := open(t, decisionlog.Config{Dir: t.TempDir(), MaxQueued: 25, Create: func(path string) (decisionlog.File, error) { return &text{path: path, gate: gate}, nil }})
	taken := 0
	for i := range 10 {
		if l.Add(row("c", uint64(i+1))) { // ten each
			taken++
		}
	}
	if taken != 2 {
		t.Errorf("got %d taken, want 2", taken)
	}
	close(gate)
}

// A folder that cannot be written loses decisions and nothing else.
func TestFailures(t *testing.T) {
	blocked := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(blocked, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, cfg := range map[string]decisionlog.Config{
		"no folder":     {Dir: filepath.Join(blocked, "log")},
		"create fails":  {Dir: t.TempDir(), Create: func(string) (decisionlog.File, error) { return nil, errors.New("full") }},
		"create panics": {Dir: t.TempDir(), Create: func(string) (decisionlog.File, error) { panic("create") }},
		"close fails":   {Dir: t.TempDir(), Create: func(string) (decisionlog.File, error) { return create(filepath.Join(blocked, "x")) }},
	} {
		l := open(t, cfg)
		for i := range 5 {
			l.Add(row("c", uint64(i+1)))
		}
		l.Close()
		if s := l.Stats(); s.Failed != 5 || s.Written != 0 || s.Dropped != 0 {
			t.Errorf("%s: got %+v, want 5 failed", name, s)
		}
	}
	l := open(t, decisionlog.Config{Dir: t.TempDir()})
	l.Add(row("c", 1))
	l.Add(row("panic", 2))
	l.Close()
	if s := l.Stats(); s.Failed != 2 {
		t.Errorf("append panics: got %+v, want the whole file lost", s)
	}
}

func TestSweep(t *testing.T) {
	dir := t.TempDir()
	for name, age := range map[string]time.Duration{".decisions-1.parquet123": time.Hour, ".decisions-2.parquet123": 0, ".other": time.Hour} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, time.Time{}, time.Now().Add(-age)); err != nil {
			t.Fatal(err)
		}
	}
	open(t, decisionlog.Config{Dir: dir}).Close()
	if _, err := os.Stat(filepath.Join(dir, ".decisions-1.parquet123")); !os.IsNotExist(err) {
		t.Errorf("what a killed process left is still there: %v", err)
	}
	for _, name := range []string{".decisions-2.parquet123", ".other"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Errorf("%s is gone: %v", name, err)
		}
	}
}

func TestConcurrentUse(t *testing.T) {
	dir := t.TempDir()
	l := open(t, decisionlog.Config{Dir: dir, Queue: 1000, MaxFileBytes: 200, MaxFiles: 1000})
	var wg sync.WaitGroup
	for c := range 4 {
		wg.Go(func() {
			for i := range 100 {
				l.Add(row(fmt.Sprint("c", c), uint64(i+1)))
			}
		})
	}
	wg.Wait()
	l.Close()
	lines, _ := contents(t, dir)
	if s := l.Stats(); len(lines) != 400 || s.Written != 400 {
		t.Errorf("got %d lines and %+v", len(lines), s)
	}
	var none *decisionlog.Log
	if none.Add(row("c", 1)) || none.Stats() != (decisionlog.Stats{}) {
		t.Error("a nil log took a decision")
	}
	none.Close()
}

func TestConfig(t *testing.T) {
	if _, err := decisionlog.Open(decisionlog.Config{MaxFiles: -1}); err == nil || !strings.Contains(err.Error(), "Create") || !strings.Contains(err.Error(), "MaxFiles -1") {
		t.Errorf("got %v, want all problems", err)
	}
	if _, err := decisionlog.Open(decisionlog.Config{Create: create}); err == nil || !strings.Contains(err.Error(), "Dir") {
		t.Errorf("got %v", err)
	}
}
