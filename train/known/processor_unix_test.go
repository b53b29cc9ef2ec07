//go:build unix

package known

import (
	"syscall"
	"testing"
	"time"
)

// processor returns the time that this process has computed for, on whatever
// processors: what others do on the machine does not count.
func processor(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
