package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// The table in env/perf/README.md is what perf verify prints. Other processors
// than amd64 may round otherwise.
func TestPerfReadmeIsWhatVerifyPrints(t *testing.T) {
	root := filepath.Join("..", "..")
	shared := os.Getenv("SHARED")
	if shared == "" {
		shared = filepath.Join("..", "shared")
	}
	if !filepath.IsAbs(shared) {
		shared = filepath.Join(root, shared)
	}
	data := filepath.Join(shared, "data")
	if _, err := os.Stat(filepath.Join(data, "tables")); errors.Is(err, fs.ErrNotExist) {
		t.Skipf("nothing measured to compare with: %v (set SHARED to its folder)", err)
	}
	readme, err := os.ReadFile(filepath.Join(root, "env", "perf", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	got := strings.TrimSpace(mustRun(t, "perf", "verify", "--data", data))
	if !strings.Contains(string(readme), got) && runtime.GOARCH == "amd64" {
		t.Errorf("env/perf/README.md does not hold what perf verify prints:\n%s", got)
	}
}
