//go:build unix

package datasets

import (
	"path/filepath"
	"syscall"
	"testing"
)

// A pipe is refused, not waited for: opening one blocks until somebody writes to it.
func TestReadDoesNotWaitForAPipe(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "jobs.parquet")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Read(pipe)
	checkRowError(t, err, pipe, RowError{Value: "not a regular file", Fix: "name a Parquet file"})
	_, err = KindOf(pipe)
	checkRowError(t, err, pipe, RowError{Value: "not a regular file", Fix: "name a Parquet file"})
}
