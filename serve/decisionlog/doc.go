// Package decisionlog keeps decisions in files without holding up who makes them.
//
// A decision is handed over and forgotten; one goroutine writes. What it cannot
// keep up with, and what cannot be written, is counted and dropped. Files are
// written under temporary names by what Config.Create returns, renamed when they
// are complete, and the oldest are removed beyond a bound: a log never fills a
// disk. Their form is not this package's business.
package decisionlog
