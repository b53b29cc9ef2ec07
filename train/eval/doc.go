// Package eval compares policies: it plays episodes of a scenario with each of
// them on the same seeds and reports what they reached, with 95 % bootstrap
// intervals over the seeds and paired differences.
package eval
