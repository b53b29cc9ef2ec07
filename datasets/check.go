package datasets

import (
	"errors"
	"fmt"
	"io"
)

// Check reads a jobs table as [Read] does, but goes on after a problem: report
// is handed every one of them and says whether to go on. It returns the number
// of rows, as far as they could be read. Its error is about reading the file,
// never about what is in it.
func Check(path string, report func(*RowError) bool) (rows int, err error) {
	return readNamed(path, func(r io.ReaderAt, size int64, name string) (int, error) {
		return checkFrom(r, size, name, report)
	})
}

// CheckCSV is [Check] for the CSV form; see [DecodeCSV].
func CheckCSV(r io.Reader, name string, report func(*RowError) bool) (rows int, err error) {
	d := newCSVDecoder(r, name, report)
	_, err = d.decode()
	if errors.Is(err, errStopped) {
		err = nil
	}
	return d.read, err
}

// checker hands problems on until that is enough.
type checker struct {
	file    string
	report  func(*RowError) bool
	stopped bool
	bad     map[int64]bool // rows with a problem in a single value
}

func (c *checker) tell(e *RowError) bool {
	e.File = c.file
	c.stopped = c.stopped || !c.report(e)
	return !c.stopped
}

func (c *checker) value(e *RowError) bool {
	c.bad[e.Row] = true
	return c.tell(e)
}

// checkFrom is Check of the size bytes of r.
func checkFrom(r io.ReaderAt, size int64, name string, report func(*RowError) bool) (rows int, err error) {
	c := checker{file: name, report: report, bad: make(map[int64]bool)}
	defer func() {
		if p := recover(); p != nil { // as in ReadFrom
			rowErr, _ := errors.AsType[*RowError](damaged(name, fmt.Errorf("%v", p)))
			c.tell(rowErr)
			err = nil
		}
	}()
	j, err := read(r, size, name, c.value)
	if rowErr, ok := errors.AsType[*RowError](err); ok {
		if !c.stopped {
			c.tell(rowErr)
		}
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	c.rows(j)
	return len(j.Rows), nil
}

// rows reports what is wrong with rows that could be read.
func (c *checker) rows(j *Jobs) {
	if len(j.Rows) == 0 {
		c.tell(&RowError{Value: "the table has no rows", Fix: "a trace needs at least one job"})
		return
	}
	for i := range j.Rows {
		if c.bad[int64(i)+1] { // says less once one value is missing
			continue
		}
		e := j.Rows[i].check()
		if e == nil && i > 0 {
			e = checkOrder(&j.Rows[i-1], &j.Rows[i])
		}
		if e == nil {
			continue
		}
		e.Row = int64(i) + 1
		if !c.tell(e) {
			return
		}
	}
	for earlier, later := range repeatedIDs(j.ids()) {
		if !c.tell(repeatedID(j.Rows[later].ID, int64(earlier)+1, int64(later)+1)) {
			return
		}
	}
}

// repeatedID says that a row has the id of an earlier one.
func repeatedID(id, earlier, later int64) *RowError {
	return &RowError{
		Row: later, Column: columnID, Value: fmt.Sprintf("%d, as in row %d", id, earlier),
		Fix: "give every job an id of its own, or drop the copy",
	}
}
