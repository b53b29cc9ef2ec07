package importers

import (
	"bufio"
	"cmp"
	"container/heap"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"time"

	"github.com/yardmaster/yardmaster/datasets"
)

// runRows is how many jobs a trace holds before it writes them to a temporary
// file, if they go [Into] a sink.
const runRows = 1 << 16

// spilled is a job and the number of its row in the source.
type spilled struct {
	datasets.Row
	number int32
}

// compareSpilled orders jobs as a trace does.
func compareSpilled(a, b *spilled) int {
	if a.Submit != b.Submit {
		return cmp.Compare(a.Submit, b.Submit)
	}
	return cmp.Or(cmp.Compare(a.ID, b.ID), cmp.Compare(a.Duration, b.Duration), cmp.Compare(a.GPUs, b.GPUs),
		cmp.Compare(a.Tenant, b.Tenant), cmp.Compare(a.Status, b.Status), cmp.Compare(a.number, b.number))
}

// spill is a temporary file of runs of jobs, each in order. Names are kept in
// memory.
type spill struct {
	file  *os.File
	ends  []int64 // of each run
	jobs  []int   // in each run
	w     *bufio.Writer
	size  int64
	names []string
	index map[string]uint64
	ids   []int64 // of every job
}

func newSpill() (*spill, error) {
	f, err := os.CreateTemp("", "yardmaster-import-*")
	if err != nil {
		return nil, fmt.Errorf("importers: %w", err)
	}
	// Where open files can be removed, nothing is left even by a crash.
	_ = os.Remove(f.Name())
	return &spill{file: f, w: bufio.NewWriterSize(f, 1<<20), index: make(map[string]uint64)}, nil
}

func (s *spill) close() error {
	_ = os.Remove(s.file.Name()) // is gone already where that was possible
	return s.file.Close()
}

// name returns the number of a name.
func (s *spill) name(x string) uint64 {
	i, ok := s.index[x]
	if !ok {
		i = uint64(len(s.names))
		s.names, s.index[x] = append(s.names, x), i
	}
	return i
}

// add writes a run of jobs that are in order.
func (s *spill) add(rows []datasets.Row, numbers []int32) error {
	var b []byte
	for i := range rows {
		r := &rows[i]
		b = b[:0]
		for _, x := range [...]int64{r.ID, int64(r.Submit), int64(r.Duration), int64(r.Deadline)} {
			b = binary.AppendVarint(b, x)
		}
		for _, x := range [...]uint64{
			uint64(r.GPUs), uint64(r.Batch), uint64(numbers[i]), math.Float64bits(r.Steps), math.Float64bits(r.Weight),
			s.name(r.Model), s.name(r.ReferenceGPU), s.name(r.Tenant), s.name(r.Status),
		} {
			b = binary.AppendUvarint(b, x)
		}
		if _, err := s.w.Write(b); err != nil {
			return fmt.Errorf("importers: temporary file: %w", err)
		}
		s.size += int64(len(b))
		s.ids = append(s.ids, r.ID)
	}
	s.ends, s.jobs = append(s.ends, s.size), append(s.jobs, len(rows))
	if err := s.w.Flush(); err != nil {
		return fmt.Errorf("importers: temporary file: %w", err)
	}
	return nil
}

// mayRepeat reports whether some id is there twice, if only in a copy.
func (s *spill) mayRepeat() bool { return repeats(s.ids) > 0 }

// repeats sorts ids and returns how many of them are the same as another.
func repeats(ids []int64) int {
	slices.Sort(ids)
	n := 0
	for i := 1; i < len(ids); i++ {
		if ids[i] == ids[i-1] {
			n++
		}
	}
	return n
}

// spillRun writes the jobs that the trace holds as a run.
func (t *Trace) spillRun(in *Into) error {
	if in.spill == nil {
		s, err := newSpill()
		if err != nil {
			return err
		}
		in.spill = s
	}
	if t.numbered {
		t.number()
	}
	t.sort()
	err := in.spill.add(t.rows, t.numbers)
	t.rows, t.numbers = t.rows[:0], t.numbers[:0]
	return err
}

// runReader reads a run.
type runReader struct {
	r     *bufio.Reader
	names []string
	left  int     // jobs after head
	head  spilled // the next job
	err   error
}

// next reads the job after head.
func (r *runReader) next() {
	if r.left == 0 {
		r.err = cmp.Or(r.err, io.EOF)
		return
	}
	r.left--
	defer func() {
		if errors.Is(r.err, io.EOF) {
			r.err = io.ErrUnexpectedEOF
		}
	}()
	signed := func() int64 {
		x, err := binary.ReadVarint(r.r)
		r.err = cmp.Or(r.err, err)
		return x
	}
	unsigned := func() uint64 {
		x, err := binary.ReadUvarint(r.r)
		r.err = cmp.Or(r.err, err)
		return x
	}
	name := func() string {
		if i := unsigned(); r.err == nil {
			return r.names[i]
		}
		return ""
	}
	h := &r.head
	h.ID, h.Submit, h.Duration, h.Deadline = signed(), time.Duration(signed()), time.Duration(signed()), time.Duration(signed())
	h.GPUs, h.Batch, h.number = int32(unsigned()), int32(unsigned()), int32(unsigned())
	h.Steps, h.Weight = math.Float64frombits(unsigned()), math.Float64frombits(unsigned())
	h.Model, h.ReferenceGPU, h.Tenant, h.Status = name(), name(), name(), name()
}

// merger merges runs.
type merger struct{ runs []*runReader }

// merge begins to read all runs, in the order of a table.
func (s *spill) merge() *merger {
	m := new(merger)
	start := int64(0)
	for i, end := range s.ends {
		r := &runReader{r: bufio.NewReaderSize(io.NewSectionReader(s.file, start, end-start), 32<<10), names: s.names, left: s.jobs[i]}
		r.next()
		m.runs = append(m.runs, r)
		start = end
	}
	heap.Init(m)
	return m
}

func (m *merger) Len() int { return len(m.runs) }

// Less puts runs that ended or failed first, to be seen.
func (m *merger) Less(i, j int) bool {
	a, b := m.runs[i], m.runs[j]
	if a.err != nil || b.err != nil {
		return a.err != nil && b.err == nil
	}
	return compareSpilled(&a.head, &b.head) < 0
}

func (m *merger) Swap(i, j int) { m.runs[i], m.runs[j] = m.runs[j], m.runs[i] }
func (m *merger) Push(any)      {} // no run is added
func (m *merger) Pop() any {
	last := len(m.runs) - 1
	m.runs = m.runs[:last]
	return nil
}

// next returns the next job. The error is io.EOF after the last.
func (m *merger) next() (spilled, error) {
	for len(m.runs) > 0 {
		r := m.runs[0]
		switch {
		case errors.Is(r.err, io.EOF):
			heap.Pop(m)
			continue
		case r.err != nil:
			return spilled{}, fmt.Errorf("importers: temporary file: %w", r.err)
		}
		job := r.head
		r.next()
		heap.Fix(m, 0)
		return job, nil
	}
	return spilled{}, io.EOF
}

// stream hands the jobs of runs on as the rows of a table.
type stream struct {
	trace  *Trace
	in     *Into
	ending *Ending
	// renumber makes the numbers of the rows in the source their ids.
	renumber bool

	group       []spilled // of one submission, where jobs are renumbered
	batch       []datasets.Row
	held        *datasets.Row // the first job, until it is known not to be a stray
	before      spilled
	seen        int
	first, last time.Duration // submissions, as the source has them
	latest      time.Duration // of the whole trace
	epoch       time.Time
	origin      time.Duration
	thin        int // jobs of the first tenth of the span
}

// run reads every job.
func (s *stream) run() error {
	m := s.in.spill.merge()
	s.latest = s.trace.latest
	for first := true; ; first = false {
		job, err := m.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if !s.trace.numbered && !first && job.Row == s.before.Row {
			s.trace.dropped.Add(DropDuplicate)
			continue
		}
		s.before = job
		if err := s.take(job); err != nil {
			return err
		}
	}
	if err := s.endGroup(); err != nil {
		return err
	}
	if s.held != nil {
		if err := s.begin(*s.held); err != nil {
			return err
		}
	}
	if s.seen > 0 && s.thin*100 < s.seen {
		s.trace.warnings.AddRows(WarnThin, s.thin)
	}
	return s.in.append(s.batch)
}

// take orders jobs of one submission by their numbers, where these become their
// ids.
func (s *stream) take(job spilled) error {
	if !s.renumber {
		return s.put(job.Row)
	}
	if len(s.group) > 0 && s.group[0].Submit != job.Submit {
		if err := s.endGroup(); err != nil {
			return err
		}
	}
	job.ID = int64(job.number)
	s.group = append(s.group, job)
	return nil
}

func (s *stream) endGroup() error {
	slices.SortFunc(s.group, func(a, b spilled) int { return cmp.Compare(a.number, b.number) })
	for i := range s.group {
		if err := s.put(s.group[i].Row); err != nil {
			return err
		}
	}
	s.group = s.group[:0]
	return nil
}

// put takes the next row of the table, but for a stray first one.
func (s *stream) put(r datasets.Row) error {
	switch {
	case s.seen == 0 && s.held == nil:
		s.held = &r
		return nil
	case s.held != nil:
		held := *s.held
		s.held = nil
		if gap := s.ending.StrayGap; gap > 0 && r.Submit-held.Submit > gap {
			s.trace.dropped.Add(DropStray)
			return s.begin(r)
		}
		if err := s.begin(held); err != nil {
			return err
		}
	}
	return s.emit(r)
}

// begin takes the first row of the table: what counts from it is known now.
func (s *stream) begin(r datasets.Row) error {
	s.held, s.first = nil, r.Submit
	if err := s.trace.checkSpan(s.latest - s.first); err != nil {
		return err
	}
	s.epoch, s.origin = s.ending.epoch(s.first)
	return s.emit(r)
}

func (s *stream) emit(r datasets.Row) error {
	if r.Submit < s.first+(s.latest-s.first)/10 {
		s.thin++
	}
	s.seen, s.last = s.seen+1, r.Submit
	r.Submit -= s.origin
	s.batch = append(s.batch, r)
	if len(s.batch) < datasets.ScanRows {
		return nil
	}
	err := s.in.append(s.batch)
	s.batch = s.batch[:0]
	return err
}
