package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/yardmaster/yardmaster/train/eval"
)

// TestTheWholeJob goes from a generated trace to decisions on NATS, in small, and
// back: the replayed schedule has to be the one of the policy in this process.
func TestTheWholeJob(t *testing.T) {
	dir := t.TempDir()
	trace, out := filepath.Join(dir, "jobs.parquet"), filepath.Join(dir, "run")
	mustRun(t, "trace", "synth", "--jobs", "500", "--max-duration", "4h", "--out", trace)
	printed := mustRun(t, "train", "--trace", trace, "--out", out, "--cluster", "V100=4,K80=4", "--jobs", "15", "--validations", "2",
		"--bc-passes", "1", "--es-generations", "1", "--ppo-iterations", "1", "--set", "tune.episodes=3", "--set", "tune.lessons=20")
	for _, want := range []string{"500 kept", "allocation: mean JCT on 2 validation episodes", "configuration: cloned"} {
		if !strings.Contains(printed, want) {
			t.Errorf("train printed no %q:\n%s", want, printed)
		}
	}
	t.Chdir(t.TempDir()) // a run is used from anywhere
	moved := filepath.Join(t.TempDir(), "moved")
	if err := os.Rename(dir, moved); err != nil {
		t.Fatal(err)
	}
	out = filepath.Join(moved, "run")
	checkBench(t, out)
	checkReplay(t, out, serveInBackground(t, out))
}

// checkBench compares policies and reads the result back.
func checkBench(t *testing.T, out string) {
	t.Helper()
	args := []string{"bench", "--run", out, "--seeds", "3", "--policies", "fifo,lp:throughput,learned,tiresias/default,tiresias/learned", "--json"}
	var first, second eval.Table
	if err := json.Unmarshal([]byte(mustRun(t, args...)), &first); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(mustRun(t, args...)), &second); err != nil {
		t.Fatal(err)
	}
	if len(first.Rows) != 5 || first.Reference != learned {
		t.Fatalf("got %d rows compared with %q, want 5 with learned", len(first.Rows), first.Reference)
	}
	for i := range first.Rows {
		a, b := first.Rows[i].MeanJCT, second.Rows[i].MeanJCT
		if a != b || a.Mean <= 0 {
			t.Errorf("%s: mean JCT %+v, then %+v: want the same figures above 0", first.Rows[i].Policy, a, b)
		}
	}
}

// serveInBackground starts the service on a free port, ends it with the test, and
// returns the URL of its broker.
func serveInBackground(t *testing.T, out string) string {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	urlFile := filepath.Join(t.TempDir(), "url")
	var stderr log
	done := make(chan int, 1)
	go func() {
		done <- run(ctx, []string{"serve", "--run", out, "--store", filepath.Join(t.TempDir(), "store"), "--port", "0", "--url-file", urlFile, "--deadline", "10s"}, &stderr, &stderr)
	}()
	t.Cleanup(func() {
		cancel()
		if code := <-done; code != 0 {
			t.Errorf("serve: exit code %d: %s", code, stderr.String())
		}
	})
	for range 600 {
		if url, err := os.ReadFile(urlFile); err == nil && len(url) > 0 {
			return string(url)
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatal("the service did not take states within 30 s")
	return ""
}

// log collects what a service logs from several goroutines.
type log struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// checkReplay runs a cluster against the service, in both ways.
func checkReplay(t *testing.T, out, url string) {
	t.Helper()
	var result replayResult
	printed := mustRun(t, "replay", "--run", out, "--nats", url, "--timeout", "20s", "--verify", "--json")
	if err := json.Unmarshal([]byte(printed), &result); err != nil {
		t.Fatal(err)
	}
	r := result.Report
	if result.Same == nil || *result.Same != 15 || r.Held != 0 || r.AppliedTwice != 0 {
		t.Errorf("replay: %s", printed)
	}
	if r.Allocations != r.Rounds || r.BySource["policy"] != r.Rounds || r.Configurations == 0 {
		t.Errorf("received %d allocations, %d of them learned, and %d configurations in %d rounds", r.Allocations, r.BySource["policy"], r.Configurations, r.Rounds)
	}
	printed = mustRun(t, "replay", "--run", out, "--nats", url, "--timeout", "20s", "--cluster-id", "tiresias", "--apply", "configurations")
	if !strings.Contains(printed, "15 jobs") || !strings.Contains(printed, "last configuration: tiresias(") {
		t.Errorf("replay of configurations printed:\n%s", printed)
	}
}
