// Package cputime tells how long this process has computed for: benchmarks that
// compare by it do not count what else the machine does.
package cputime
