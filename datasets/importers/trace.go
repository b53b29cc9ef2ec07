package importers

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/yardmaster/yardmaster/datasets"
)

// Reasons and warnings that several importers have.
const (
	DropDuplicate = "exact duplicate of an earlier row"
	DropNoGPU     = "uses no GPU"
	DropNoTime    = "has no run time"
	DropNoStart   = "never started"
	DropRunning   = "had not ended when the trace was taken"
	DropBackwards = "ends before it starts"
	DropShared    = "uses a part of a GPU"
	DropStray     = "stray first job, long before the rest"

	WarnIDs      = "job ids repeat with other values: rows are numbered instead"
	WarnRounded  = "asks for a part of a GPU: rounded up"
	WarnEarly    = "starts before it is submitted"
	WarnDuration = "its duration is not its end − its start: the times are taken"
	WarnThin     = "in the first tenth of the span, which holds less than 1% of the jobs: was recording on?"
)

// Trace collects the jobs of an import and accounts for the rows they came
// from. It is not safe for concurrent use.
type Trace struct {
	source   *Source
	rows     []datasets.Row // Submit counts from 1970-01-01 UTC, or from the zero of the trace
	numbers  []int32        // of the rows in the file, from 1
	numbered bool           // job ids are row numbers
	read     int
	dropped  datasets.Tally
	warnings datasets.Tally
	names    map[string]string
	ids      map[string]int32 // position in rows of each id given to KeepNamed
	latest   time.Duration    // submission
	failed   error            // of the temporary file
}

// NewTrace returns an empty trace from s.
func NewTrace(s *Source) *Trace {
	return &Trace{source: s, names: make(map[string]string), ids: make(map[string]int32)}
}

// Begin counts a row of the source, at this line. The row is to be dropped or
// kept before the next.
func (t *Trace) Begin(line int64) error {
	t.read++
	if t.failed != nil {
		return t.failed
	}
	if t.read > datasets.MaxRows {
		return t.source.Error(line, "", "too many rows", fmt.Sprintf("split the file: at most %d are read", datasets.MaxRows))
	}
	return nil
}

// Row returns the number of the row last begun, from 1.
func (t *Trace) Row() int64 { return int64(t.read) }

// Drop accounts for the row last begun as left out.
func (t *Trace) Drop(reason string) { t.dropped.Add(reason) }

// Warn counts a row as suspicious.
func (t *Trace) Warn(reason string) { t.warnings.Add(reason) }

// Doubt warns of a time of day that is not certain.
func (t *Trace) Doubt(d Doubt, what string) {
	switch d {
	case Repeated:
		t.warnings.Add(what + " " + WarnRepeated)
	case Skipped:
		t.warnings.Add(what + " " + WarnSkipped)
	case Certain:
	}
}

// Keep adds the job of the row last begun. Its Submit is the time since
// 1970-01-01 00:00:00 UTC, or since the zero of a trace without a calendar.
func (t *Trace) Keep(r datasets.Row) {
	t.latest = max(t.latest, r.Submit)
	t.rows = append(t.rows, r)
	t.numbers = append(t.numbers, int32(t.read)) // MaxRows fits
	// Ids that are names are compared with those in memory.
	if in := t.source.into; in != nil && len(t.rows) >= cmp.Or(in.Run, runRows) && len(t.ids) == 0 && t.failed == nil {
		t.failed = t.spillRun(in)
	}
}

// KeepNumbered is Keep for a row without an id that is a whole number. Every
// job of the trace then gets the number of its row as its id, so that it does
// not depend on what is dropped.
func (t *Trace) KeepNumbered(r datasets.Row) {
	t.numbered = true
	t.Keep(r)
}

// KeepNamed is Keep for a row whose id is text, kept as it is where every id of
// the trace is a whole number; else the rows are numbered. It drops an exact
// duplicate of an earlier row at once.
func (t *Trace) KeepNamed(id string, r datasets.Row) {
	number, err := strconv.ParseInt(id, 10, 64)
	if err != nil || strconv.FormatInt(number, 10) != id {
		number, t.numbered = 0, true
	}
	r.ID = number
	earlier, known := t.ids[id]
	switch {
	case known && t.rows[earlier] == r:
		t.Drop(DropDuplicate)
		return
	case known:
		t.numbered = true
		t.Warn(WarnIDs)
	default:
		t.ids[strings.Clone(id)] = int32(len(t.rows))
	}
	t.Keep(r)
}

// Name returns the one copy of a name, which may be part of a line. It fails
// if the table could not hold it.
func (t *Trace) Name(s string) (string, bool) {
	if known, ok := t.names[s]; ok {
		return known, true
	}
	if len(s) > datasets.MaxName || !utf8.ValidString(s) {
		return "", false
	}
	s = strings.Clone(s)
	t.names[s] = s
	return s, true
}

// Ending says how a trace becomes a table.
type Ending struct {
	Meta datasets.Meta // Source, Licence, Zone and Filters; the rest is filled in
	// Zone is the zone of the trace's calendar. The epoch is midnight of the day
	// of the first job in it. It is nil where there is no calendar.
	Zone *time.Location
	// Origin is subtracted from the submissions of a trace without a calendar.
	Origin time.Duration
	// StrayGap is the gap after the first job beyond which it is dropped; at most
	// one job is. 0 or less keeps it.
	StrayGap time.Duration
}

// Finish sorts the jobs, drops exact duplicates and a stray first job, and
// returns the table with its account. It reads the rest of the source for its
// hash. The trace is not to be used afterwards. Where the input is an [Into] the
// rows are handed on instead.
func (t *Trace) Finish(e Ending) (*datasets.Jobs, Report, error) {
	if t.failed != nil {
		return nil, Report{}, t.failed
	}
	if t.source.into != nil {
		return t.finishInto(t.source.into, e)
	}
	return t.finish(e)
}

// finish is Finish for rows in memory.
func (t *Trace) finish(e Ending) (*datasets.Jobs, Report, error) {
	t.order()
	t.dropStray(e.StrayGap)
	if len(t.rows) == 0 {
		return nil, Report{}, t.noneLeft()
	}
	first, last := t.rows[0].Submit, t.rows[len(t.rows)-1].Submit
	if err := t.checkSpan(last - first); err != nil {
		return nil, Report{}, err
	}
	epoch, origin := e.epoch(first)
	t.warnings.AddRows(WarnThin, t.thinStart())
	for i := range t.rows {
		t.rows[i].Submit -= origin
	}
	rows := t.rows
	table, report, err := t.conclude(e, len(rows), epoch, first, last)
	if err != nil {
		return nil, Report{}, err
	}
	table.Rows = rows
	if err := table.Validate(); err != nil {
		return nil, Report{}, fmt.Errorf("importers: the table made of %s is not valid: %w", t.source.Name, err)
	}
	return table, report, nil
}

func (t *Trace) checkSpan(span time.Duration) error {
	if span > datasets.MaxTime-24*time.Hour {
		return t.source.Error(0, "", fmt.Sprintf("submissions span %.0f years", span.Hours()/24/365), "check the times of the first and the last job: at most 100 years are read")
	}
	return nil
}

// conclude returns a table without rows, of which there are kept, submitted from
// first to last as the source has it, and the account.
func (t *Trace) conclude(e Ending, kept int, epoch time.Time, first, last time.Duration) (*datasets.Jobs, Report, error) {
	digest, err := t.source.SHA256()
	if err != nil {
		return nil, Report{}, err
	}
	_, origin := e.epoch(first)
	report := Report{
		Report:      datasets.Report{Read: t.read, Kept: kept, Dropped: t.dropped.Counts()},
		Compression: t.source.Compression,
		First:       epoch.Add(first - origin), Last: epoch.Add(last - origin),
		Warnings: t.warnings.Counts(),
	}
	table := &datasets.Jobs{Name: t.source.Name, Meta: e.Meta}
	table.Meta.SchemaVersion, table.Meta.SourceSHA256, table.Meta.RowsIn = datasets.SchemaVersion, digest, int64(t.read)
	table.Meta.Epoch = epoch
	for _, d := range report.Dropped {
		table.Meta.Filters = append(table.Meta.Filters, fmt.Sprintf("dropped %d rows: %s", d.Rows, d.Reason))
	}
	return table, report, nil
}

// epoch returns the instant of Submit 0, the zero time where there is no
// calendar, and what to subtract from submissions.
func (e *Ending) epoch(first time.Duration) (time.Time, time.Duration) {
	if e.Zone == nil {
		return time.Time{}, e.Origin
	}
	y, m, d := unix(first).In(e.Zone).Date()
	epoch := time.Date(y, m, d, 0, 0, 0, 0, e.Zone)
	return epoch, time.Duration(epoch.Unix()) * time.Second
}

// noneLeft says that and why no job is left.
func (t *Trace) noneLeft() error {
	value := fmt.Sprintf("no job is left of %d rows", t.read)
	if dropped := t.dropped.Counts(); len(dropped) > 0 {
		value += fmt.Sprintf(" (%d: %s)", dropped[0].Rows, dropped[0].Reason)
	}
	return t.source.Error(0, "", value, "check the file and the filters")
}

// order sorts the rows, drops exact duplicates among them and sees to it that
// job ids are unique.
func (t *Trace) order() {
	if t.numbered {
		t.number()
	}
	t.sort()
	if t.numbered {
		return // numbers are unique
	}
	t.dropDuplicates()
	if repeated := t.repeatedIDs(); repeated > 0 {
		t.warnings.AddRows(WarnIDs, repeated)
		t.number()
		t.sort()
	}
}

// number makes the rows' numbers their ids.
func (t *Trace) number() {
	for i := range t.rows {
		t.rows[i].ID = int64(t.numbers[i])
	}
}

// sort orders the rows by submission and id, then so that equal rows meet.
func (t *Trace) sort() {
	if !sort.IsSorted(bySubmission{t}) { // most traces are
		sort.Sort(bySubmission{t})
	}
}

// bySubmission sorts rows and their numbers together.
type bySubmission struct{ *Trace }

func (t bySubmission) Len() int { return len(t.rows) }

func (t bySubmission) Less(i, j int) bool {
	a, b := &t.rows[i], &t.rows[j]
	if a.Submit != b.Submit {
		return a.Submit < b.Submit
	}
	return cmp.Or(cmp.Compare(a.ID, b.ID), cmp.Compare(a.Duration, b.Duration), cmp.Compare(a.GPUs, b.GPUs),
		cmp.Compare(a.Tenant, b.Tenant), cmp.Compare(a.Status, b.Status), cmp.Compare(t.numbers[i], t.numbers[j])) < 0
}

func (t bySubmission) Swap(i, j int) {
	t.rows[i], t.rows[j] = t.rows[j], t.rows[i]
	t.numbers[i], t.numbers[j] = t.numbers[j], t.numbers[i]
}

// dropDuplicates drops rows that equal the one before them.
func (t *Trace) dropDuplicates() {
	kept := 0
	for i := range t.rows {
		if i > 0 && t.rows[i] == t.rows[kept-1] {
			t.dropped.Add(DropDuplicate)
			continue
		}
		t.rows[kept], t.numbers[kept] = t.rows[i], t.numbers[i]
		kept++
	}
	t.rows, t.numbers = t.rows[:kept], t.numbers[:kept]
}

// repeatedIDs returns how many rows have the id of another.
func (t *Trace) repeatedIDs() int {
	ids := make([]int64, len(t.rows))
	for i := range t.rows {
		ids[i] = t.rows[i].ID
	}
	slices.Sort(ids)
	return len(ids) - len(slices.Compact(ids))
}

// dropStray drops the first row if the second is submitted more than gap later.
func (t *Trace) dropStray(gap time.Duration) {
	if gap > 0 && len(t.rows) > 1 && t.rows[1].Submit-t.rows[0].Submit > gap {
		t.rows, t.numbers = t.rows[1:], t.numbers[1:]
		t.dropped.Add(DropStray)
	}
}

// thinStart returns how many jobs fall into the first tenth of the span, if
// they are less than a hundredth of all, else 0. Such a start usually holds
// the long jobs that were running when recording began.
func (t *Trace) thinStart() int {
	first, last := t.rows[0].Submit, t.rows[len(t.rows)-1].Submit
	tenth := first + (last-first)/10
	n, _ := slices.BinarySearchFunc(t.rows, tenth, func(r datasets.Row, at time.Duration) int { return cmp.Compare(r.Submit, at) })
	if n*100 < len(t.rows) {
		return n
	}
	return 0
}
