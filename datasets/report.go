package datasets

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Count is a number of rows and what they have in common.
type Count struct {
	Reason string `json:"reason"`
	Rows   int    `json:"rows"`
}

// Report accounts for every row of a table or trace: Read = Kept + Σ Dropped.
type Report struct {
	Read    int     `json:"read"`
	Kept    int     `json:"kept"`
	Dropped []Count `json:"dropped,omitempty"` // most rows first
}

// String returns one line such as "82247 rows read, 82181 kept, dropped: 65
// exact duplicate, 1 outlier".
func (r Report) String() string {
	s := fmt.Sprintf("%d rows read, %d kept", r.Read, r.Kept)
	if len(r.Dropped) == 0 {
		return s
	}
	parts := make([]string, len(r.Dropped))
	for i, d := range r.Dropped {
		parts[i] = fmt.Sprintf("%d %s", d.Rows, d.Reason)
	}
	return s + ", dropped: " + strings.Join(parts, ", ")
}

// Tally counts rows by reason. The zero value is empty and ready to use.
type Tally struct{ counts map[string]int }

// Add counts one more row.
func (t *Tally) Add(reason string) { t.AddRows(reason, 1) }

// AddRows counts n more rows; none leave no trace.
func (t *Tally) AddRows(reason string, n int) {
	if n == 0 {
		return
	}
	if t.counts == nil {
		t.counts = make(map[string]int)
	}
	t.counts[reason] += n
}

// Counts returns what was counted, most rows first, then by reason.
func (t *Tally) Counts() []Count {
	out := make([]Count, 0, len(t.counts))
	for reason, n := range t.counts { // sorted below
		out = append(out, Count{reason, n})
	}
	slices.SortFunc(out, func(a, b Count) int {
		return cmp.Or(cmp.Compare(b.Rows, a.Rows), cmp.Compare(a.Reason, b.Reason))
	})
	return out
}
