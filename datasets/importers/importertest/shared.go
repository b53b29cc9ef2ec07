package importertest

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// OpenShared opens a file of the folder of real public data, which is not part
// of the repository. It skips the test, saying why, where the folder is absent.
// SHARED names it, relative to the root of the repository as in the Makefile.
func OpenShared(t *testing.T, elements ...string) *os.File {
	t.Helper()
	shared := os.Getenv("SHARED")
	if shared == "" {
		shared = filepath.Join("..", "shared")
	}
	if !filepath.IsAbs(shared) {
		shared = filepath.Join(root(t), shared)
	}
	path := filepath.Join(append([]string{shared, "data"}, elements...)...)
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		t.Skipf("the real data is not here: %v (set SHARED to its folder)", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

// root returns the root of the repository, seen from a package's folder, in
// which its tests run.
func root(t *testing.T) string {
	t.Helper()
	for up := "."; len(up) < 64; up = filepath.Join("..", up) {
		if _, err := os.Stat(filepath.Join(up, "go.mod")); err == nil {
			return up
		}
	}
	t.Fatal("there is no go.mod in any folder above")
	return ""
}
