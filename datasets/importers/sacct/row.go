package sacct

import (
	"strconv"
	"strings"
	"time"

	"github.com/yardmaster/yardmaster/datasets"
	"github.com/yardmaster/yardmaster/datasets/importers"
)

const (
	dropStep     = "a step of a job"
	dropRequeued = "was requeued"

	warnZone      = "its times have no zone: UTC is assumed"
	warnPerNode   = "its GPUs are counted per node: multiplied by its nodes"
	warnSuspended = "ran for less than its end − its start: it was suspended"
	warnElapsed   = "ran for more than its end − its start"
	warnGPUType   = "its GPU type is not in the performance catalogue"

	timeFix = "want a time such as 2024-01-31T23:59:59, seconds since 1970, Unknown or None: unset SLURM_TIME_FORMAT"
)

// parser reads the rows of an accounting.
type parser struct {
	clock   *importers.Clock
	zone    *time.Location
	assumed bool // zone was not configured
	local   bool // some time had neither an offset nor was in seconds since 1970
	tenant  int  // column, -1 for none
}

// row keeps or drops a row. Of a row that is dropped, only what says so is read.
func (p *parser) row(t *importers.Trace, v *importers.Values) {
	if isStep(v.Text(colJobID)) || isStep(v.Text(colJobIDRaw)) {
		t.Drop(dropStep)
		return
	}
	ended := state(v.Text(colState))
	switch {
	case ended == "PENDING":
		t.Drop(importers.DropNoStart)
		return
	case ended == "REQUEUED":
		t.Drop(dropRequeued)
		return
	case !t.Ended(ended):
		t.Drop(importers.DropRunning)
		return
	}
	found := readGPUs(v)
	switch {
	case found.total == 0 && found.shared:
		t.Drop(importers.DropShared)
	case found.total == 0:
		t.Drop(importers.DropNoGPU)
	default:
		p.job(t, v, &found, ended)
	}
}

// job keeps a job with GPUs that ended, if it ran.
func (p *parser) job(t *importers.Trace, v *importers.Values, found *gpus, ended string) {
	start, started := p.instant(t, v, colStart)
	if !started {
		t.Drop(importers.DropNoStart)
		return
	}
	submit, submitted := p.instant(t, v, colSubmit)
	if !submitted {
		v.Bad(colSubmit, timeFix)
	}
	row := datasets.Row{Submit: submit, GPUs: int32(found.total), ReferenceGPU: found.reference()}
	if row.Status, _ = t.Name(ended); p.tenant >= 0 {
		row.Tenant = v.Name(p.tenant, t)
	}
	var drop string
	if row.Duration, drop = p.elapsed(t, v, start); drop != "" {
		t.Drop(drop)
		return
	}
	if v.Err() != nil {
		return
	}
	if start < submit {
		t.Warn(importers.WarnEarly)
	}
	if p.assumed && isLocal(v.Text(colSubmit)) {
		t.Warn(warnZone)
	}
	found.warn(t)
	keep(t, v, row)
}

// elapsed returns how long a job ran, or the reason to drop it.
func (p *parser) elapsed(t *importers.Trace, v *importers.Values, start time.Duration) (ran time.Duration, drop string) {
	end, ended := time.Duration(0), false
	if v.Has(colEnd) {
		if end, ended = p.instant(t, v, colEnd); !ended {
			return 0, importers.DropRunning
		}
	}
	known := true
	switch {
	case v.Has(colElapsedRaw) && !v.None(colElapsedRaw):
		ran = v.Seconds(colElapsedRaw)
	case v.Has(colElapsed) && !v.None(colElapsed):
		var ok bool
		if ran, ok = parseElapsed(v.Text(colElapsed)); !ok {
			v.Bad(colElapsed, "want a time such as 1-02:03:04, of at most 100 years")
		}
	default:
		known = false
	}
	switch {
	case !known && !ended:
		return 0, importers.DropNoTime
	case !known:
		ran = end - start
	case ended && ran < end-start:
		t.Warn(warnSuspended)
	case ended && ran > end-start:
		t.Warn(warnElapsed)
	}
	switch {
	case ran < 0:
		return 0, importers.DropBackwards
	case ran == 0:
		return 0, importers.DropNoTime
	case ran > datasets.MaxTime:
		return 0, importers.DropLong
	}
	return ran, ""
}

// instant reads a time; known is false where it has none.
func (p *parser) instant(t *importers.Trace, v *importers.Values, column int) (instant time.Duration, known bool) {
	text := v.Text(column)
	if importers.IsNone(text) {
		return 0, false
	}
	if seconds, err := strconv.ParseUint(text, 10, 63); err == nil {
		// Within the years that times may lie in, as ParseWall takes them.
		if limit := uint64(230 * 365 * 24 * 3600); seconds > limit {
			v.Bad(column, timeFix)
			return 0, true
		}
		return time.Duration(seconds) * time.Second, true
	}
	if instant, _, ok := importers.ParseInstant(withColon(text)); ok {
		return instant, true
	}
	wall, ok := importers.ParseWall(text)
	instant, doubt := p.clock.Instant(wall)
	if !ok || instant < 0 {
		v.Bad(column, timeFix)
		return 0, true
	}
	p.local = true
	t.Doubt(doubt, strings.ToLower(layoutName(column)))
	return instant, true
}

// isLocal reports whether a time is what a clock showed.
func isLocal(text string) bool {
	_, ok := importers.ParseWall(text)
	return ok
}

// withColon writes an offset +0100, as strftime's %z does, as +01:00.
func withColon(text string) string {
	const suffix = len("+0100")
	cut := len(text) - suffix
	if cut <= 0 || text[cut] != '+' && text[cut] != '-' || strings.Contains(text[cut:], ":") {
		return text
	}
	return text[:cut+3] + ":" + text[cut+3:]
}

func layoutName(column int) string {
	if column < len(layout.Names) {
		return layout.Names[column]
	}
	return layout.Optional[column-len(layout.Names)]
}

// parseElapsed reads [days-][hours:]minutes:seconds[.decimals].
func parseElapsed(s string) (time.Duration, bool) {
	days, rest, dated := strings.Cut(s, "-")
	if !dated {
		days, rest = "0", s
	}
	parts := strings.Split(rest, ":")
	if len(parts) < 2 || len(parts) > 3 {
		return 0, false
	}
	if len(parts) == 2 {
		parts = []string{"0", parts[0], parts[1]}
	}
	d, err := strconv.ParseUint(days, 10, 16)
	if err != nil || d > 36_500 {
		return 0, false
	}
	total := time.Duration(d) * 24 * time.Hour
	for i, unit := range []time.Duration{time.Hour, time.Minute} {
		n, err := strconv.ParseUint(parts[i], 10, 16)
		if err != nil {
			return 0, false
		}
		total += time.Duration(n) * unit
	}
	seconds, ok := importers.ParseSeconds(parts[2])
	return total + seconds, ok && total+seconds <= datasets.MaxTime
}
