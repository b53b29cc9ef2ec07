package gavel

import (
	"iter"
	"maps"
	"slices"
)

// sortedKeys returns the keys of m in order, so that the first error of a file
// is always the same one.
func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

func mapKeys[K comparable, V any](m map[K]V) iter.Seq[K] { return maps.Keys(m) }
