package datasets

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Filter says which jobs of a table to keep: those that meet every condition
// that is set. The zero value keeps all.
type Filter struct {
	// Rows [First, Last) of the table, counted from 0 in the order of
	// submission. Last 0 has no limit.
	First, Last int
	// Submissions in [From, To), since the epoch. To 0 has no limit.
	From, To time.Duration
	// Requested GPUs, both included. MaxGPUs 0 has no limit.
	MinGPUs, MaxGPUs int32
	// Run times, both included. A row without one meets no such condition.
	// MaxDuration 0 has no limit.
	MinDuration, MaxDuration time.Duration
	// Names, of which a row must have one; "" is a null. An empty list has no
	// limit.
	Tenants, Statuses, Models, ReferenceGPUs []string
	// Rebase moves the epoch to the first submission that is kept, which becomes
	// 0; instants stay as they are.
	Rebase bool
}

func (f *Filter) validate() error {
	var errs []error
	check := func(what string, ok bool, low, high any) {
		if !ok {
			errs = append(errs, fmt.Errorf("datasets: slice: %s are %v to %v, want the first at least 0 and not above the second", what, low, high))
		}
	}
	check("rows", f.First >= 0 && (f.Last == 0 || f.First < f.Last), f.First, f.Last)
	check("submissions", f.From >= 0 && (f.To == 0 || f.From < f.To), f.From, f.To)
	check("GPUs", f.MinGPUs >= 0 && (f.MaxGPUs == 0 || f.MinGPUs <= f.MaxGPUs), f.MinGPUs, f.MaxGPUs)
	check("durations", f.MinDuration >= 0 && (f.MaxDuration == 0 || f.MinDuration <= f.MaxDuration), f.MinDuration, f.MaxDuration)
	return errors.Join(errs...)
}

// condition is one of those of a filter that are set.
type condition struct {
	keeps string // in the metadata of what is kept
	drops string // why a row is dropped
	holds func(i int, r *Row) bool
}

// Slice returns the jobs of j that f keeps, in the same order, and an account
// of all rows: one that meets several conditions badly counts for the first.
// Keeping none is an error.
func (j *Jobs) Slice(f Filter) (*Jobs, Report, error) {
	if err := f.validate(); err != nil {
		return nil, Report{}, err
	}
	conditions := f.conditions(j.Meta.Epoch)
	var dropped Tally
	var rows []Row
	for i := range j.Rows {
		failed := slices.IndexFunc(conditions, func(c condition) bool { return !c.holds(i, &j.Rows[i]) })
		if failed >= 0 {
			dropped.Add(conditions[failed].drops)
			continue
		}
		rows = append(rows, j.Rows[i])
	}
	report := Report{Read: len(j.Rows), Kept: len(rows), Dropped: dropped.Counts()}
	if len(rows) == 0 {
		return nil, report, fmt.Errorf("datasets: slice %s: no row is left (%s); widen the conditions", j.Name, report)
	}
	kept := make([]string, len(conditions))
	for i, c := range conditions {
		kept[i] = c.keeps
	}
	what := strings.Join(kept, ", ")
	if what == "" {
		what = "all"
	}
	sliced := j.derive(rows, fmt.Sprintf("kept %d of %d rows: %s", len(rows), len(j.Rows), what))
	if f.Rebase {
		sliced.rebase()
	}
	return sliced, report, nil
}

// conditions returns those that are set, in a fixed order.
func (f *Filter) conditions(epoch time.Time) []condition {
	var all []condition
	add := func(keeps, drops string, holds func(int, *Row) bool) {
		all = append(all, condition{keeps, drops, holds})
	}
	if f.First > 0 || f.Last > 0 {
		add("rows "+bounds(strconv.Itoa(f.First+1), strconv.Itoa(f.Last), f.Last == 0)+" by submission", "not among the rows asked for",
			func(i int, _ *Row) bool { return i >= f.First && (f.Last == 0 || i < f.Last) })
	}
	if f.From > 0 || f.To > 0 {
		add("submitted "+bounds(moment(epoch, f.From), "before "+moment(epoch, f.To), f.To == 0), "submitted at another time",
			func(_ int, r *Row) bool { return r.Submit >= f.From && (f.To == 0 || r.Submit < f.To) })
	}
	if f.MinGPUs > 0 || f.MaxGPUs > 0 {
		add("GPUs "+bounds(fmt.Sprint(f.MinGPUs), fmt.Sprint(f.MaxGPUs), f.MaxGPUs == 0), "asks for another number of GPUs",
			func(_ int, r *Row) bool { return r.GPUs >= f.MinGPUs && (f.MaxGPUs == 0 || r.GPUs <= f.MaxGPUs) })
	}
	if f.MinDuration > 0 || f.MaxDuration > 0 {
		add("duration "+bounds(f.MinDuration.String(), f.MaxDuration.String(), f.MaxDuration == 0), "runs shorter or longer, or for an unknown time",
			func(_ int, r *Row) bool {
				return r.Duration > 0 && r.Duration >= f.MinDuration && (f.MaxDuration == 0 || r.Duration <= f.MaxDuration)
			})
	}
	for _, n := range []struct {
		column string
		names  []string
		of     func(*Row) string
	}{
		{columnTenant, f.Tenants, func(r *Row) string { return r.Tenant }},
		{columnStatus, f.Statuses, func(r *Row) string { return r.Status }},
		{columnModel, f.Models, func(r *Row) string { return r.Model }},
		{columnReferenceGPU, f.ReferenceGPUs, func(r *Row) string { return r.ReferenceGPU }},
	} {
		if len(n.names) > 0 {
			add(n.column+" "+quoted(n.names), "with another "+n.column,
				func(_ int, r *Row) bool { return slices.Contains(n.names, n.of(r)) })
		}
	}
	return all
}

// bounds puts a range into words.
func bounds(low, high string, open bool) string {
	if open {
		return "from " + low
	}
	return low + " to " + high
}

// moment returns a time since the epoch as an instant, where there is one.
func moment(epoch time.Time, at time.Duration) string {
	if epoch.IsZero() {
		return at.String()
	}
	return epoch.Add(at).Format(time.RFC3339Nano)
}

func quoted(names []string) string {
	parts := make([]string, len(names))
	for i, name := range names {
		parts[i] = Excerpt(name)
		if name == "" {
			parts[i] = "null"
		}
	}
	return strings.Join(parts, " or ")
}

// rebase makes the first submission time 0 and moves the epoch with it.
func (j *Jobs) rebase() {
	first := j.Rows[0].Submit
	j.shift(-first)
	if !j.Meta.Epoch.IsZero() {
		j.Meta.Epoch = j.Meta.Epoch.Add(first)
	}
}

// shift adds a time to every submission and deadline.
func (j *Jobs) shift(by time.Duration) {
	for i := range j.Rows {
		j.Rows[i].Submit += by
		if j.Rows[i].Deadline != 0 {
			j.Rows[i].Deadline += by
		}
	}
}
