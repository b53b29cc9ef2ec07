//go:build unix

package cputime

import (
	"syscall"
	"time"
)

// Spent returns the time that this process has computed for, on whatever
// processors, in the kernel and outside.
func Spent() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic("cputime: " + err.Error()) // with these arguments it cannot fail
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
