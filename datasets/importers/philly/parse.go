package philly

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/yardmaster/yardmaster/datasets"
	"github.com/yardmaster/yardmaster/datasets/importers"
)

// Reasons for which rows are dropped or warned about.
const (
	dropDuplicate = "exact duplicate of an earlier row"
	dropStray     = "stray first job, long before the rest"
	dropNoGPU     = "uses no GPU"
	dropNoTime    = "has no run time"
	dropShort     = "shorter than the minimum duration"

	warnShort     = "shorter than 60 s"
	warnAmbiguous = "submitted in an hour that the clock change repeats"
	warnSkipped   = "submitted in an hour that the clock change skips"
	warnThin      = "in the first tenth of the span, which holds less than 1% of the jobs: was recording on?"
	warnGPUTime   = "gpu_time is not duration × num_gpus"
)

// header names the columns in the order of a parsed line.
var header = [...]string{"timestamp", "duration", "num_gpus", "gpu_time", "cluster"}

const (
	colTimestamp = iota
	colDuration
	colGPUs
	colGPUTime
	colCluster
)

// job is a data row that is kept so far.
type job struct {
	id       int64 // number of the data row, from 1
	submit   time.Time
	duration time.Duration
	gpus     int32
	cluster  string
}

func compareJobs(a, b job) int { return cmp.Or(a.submit.Compare(b.submit), cmp.Compare(a.id, b.id)) }

// parser reads data rows and keeps account of them.
type parser struct {
	source   *importers.Source
	zone     *time.Location
	at       [len(header)]int // position of each column in a line
	width    int              // number of columns in a line
	seen     map[[len(header)]string]struct{}
	names    map[string]string // one copy of each cluster name
	jobs     []job
	read     int
	dropped  datasets.Tally
	warnings datasets.Tally
}

// newParser reads the header.
func newParser(source *importers.Source) (*parser, error) {
	zone, err := time.LoadLocation(Zone)
	if err != nil {
		return nil, fmt.Errorf("philly: %w", err)
	}
	line, number, err := source.Next()
	if errors.Is(err, io.EOF) {
		return nil, source.Error(0, "", "the file has no header", "want the columns "+strings.Join(header[:], ", "))
	}
	if err != nil {
		return nil, err
	}
	p := &parser{source: source, zone: zone, seen: make(map[[len(header)]string]struct{}), names: make(map[string]string)}
	fields, err := importers.Fields(strings.TrimPrefix(line, "\ufeff"))
	if err != nil {
		return nil, source.Error(number, "", "bad quotes in the header", "quote fields as in RFC 4180")
	}
	p.width = len(fields)
	for i, name := range header {
		p.at[i] = slices.Index(fields, name)
		if p.at[i] < 0 {
			return nil, source.Error(number, name, "missing from the header "+datasets.Excerpt(line), "want the columns "+strings.Join(header[:], ", "))
		}
	}
	return p, nil
}

// readAll reads every data row.
func (p *parser) readAll(minimum time.Duration) error {
	for {
		line, number, err := p.source.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		p.read++
		if p.read > datasets.MaxRows {
			return p.source.Error(number, "", "too many rows", fmt.Sprintf("split the file: at most %d are read", datasets.MaxRows))
		}
		if err := p.row(line, number, minimum); err != nil {
			return err
		}
	}
}

// row parses one data row and keeps, drops or refuses it.
func (p *parser) row(line string, number int64, minimum time.Duration) error {
	all, err := importers.Fields(line)
	if err != nil || len(all) != p.width {
		return p.source.Error(number, "", fmt.Sprintf("%d fields in %s", len(all), datasets.Excerpt(line)), fmt.Sprintf("want %d, as in the header", p.width))
	}
	var fields [len(header)]string
	for i, at := range p.at {
		fields[i] = strings.TrimSpace(all[at])
	}
	j, err := p.parse(&fields, number)
	if err != nil {
		return err
	}
	// After parse, which bounds the length of what is remembered.
	if _, twice := p.seen[fields]; twice {
		p.dropped.Add(dropDuplicate)
		return nil
	}
	p.seen[fields] = struct{}{}
	switch {
	case j.gpus == 0:
		p.dropped.Add(dropNoGPU)
	case j.duration == 0:
		p.dropped.Add(dropNoTime)
	case j.duration < minimum:
		p.dropped.Add(dropShort)
	default:
		p.jobs = append(p.jobs, j)
	}
	return nil
}

func (p *parser) parse(fields *[len(header)]string, number int64) (job, error) {
	bad := func(column int, want string) error {
		return p.source.Error(number, header[column], datasets.Excerpt(fields[column]), want)
	}
	for i := range fields {
		if len(fields[i]) > datasets.MaxName || !utf8.ValidString(fields[i]) {
			return job{}, bad(i, "want at most 256 bytes of UTF-8")
		}
	}
	wall, err := time.Parse("2006-01-02 15:04:05", fields[colTimestamp])
	if err != nil {
		return job{}, bad(colTimestamp, "want a time such as 2017-10-09 07:01:55")
	}
	seconds, err := strconv.ParseFloat(fields[colDuration], 64)
	if err != nil || !(seconds >= 0 && seconds <= datasets.MaxTime.Seconds()) {
		return job{}, bad(colDuration, "want seconds, 0 to 100 years")
	}
	gpus, err := strconv.ParseInt(fields[colGPUs], 10, 32)
	if err != nil || gpus < 0 || gpus > datasets.MaxGPUs {
		return job{}, bad(colGPUs, "want a whole number from 0 to 1000000")
	}
	gpuTime, err := strconv.ParseFloat(fields[colGPUTime], 64)
	if err != nil || math.IsNaN(gpuTime) {
		return job{}, bad(colGPUTime, "want GPU-seconds")
	}
	if want := seconds * float64(gpus); math.Abs(gpuTime-want) > 1e-6*(1+want) {
		p.warnings.Add(warnGPUTime)
	}
	duration := time.Duration(math.Round(seconds * float64(time.Second)))
	if duration < short {
		p.warnings.Add(warnShort)
	}
	return job{
		id: int64(p.read), submit: p.instant(wall), duration: duration,
		gpus: int32(gpus), cluster: p.name(fields[colCluster]),
	}, nil
}

// name returns the one copy of a cluster's name.
func (p *parser) name(s string) string {
	if known, ok := p.names[s]; ok {
		return known
	}
	s = strings.Clone(s) // not the line it is part of
	p.names[s] = s
	return s
}

// instant returns the instant at which the clocks of the zone showed wall. Of
// a repeated hour it is the first pass; in a skipped hour, which no clock
// showed, the time is read as if the clock had not been changed yet.
func (p *parser) instant(wall time.Time) time.Time {
	const day = 24 * time.Hour
	_, before := wall.Add(-day).In(p.zone).Zone()
	_, after := wall.Add(day).In(p.zone).Zone()
	at := wall.Add(-time.Duration(before) * time.Second).In(p.zone)
	if before == after {
		return at
	}
	other := wall.Add(-time.Duration(after) * time.Second).In(p.zone)
	shows := func(t time.Time) bool { return sameWall(t, wall) }
	switch {
	case shows(at) && shows(other):
		p.warnings.Add(warnAmbiguous)
	case !shows(at) && shows(other):
		return other
	case !shows(at):
		p.warnings.Add(warnSkipped)
	}
	return at
}

// sameWall reports whether a's clock shows what b's does.
func sameWall(a, b time.Time) bool {
	const clock = "2006-01-02 15:04:05"
	return a.Format(clock) == b.Format(clock)
}
