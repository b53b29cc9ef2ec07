// Package spelling finds the name that was meant by one that is not known: what
// error messages suggest.
package spelling

import "strings"

// Nearest returns the name that takes the fewest edits to become text, letters of
// both cases being equal, the first among equals; "" where none is near: within a
// third of its letters, or two edits of which text has twice as many.
func Nearest(text string, names []string) string {
	best, least := "", max(len(text)/3, min(2, len(text)/2))+1
	for _, name := range names {
		if d := Distance(strings.ToLower(text), strings.ToLower(name)); d < least {
			best, least = name, d
		}
	}
	return best
}

// Distance is the number of bytes to insert, delete or replace that make b of a
// (Levenshtein 1966).
func Distance(a, b string) int {
	row := make([]int, len(b)+1) // of the first i bytes of a, to each prefix of b
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replaced := diagonal
			if a[i] != b[j] {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
