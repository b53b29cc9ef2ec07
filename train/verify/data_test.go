package verify

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// root is the folder of the module, relative to this package.
const root = "../.."

// gavelData returns Gavel's files.
func gavelData(tb testing.TB) fs.FS {
	tb.Helper()
	return sharedData(tb, "gavel")
}

// sharedData returns a folder of real data, which is not part of the repository.
// It is below data in the folder that SHARED names, relative to the module if it
// is not absolute; by default that is ../shared.
func sharedData(tb testing.TB, folder string) fs.FS {
	tb.Helper()
	shared := os.Getenv("SHARED")
	if shared == "" {
		shared = filepath.Join("..", "shared")
	}
	if !filepath.IsAbs(shared) {
		shared = filepath.Join(root, shared)
	}
	dir := filepath.Join(shared, "data", folder)
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		tb.Skipf("the real data is not here: %v (set SHARED to its folder)", err)
	}
	return os.DirFS(dir)
}
