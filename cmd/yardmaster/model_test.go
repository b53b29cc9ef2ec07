package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/yardmaster/yardmaster/agent/lp"
	"github.com/yardmaster/yardmaster/datasets"
	"github.com/yardmaster/yardmaster/models"
	"github.com/yardmaster/yardmaster/serve"
	"github.com/yardmaster/yardmaster/serve/admin"
	"github.com/yardmaster/yardmaster/serve/broker"
	"github.com/yardmaster/yardmaster/serve/decisionlog"
	"github.com/yardmaster/yardmaster/serve/servetest"
	"github.com/yardmaster/yardmaster/serve/wire"
	"github.com/yardmaster/yardmaster/train/scenario"
)

// runWithModel returns a run directory with a model.
func runWithModel(t *testing.T, seed uint64) string {
	t.Helper()
	run := t.TempDir()
	if err := models.Save(filepath.Join(run, "model"), servetest.Model(t, seed)); err != nil {
		t.Fatal(err)
	}
	return run
}

func contains(t *testing.T, what, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%s: no %q in:\n%s", what, part, text)
		}
	}
}

// The life of models in a folder.
func TestModelFolder(t *testing.T) {
	root := filepath.Join(t.TempDir(), "models")
	contains(t, "add", mustRun(t, "model", "add", runWithModel(t, 1), "--name", "demo", "--models", root), "demo/1.0.0: added")
	mustRun(t, "model", "add", filepath.Join(runWithModel(t, 2), "model"), "--name", "demo", "--models", root)
	mustRun(t, "model", "add", runWithModel(t, 3), "--name", "demo", "--version", "2.0.0", "--models", root)
	contains(t, "list", mustRun(t, "model", "list", "--models", root), "demo/1.0.0", "demo/1.1.0", "demo/2.0.0", "job-strategy")
	var list []map[string]any
	if err := json.Unmarshal([]byte(mustRun(t, "model", "list", "--models", root, "--json", "demo")), &list); err != nil || len(list) != 3 || list[0]["model"] != "demo/1.0.0" {
		t.Errorf("got %v, %v", list, err)
	}
	contains(t, "show", mustRun(t, "model", "show", "demo", "--models", root), `"model": "demo/2.0.0"`, `"golden_cases": 4`, "weights_sha256")
	contains(t, "verify", mustRun(t, "model", "verify", "--models", root), "demo/2.0.0: fit to decide")
	weights := filepath.Join(root, "demo", "1.1.0", "weights.safetensors")
	if err := os.Truncate(weights, 4096); err != nil {
		t.Fatal(err)
	}
	code, out, stderr := command(t, "model", "verify", "--models", root)
	contains(t, "verify damage", out+stderr, "demo/1.1.0: models: weights.safetensors", "SHA-256", "1 of 3 versions are not fit", "demo/1.0.0: fit to decide")
	if code != exitFailure {
		t.Errorf("got exit code %d, want %d", code, exitFailure)
	}
	if code, _, _ := command(t, "model", "verify", "demo/1.0.0", "--models", root); code != 0 {
		t.Errorf("one version that is whole: got exit code %d", code)
	}
	contains(t, "remove", mustRun(t, "model", "remove", "demo/1.1.0", "--models", root), "removed")
	for name, test := range map[string]struct {
		args []string
		code int
		says string
	}{
		"again":       {[]string{"model", "remove", "demo/1.1.0", "--models", root}, exitFailure, "no such model"},
		"no store":    {[]string{"model", "list"}, exitUsage, "--models"},
		"two stores":  {[]string{"model", "list", "--models", root, "--bucket", "B"}, exitUsage, "both"},
		"no folder":   {[]string{"model", "list", "--models", root + "x"}, exitFailure, "no such file"},
		"no name":     {[]string{"model", "add", runWithModel(t, 4), "--models", root}, exitUsage, "--name"},
		"bad version": {[]string{"model", "add", runWithModel(t, 4), "--models", root, "--name", "demo", "--version", "1.0"}, exitUsage, "1.2.3"},
		"taken":       {[]string{"model", "add", runWithModel(t, 4), "--models", root, "--name", "demo", "--version", "2.0.0"}, exitFailure, "exists"},
		"no model":    {[]string{"model", "add", t.TempDir(), "--models", root, "--name", "demo"}, exitFailure, "holds no model"},
		"bad target":  {[]string{"model", "show", "demo/newest", "--models", root}, exitUsage, "latest"},
		"path":        {[]string{"model", "show", "../demo", "--models", root}, exitUsage, "name"},
		"bad mode":    {[]string{"model", "mode", "lpp"}, exitUsage, "shadow"},
		"no mode":     {[]string{"model", "mode"}, exitUsage, "policy, lp"},
		"bad unset":   {[]string{"model", "mode", "--unset"}, exitUsage, "--cluster"},
		"bad kind":    {[]string{"model", "promote", "--kind", "x"}, exitUsage, "kind"},
	} {
		code, _, stderr := command(t, test.args...)
		if code != test.code || !strings.Contains(stderr, test.says) {
			t.Errorf("%s: got exit code %d and %q, want %d and %q", name, code, stderr, test.code, test.says)
		}
	}
}

// Operators steer a running service.
func TestModelService(t *testing.T) {
	root := filepath.Join(t.TempDir(), "models")
	for seed := range uint64(2) {
		mustRun(t, "model", "add", runWithModel(t, seed+1), "--name", "demo", "--models", root)
	}
	s, err := serve.New(serve.Config{Guard: servetest.Guard(t), Models: serve.Models{Root: root}, Broker: broker.Config{StoreDir: t.TempDir()}})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	ask := func(args ...string) string {
		t.Helper()
		return mustRun(t, append(append([]string{"model"}, args...), "--nats", s.URL())...)
	}
	contains(t, "load", ask("load", "demo/1.0.0", "--promote"), "demo@1.0.0+", "in charge")
	contains(t, "load beside", ask("load", "demo"), "demo@1.1.0+", "candidate")
	contains(t, "mode", ask("mode", "canary", "--share", "0.5"), "canary (0.5 of the clusters)")
	contains(t, "mode of one", ask("mode", "shadow", "--cluster", "c1"), "cluster c1 is shadow")
	contains(t, "status", ask("status"), "folder "+root, "demo@1.0.0+", "demo@1.1.0+", "mode: canary", "mode of c1: shadow", "loads: 2 ok", "available: demo/1.1.0")
	contains(t, "promote", ask("promote"), "demo@1.1.0+", "in charge")
	contains(t, "list", mustRun(t, "model", "list", "--models", root), "active", "what a rollback returns to")
	if code, _, stderr := command(t, "model", "remove", "demo/1.0.0", "--models", root); code != exitFailure || !strings.Contains(stderr, "in use") {
		t.Errorf("removed what a rollback returns to: got %d, %s", code, stderr)
	}
	contains(t, "rollback", ask("rollback"), "demo@1.0.0+", "again")
	var replies []admin.Reply
	if err := json.Unmarshal([]byte(ask("mode", "--unset", "--cluster", "c1", "--json")), &replies); err != nil || len(replies) != 1 || len(replies[0].Modes.Clusters) != 0 {
		t.Errorf("got %+v, %v", replies, err)
	}
	for _, args := range [][]string{{"promote"}, {"discard"}, {"load", "other"}, {"rollback", "--kind", "configuration"}} {
		if code, _, stderr := command(t, append(append([]string{"model"}, args...), "--nats", s.URL())...); code != exitFailure || !strings.Contains(stderr, "no ") {
			t.Errorf("%v: got exit code %d, %s", args, code, stderr)
		}
	}
	if code, _, stderr := command(t, "model", "status", "--nats", s.URL(), "--prefix", "elsewhere"); code != exitFailure || !strings.Contains(stderr, "no service answered") {
		t.Errorf("nobody there: got %d, %s", code, stderr)
	}
	// A bucket instead of a folder.
	bucket := []string{"--bucket", "MODELS", "--nats", s.URL()}
	contains(t, "push", mustRun(t, append([]string{"model", "add", runWithModel(t, 5), "--name", "far"}, bucket...)...), "far/1.0.0: added")
	contains(t, "list bucket", mustRun(t, append([]string{"model", "list"}, bucket...)...), "far/1.0.0", "job-strategy")
	contains(t, "verify bucket", mustRun(t, append([]string{"model", "verify"}, bucket...)...), "far/1.0.0: fit to decide")
	contains(t, "remove from bucket", mustRun(t, append([]string{"model", "remove", "far/1.0.0"}, bucket...)...), "removed")
}

// Who stops a command while services are asked is not told that nothing was done: they
// have the request.
func TestStoppedWhileServicesAreAsked(t *testing.T) {
	dir := t.TempDir()
	trace := filepath.Join(dir, "jobs.parquet")
	mustRun(t, "trace", "synth", "--jobs", "200", "--out", trace)
	setting, err := json.Marshal(scenario.Scenario{Trace: trace, Jobs: 15})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, scenarioFile), setting, 0o600); err != nil {
		t.Fatal(err)
	}
	b, err := broker.Start(broker.Config{StoreDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	nc, err := nats.Connect(b.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	subjects, err := wire.NewSubjects("")
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		subject string
		args    []string
		says    string
	}{
		"mode":   {subjects.Admin() + "." + admin.Mode, []string{"model", "mode", "lp"}, "may be done all the same"},
		"load":   {subjects.Admin() + "." + admin.Load, []string{"model", "load", "demo"}, "may be done all the same"},
		"status": {subjects.Admin() + "." + admin.Models, []string{"model", "status"}, "nothing was written"},
		"replay": {subjects.State("replay"), []string{"replay", "--run", dir, "--timeout", "1h"}, "stopped after 0 rounds"},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		sub, err := nc.Subscribe(test.subject, func(*nats.Msg) { cancel() }) // a service that takes its time
		if err != nil {
			t.Fatal(err)
		}
		if err := nc.Flush(); err != nil {
			t.Fatal(err)
		}
		var stdout, stderr bytes.Buffer
		code := run(ctx, append(test.args, "--nats", b.URL()), &stdout, &stderr)
		if code != exitStopped || !strings.Contains(stderr.String(), test.says) || stdout.Len() > 0 {
			t.Errorf("%s: got exit code %d, stderr %q, stdout %q; want %d and %q", name, code, &stderr, &stdout, exitStopped, test.says)
		}
		cancel()
		if err := sub.Unsubscribe(); err != nil {
			t.Fatal(err)
		}
	}
}

// What the service logs is a table that other commands read, and policies decide on
// its states as they did.
func TestDecisionLogIsATable(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log.parquet")
	f, err := createDecisionFile(path)
	if err != nil {
		t.Fatal(err)
	}
	program, err := lp.New("lp:throughput", lp.Config{})
	if err != nil {
		t.Fatal(err)
	}
	sim := servetest.Sim(t, 1, 60)
	for seq := range uint64(30) {
		s := sim.State()
		a, err := program.Decide(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Append(&decisionlog.Row{
			Decided: time.Unix(1_800_000_000, 5), Cluster: "c1", Epoch: 1, StateSeq: seq + 1, State: s, Mode: "shadow", Source: "lp", Reason: "mode", Model: "demo@1",
			Published: a, Program: a, Failure: "late", Latency: time.Millisecond, PublishedValue: 1, ProgramValue: 1,
		}); err != nil {
			t.Fatal(err)
		}
		if _, err := sim.Advance(a); err != nil {
			t.Fatal(err)
		}
	}
	if f.Size() < 1000 {
		t.Errorf("got size %d", f.Size())
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	table, err := datasets.ReadDecisions(path)
	if err != nil || table.Len() != 30 || table.Rows[0].Decided != 1_800_000_000*time.Second+5 {
		t.Fatalf("got %+v, %v", table, err)
	}
	contains(t, "validate", mustRun(t, "trace", "validate", path), "a decisions table of 30 rows")
	contains(t, "head", mustRun(t, "trace", "head", path, "-n", "2"), "c1", "shadow", "2027-01-15", "2 of 30 decisions")
	contains(t, "head --json", mustRun(t, "trace", "head", path, "--json"), `"published": "[`)
	contains(t, "describe", mustRun(t, "trace", "describe", path), "30 decisions of 1 clusters", "late 30")
	var result struct {
		States int
		Rows   []struct {
			Policy string
			Regret float64
			Agreed int
		}
	}
	out := mustRun(t, "bench", "--decisions", path, "--policies", "lp:throughput,fifo", "--json")
	if err := json.Unmarshal([]byte(out), &result); err != nil {
		t.Fatal(err)
	}
	if result.States != 30 || len(result.Rows) != 3 || result.Rows[0].Policy != "recorded/published" || result.Rows[1].Regret != 0 || result.Rows[1].Agreed != 30 {
		t.Errorf("got %+v, want the program to decide as it did", result)
	}
	contains(t, "bench", mustRun(t, "bench", "--decisions", path, "--policies", "fifo"), "recorded/published", "fifo", "30 recorded states")
	run, cloned := runWithModel(t, 1), filepath.Join(t.TempDir(), "cloned")
	contains(t, "clone", mustRun(t, "model", "clone", "--decisions", path, "--init", run, "--out", cloned, "--epochs", "2"), "learned from", "like program")
	contains(t, "the clone", mustRun(t, "model", "add", cloned, "--name", "cloned", "--models", filepath.Join(t.TempDir(), "models")), "cloned/1.0.0")
	if code, _, stderr := command(t, "model", "clone", "--decisions", path, "--init", run, "--out", cloned); code != exitUsage || !strings.Contains(stderr, "already") {
		t.Errorf("clone over a model: got %d, %s", code, stderr)
	}
	for flag, value := range map[string]string{
		"trace": "x.parquet", "cluster": "V100=8", "catalogue": "x.yaml", "jobs": "20", "knowledge": "oracle", "seed": "2", "mtbf": "24h", "quotas": "x.parquet",
		"table": "x.csv", "source": "gavel", "strategies": "all", "seeds": "3", "by": "status",
	} {
		code, _, stderr := command(t, "bench", "--decisions", path, "--policies", "fifo", "--"+flag, value)
		if code != exitUsage || !strings.Contains(stderr, "without --"+flag+"\n") {
			t.Errorf("--%s: got %d, %s", flag, code, stderr)
		}
	}
	if code, _, stderr := command(t, "bench", "--decisions", path, "--seeds", "3", "--trace", "x.parquet"); code != exitUsage || !strings.Contains(stderr, "without --trace, --seeds") {
		t.Errorf("got %d, %s", code, stderr)
	}
}
