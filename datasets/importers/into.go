package importers

import (
	"errors"
	"io"

	"github.com/yardmaster/yardmaster/datasets"
)

// Into is an input whose jobs go to a sink as soon as their order is known,
// rather than into a table in memory: the table that its import returns has its
// metadata and no rows. Jobs beyond a run of them wait in a temporary file, so
// that the memory of an import does not grow with the log but for eight bytes of
// each job kept, and what a format needs to remember of ids that are names.
//
// Formats that join several files, and those that read tables of their own, may
// return rows all the same: take both.
type Into struct {
	io.Reader
	// Append takes rows in the order of a table. It does not keep them. Nil
	// accounts for the rows and drops them.
	Append func(rows []datasets.Row) error
	// Run is how many jobs are held in memory. Default 65,536, which are 9 MB.
	Run int

	spill *spill
}

// Close removes what is left of the temporary file. It is to be called after the
// import.
func (in *Into) Close() error {
	if in.spill == nil {
		return nil
	}
	err := in.spill.close()
	in.spill = nil
	return err
}

// append hands rows on.
func (in *Into) append(rows []datasets.Row) error {
	if in.Append == nil || len(rows) == 0 {
		return nil
	}
	return in.Append(rows)
}

// finishInto is Finish for a trace whose rows are handed on.
func (t *Trace) finishInto(in *Into, e Ending) (*datasets.Jobs, Report, error) {
	if in.spill == nil { // few enough to be in memory
		table, report, err := t.finish(e)
		if err != nil {
			return nil, Report{}, err
		}
		if err := in.append(table.Rows); err != nil {
			return nil, Report{}, err
		}
		table.Rows = nil
		return table, report, nil
	}
	if err := t.spillRun(in); err != nil {
		return nil, Report{}, err
	}
	repeated, err := t.repeatedInRuns(in.spill)
	if err != nil {
		return nil, Report{}, err
	}
	t.warnings.AddRows(WarnIDs, repeated)
	s := stream{trace: t, in: in, ending: &e, renumber: repeated > 0}
	if err := s.run(); err != nil {
		return nil, Report{}, err
	}
	return t.conclude(e, s.seen, s.epoch, s.first, s.last)
}

// repeatedInRuns returns how many rows have the id of another that is no copy.
func (t *Trace) repeatedInRuns(s *spill) (int, error) {
	if t.numbered || !s.mayRepeat() {
		return 0, nil
	}
	var ids []int64 // of the rows that are no copies
	m := s.merge()
	var before spilled
	for first := true; ; first = false {
		r, err := m.next()
		if errors.Is(err, io.EOF) {
			return repeats(ids), nil
		}
		if err != nil {
			return 0, err
		}
		if first || r.Row != before.Row {
			ids = append(ids, r.ID)
		}
		before = r
	}
}
