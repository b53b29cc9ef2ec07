package datasets

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"slices"
	"strings"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"
)

// ScanRows is the most rows that [Scanner.Next] returns at once.
const ScanRows = 2048

// ScanConfig says what is read of a table. The zero value is the default.
type ScanConfig struct {
	// Columns are the names of the columns that are read. The others stay zero,
	// and rows are not checked beyond their single values. Default all.
	Columns []string
}

// Scanner reads a jobs table from beginning to end, in batches, with memory that
// does not grow with the table: one page of each column is held. It is not safe
// for concurrent use.
type Scanner struct {
	name    string
	meta    Meta
	rows    int // of the file
	guard   *guard
	file    *os.File // closed by Close; nil where it is not ours
	columns []*columnReader
	codecs  codecs
	checked bool // rows are checked: every column is read

	group int   // the next row group
	left  int   // rows of the current one that are still to come
	seen  int64 // rows that have come
	last  Row   // of them
	batch []Row
}

// Scan opens a jobs table to be read in batches. Close it when done.
func Scan(path string, cfg ScanConfig) (*Scanner, error) {
	f, size, err := openRegular(path)
	if err != nil {
		return nil, err
	}
	s, err := ScanFrom(f, size, path, cfg)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	s.file = f
	return s, nil
}

// ScanFrom is [Scan] of the size bytes of r; name is what errors call it.
func ScanFrom(r io.ReaderAt, size int64, name string, cfg ScanConfig) (*Scanner, error) {
	s := &Scanner{name: name}
	if err := s.guarded(func() error { return s.open(r, size, cfg) }); err != nil {
		return nil, err
	}
	return s, nil
}

// guarded calls do and gives its error the file's name. What upsets a decoder in
// spite of all checks must not end a program that reads a stranger's file.
func (s *Scanner) guarded(do func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = damaged(s.name, fmt.Errorf("%v", p))
		}
	}()
	err = do()
	if err == nil || errors.Is(err, io.EOF) {
		return err
	}
	if _, ok := errors.AsType[*RowError](err); !ok {
		return damaged(s.name, err)
	}
	return named(s.name, err)
}

// open reads and checks the footer.
func (s *Scanner) open(r io.ReaderAt, size int64, cfg ScanConfig) (err error) {
	if err := checkMagic(r, size); err != nil {
		return err
	}
	if s.guard, err = newGuard(r, size); err != nil {
		return err
	}
	meta, metaErr := decodeMeta(s.guard.lookup)
	if metaErr != nil {
		return metaErr
	}
	if err := s.guard.checkSchema(); err != nil {
		return err
	}
	at, err := s.guard.locateColumns()
	if err != nil {
		return err
	}
	if err := s.guard.checkRows(); err != nil {
		return err
	}
	s.meta, s.rows, s.checked = meta, int(s.guard.meta.NumRows), len(cfg.Columns) == 0
	return s.chooseColumns(cfg.Columns, at)
}

// chooseColumns makes readers of the columns asked for that the file has.
func (s *Scanner) chooseColumns(wanted []string, at []int) error {
	for _, name := range wanted {
		if !slices.ContainsFunc(columns, func(c column) bool { return c.name == name }) {
			return &RowError{Column: Excerpt(name), Value: "unknown", Fix: "the table has " + strings.Join(columnNames(), ", ")}
		}
	}
	kept := make(nameCopies)
	for i := range columns {
		if at[i] < 0 || len(wanted) > 0 && !slices.Contains(wanted, columns[i].name) {
			continue
		}
		s.columns = append(s.columns, &columnReader{column: &columns[i], at: at[i], guard: newPageGuard(&s.codecs), names: kept})
	}
	return nil
}

// Meta returns what the file says of the table.
func (s *Scanner) Meta() Meta { return s.meta }

// Len returns the number of rows that the file says it has.
func (s *Scanner) Len() int { return s.rows }

// Close closes the file, if Scan opened it, and frees the decoders.
func (s *Scanner) Close() error {
	s.codecs.close()
	if s.file == nil {
		return nil
	}
	return s.file.Close()
}

// Next returns the next rows, at least one and at most [ScanRows], borrowed until
// the call after. The error is io.EOF after the last. Values, rows and their
// order are checked as [Read] does; that ids are unique is not, for that needs
// memory that grows with the table.
func (s *Scanner) Next() ([]Row, error) {
	if s.batch == nil {
		s.batch = make([]Row, ScanRows)
	}
	rows := s.batch
	err := s.guarded(func() error {
		n, err := s.fill(rows)
		rows = rows[:n]
		if err != nil {
			return err
		}
		return s.check(rows)
	})
	if err != nil {
		return nil, err
	}
	s.last = rows[len(rows)-1]
	return rows, nil
}

// All returns the batches that [Scanner.Next] returns. An error comes with no
// rows, and is the last.
func (s *Scanner) All() iter.Seq2[[]Row, error] {
	return func(yield func([]Row, error) bool) {
		for {
			rows, err := s.Next()
			if errors.Is(err, io.EOF) || !yield(rows, err) || err != nil {
				return
			}
		}
	}
}

// fill reads the next rows, of one row group, and returns how many.
func (s *Scanner) fill(rows []Row) (int, error) {
	for s.left == 0 {
		if err := s.nextGroup(); err != nil {
			return 0, err
		}
	}
	n := min(s.left, len(rows))
	for _, c := range s.columns {
		if err := c.fill(rows[:n], s.seen); err != nil {
			return 0, err
		}
	}
	s.left -= n
	s.seen += int64(n)
	return n, nil
}

// nextGroup begins the next row group.
func (s *Scanner) nextGroup() error {
	for _, c := range s.columns {
		if c.pages != nil {
			if err := c.end(); err != nil {
				return s.inGroup(err)
			}
		}
	}
	if s.group == len(s.guard.meta.RowGroups) {
		if s.rows == 0 {
			return &RowError{Value: "the table has no rows", Fix: "check the filters of the import; a trace needs at least one job"}
		}
		return io.EOF
	}
	group := &s.guard.meta.RowGroups[s.group]
	s.group++
	schema := s.guard.meta.Schema[1:]
	if len(group.Columns) != len(schema) {
		return s.inGroup(fmt.Errorf("%d column chunks for %d columns", len(group.Columns), len(schema)))
	}
	for _, c := range s.columns {
		pages, err := s.guard.walkChunk(&group.Columns[c.at], &schema[c.at], group.NumRows, c.guard)
		if err != nil {
			return s.inGroup(c.wrap(err))
		}
		c.begin(pages)
	}
	s.left = int(group.NumRows)
	return nil
}

func (s *Scanner) inGroup(err error) error {
	if _, ok := errors.AsType[*RowError](err); ok {
		return err
	}
	return fmt.Errorf("row group %d: %w", s.group-1, err)
}

// check checks rows that follow those before.
func (s *Scanner) check(rows []Row) error {
	if !s.checked {
		return nil
	}
	before := &s.last
	for i := range rows {
		r := &rows[i]
		ordered := before.Submit < r.Submit || before.Submit == r.Submit && before.ID < r.ID
		if r.soundNumbers() && (ordered || s.seen == int64(len(rows)) && i == 0) {
			before = r
			continue
		}
		err := r.check()
		if err == nil {
			err = checkOrder(before, r)
		}
		if err == nil && before.ID == r.ID && before.Submit == r.Submit {
			err = &RowError{Column: columnID, Value: fmt.Sprintf("%d, as in the row above it", r.ID), Fix: "give every job an id of its own, or drop the copy"}
		}
		if err != nil {
			err.Row = s.seen - int64(len(rows)) + int64(i) + 1
			return err
		}
		before = r
	}
	return nil
}

func columnNames() []string {
	known := make([]string, len(columns))
	for i := range columns {
		known[i] = columns[i].name
	}
	return known
}

// locateColumns returns, for each of [columns], its leaf index in the file, or
// -1 where an optional column is missing. The schema has been checked: it is
// flat.
func (g *guard) locateColumns() ([]int, error) {
	at, known, leaves := make([]int, len(columns)), columnNames(), g.meta.Schema[1:]
	for i, c := range columns {
		at[i] = slices.IndexFunc(leaves, func(e format.SchemaElement) bool { return e.Name == c.name })
		if at[i] < 0 {
			if !c.optional {
				return nil, &RowError{Column: c.name, Value: "missing", Fix: "add it: " + c.describe()}
			}
			continue
		}
		if leaf := &leaves[at[i]]; leaf.RepetitionType.V == format.Repeated || parquet.Kind(leaf.Type.V) != c.kind {
			return nil, &RowError{Column: c.name, Value: elementType(leaf), Fix: "want " + c.describe()}
		} else if unit := otherUnit(leaf); unit != "" {
			return nil, &RowError{Column: c.name, Value: "annotated " + unit, Fix: fixUnit}
		}
	}
	for i := range leaves {
		if !slices.Contains(known, leaves[i].Name) {
			return nil, &RowError{Column: Excerpt(leaves[i].Name), Value: "unknown", Fix: "drop or rename it; the table has " + strings.Join(known, ", ")}
		}
	}
	return at, nil
}

func elementType(leaf *format.SchemaElement) string {
	kind := strings.ToLower(parquet.Kind(leaf.Type.V).String())
	if leaf.RepetitionType.V == format.Repeated {
		return "a list of " + kind
	}
	return "of type " + kind
}
