package main

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A zero would silently stand for the default: --estimate-sigma 0 played with estimates
// that were wrong by e^0.8, --load 0 at load 1.
func TestZerosAreNotTakenForDefaults(t *testing.T) {
	trace := filepath.Join(t.TempDir(), "jobs.parquet")
	mustRun(t, "trace", "synth", "--jobs", "60", "--out", trace)
	scenario := []string{"load", "jobs", "gpus-per-node", "round=0s", "estimate-sigma", "seed", "share"}
	for command, flags := range map[string][]string{
		"bench --policies fifo": scenario,
		"tune":                  scenario,
		"trace synth --out x":   {"inter-arrival=0s"},
		"simulate":              {"gpus-per-node", "round=0s", "estimate-sigma", "spread-slowdown", "checkpoint=0s"},
	} {
		line := strings.Fields(command)
		if line[0] != "trace" {
			line = append(line, "--trace", trace)
		}
		for _, flag := range flags {
			name, value, given := strings.Cut(flag, "=")
			if !given {
				value = "0"
			}
			line = append(line, "--"+name, value)
		}
		wantAll(t, line, flags)
	}
	wantAll(t, []string{"bench", "--trace", trace, "--source", "gavel"}, []string{"source"})
	wantAll(t, []string{"simulate", "--trace", trace, "--width", "-1"}, []string{"width"})
}

// wantAll runs a command line that has to be refused with a line for each of the flags.
func wantAll(t *testing.T, line, flags []string) {
	t.Helper()
	code, out, stderr := command(t, line...)
	if code != exitUsage || out != "" || strings.Count(stderr, "\n") != len(flags) {
		t.Errorf("%v: exit code %d, stdout %q, stderr %q; want 2 and %d lines", line, code, out, stderr, len(flags))
	}
	for _, flag := range flags {
		name, _, _ := strings.Cut(flag, "=")
		if !strings.Contains(stderr, "--"+name) {
			t.Errorf("%v: nothing is said of --%s:\n%s", line, name, stderr)
		}
	}
}

// Jobs that fit on no node are no part of the figures, and the user is told.
func TestJobsThatCannotRunAreTold(t *testing.T) {
	trace := filepath.Join(t.TempDir(), "jobs.parquet")
	mustRun(t, "trace", "synth", "--jobs", "200", "--out", trace)
	small := []string{"--trace", trace, "--cluster", "V100=1"}
	for _, line := range [][]string{
		append([]string{"simulate", "--count", "5"}, small...),
		append([]string{"bench", "--policies", "fifo", "--seeds", "1", "--jobs", "5"}, small...),
	} {
		code, _, stderr := command(t, line...)
		if want := "fits no GPU type of the cluster"; code != 0 || !strings.Contains(stderr, trace+": 200 rows read, ") || !strings.Contains(stderr, want) {
			t.Errorf("%v: exit code %d, stderr %q, want %q", line, code, stderr, want)
		}
	}
	if _, _, stderr := command(t, "simulate", "--count", "5", "--trace", trace); stderr != "" {
		t.Errorf("all jobs fit, stderr %q", stderr)
	}
}

// Heuristics do not look at the context, and a simulation may take hours.
func TestSimulateCanBeStopped(t *testing.T) {
	trace := filepath.Join(t.TempDir(), "jobs.parquet")
	mustRun(t, "trace", "synth", "--jobs", "200", "--out", trace)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	done := make(chan int, 1)
	go func() {
		// Nodes that fail every second let nothing ever finish.
		done <- run(ctx, []string{"simulate", "--trace", trace, "--mtbf", "1s", "--policy", "fifo"}, new(strings.Builder), new(strings.Builder))
	}()
	select {
	case code := <-done:
		if code == 0 {
			t.Error("exit code 0 of a simulation that was stopped")
		}
	case <-time.After(time.Minute):
		t.Fatal("still simulating a minute after it was stopped")
	}
}
