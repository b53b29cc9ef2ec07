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
		shared = filepath.Join("..", "..", "..", shared) // tests run in their package's folder
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
