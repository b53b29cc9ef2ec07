package datasets

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"unicode/utf8"

	"github.com/parquet-go/parquet-go/format"
)

// maxNames bounds the names of which one copy is kept: beyond it, as in a column
// in which every name is another, each value has its own.
const maxNames = 1 << 16

// nameCopies keeps one copy of each name.
type nameCopies map[string]string

// keep returns the copy of a name.
func (n nameCopies) keep(b []byte) string {
	if s, ok := n[string(b)]; ok {
		return s
	}
	s := string(b)
	if len(n) < maxNames {
		n[s] = s
	}
	return s
}

// columnReader reads a column of one row group after the other, a batch at a
// time. It holds one page.
type columnReader struct {
	column *column
	at     int // leaf in the file
	guard  *pageGuard
	names  nameCopies           // shared by the columns
	report func(*RowError) bool // as that of a Scanner

	kind     format.Type
	pages    *chunkPages
	left     int // values of the page, nulls included, that are still to come
	nullable bool
	levels   hybridReader
	values   valueReader
	// Of the dictionary of the chunk.
	words []int64
	texts []string
	// badText says that some text of the chunk is not sound.
	badText bool

	// Of a batch; null and empty are zero.
	batchWords []int64
	batchTexts []string
	present    []uint32 // 1 or 0 for each row; nil where all are there
	scratch    []uint32
}

// begin starts the chunk of another row group.
func (c *columnReader) begin(pages *chunkPages) {
	c.pages, c.left, c.kind = pages, 0, pages.shape.kind
	c.words, c.texts, c.badText = c.words[:0], c.texts[:0], false
}

// fill reads the values of rows, of which first have come before.
func (c *columnReader) fill(rows []Row, first int64) error {
	for len(rows) > 0 {
		if c.left == 0 {
			if err := c.nextPage(); err != nil {
				return c.wrap(err)
			}
			continue // pages may be empty
		}
		n := min(len(rows), c.left)
		if err := c.read(n); err != nil {
			return c.wrap(err)
		}
		if err := c.check(n, first); err != nil {
			return err
		}
		if c.kind == format.ByteArray {
			c.column.setTexts(rows[:n], c.batchTexts)
		} else {
			c.column.setWords(rows[:n], c.batchWords)
		}
		rows, first = rows[n:], first+int64(n)
	}
	return nil
}

// wrap says in which column it went wrong.
func (c *columnReader) wrap(err error) error {
	if rowErr, ok := errors.AsType[*RowError](err); ok {
		if rowErr.Column == "" {
			rowErr.Column = c.column.name
		}
		return rowErr
	}
	return fmt.Errorf("column %s: %w", c.column.name, err)
}

// end checks that the chunk has no more than was read of it.
func (c *columnReader) end() error {
	if c.left > 0 {
		return c.wrap(fmt.Errorf("%d values more than its row group has rows", c.left))
	}
	for {
		switch err := c.nextPage(); {
		case errors.Is(err, errChunkEnds):
			return nil
		case err != nil:
			return c.wrap(err)
		case c.left > 0:
			return c.wrap(fmt.Errorf("%d values more than its row group has rows", c.left))
		}
	}
}

var errChunkEnds = errors.New("fewer values than its row group has rows")

// nextPage begins the next page. It reads a dictionary on the way.
func (c *columnReader) nextPage() error {
	dictionary, page, err := c.pages.next()
	switch {
	case errors.Is(err, io.EOF):
		return errChunkEnds
	case err != nil:
		return err
	case dictionary != nil:
		return c.readDictionary(dictionary)
	}
	c.left = page.values
	if page.levels != nil {
		c.levels = hybridReader{data: page.levels, width: 1, left: page.values}
	}
	c.nullable = page.levels != nil
	return c.values.reset(&page, c.kind)
}

func (c *columnReader) readDictionary(data []byte) error {
	n := c.pages.dictionary
	if c.kind != format.ByteArray {
		c.words = slices.Grow(c.words[:0], n)[:n]
		plainWords(c.words, data, c.kind)
		return nil
	}
	c.texts = slices.Grow(c.texts[:0], n)[:n]
	v := valueReader{data: data, encoding: format.Plain}
	v.strings(n, func(i int, s []byte) { c.texts[i] = c.text(s) })
	return nil
}

// text returns the copy of a text, and remembers one that is not sound.
func (c *columnReader) text(b []byte) string {
	s := c.names.keep(b)
	c.badText = c.badText || !soundText(s)
	return s
}

// read reads the next n values of the page into the batch.
func (c *columnReader) read(n int) error {
	c.left -= n
	k, err := c.readLevels(n) // values that are there
	if err != nil {
		return err
	}
	if c.kind != format.ByteArray {
		c.batchWords = slices.Grow(c.batchWords[:0], n)[:n]
		if err := c.values.words(c.batchWords[:k], c.words); err != nil {
			return err
		}
		spread(c.batchWords, c.present, k)
		return nil
	}
	c.batchTexts = slices.Grow(c.batchTexts[:0], n)[:n]
	if c.values.encoding != format.RLEDictionary {
		c.values.strings(k, func(i int, s []byte) { c.batchTexts[i] = c.text(s) })
	} else if err := c.values.look(k, len(c.texts), func(indexes []uint32) {
		for i, x := range indexes {
			c.batchTexts[i] = c.texts[x]
		}
	}); err != nil {
		return err
	}
	spread(c.batchTexts, c.present, k)
	return nil
}

// readLevels reads which of the next n values are there, and returns how many.
func (c *columnReader) readLevels(n int) (int, error) {
	c.present = nil
	if !c.nullable {
		return n, nil
	}
	if level, ok := c.levels.same(n); ok {
		if level == 1 {
			return n, nil
		}
		c.present = slices.Grow(c.scratch[:0], n)[:n]
		c.scratch = c.present
		clear(c.present)
		return 0, nil
	}
	c.present = slices.Grow(c.scratch[:0], n)[:n]
	c.scratch = c.present
	if err := c.levels.read(c.present); err != nil {
		return 0, err
	}
	k := 0
	for _, level := range c.present {
		k += int(level)
	}
	return k, nil
}

// spread moves the k values at the start of dst to where present is 1, and makes
// the others zero.
func spread[T any](dst []T, present []uint32, k int) {
	var zero T
	if present == nil {
		return
	}
	for i := len(dst) - 1; i >= 0; i-- {
		if present[i] == 0 {
			dst[i] = zero
			continue
		}
		k--
		dst[i] = dst[k]
	}
}

// check looks for what no column may hold, in the batch: nulls where there are
// none, zeros where they would be taken for nulls, names that are too long. first
// is the number of rows before it.
func (c *columnReader) check(n int, first int64) error {
	if !c.suspicious(n) {
		return nil
	}
	for i := range n {
		problem := c.problem(i)
		if problem == nil {
			continue
		}
		problem.Column, problem.Row = c.column.name, first+int64(i)+1
		if c.report == nil || !c.report(problem) {
			return problem
		}
	}
	return nil
}

// suspicious reports whether the batch may have a problem. It is fast.
func (c *columnReader) suspicious(n int) bool {
	switch {
	case c.present != nil && !c.column.nullable:
		return true
	case c.kind == format.ByteArray:
		return c.badText
	case !c.column.nullable:
		return false
	}
	mask := c.zeroMask()
	if c.present != nil {
		zeros := uint32(0)
		for i, x := range c.batchWords[:n] {
			if x&mask == 0 {
				zeros += c.present[i]
			}
		}
		return zeros > 0
	}
	for _, x := range c.batchWords[:n] {
		if x&mask == 0 {
			return true
		}
	}
	return false
}

// zeroMask returns the bits that are not set in a zero, which −0 is, too.
func (c *columnReader) zeroMask() int64 {
	if c.kind == format.Double {
		return 1<<63 - 1
	}
	return -1
}

// problem returns what is wrong with a value of the batch.
func (c *columnReader) problem(i int) *RowError {
	if c.present != nil && c.present[i] == 0 {
		if !c.column.nullable {
			return &RowError{Value: "null", Fix: "set it: every job has one"}
		}
		return nil
	}
	if c.kind == format.ByteArray {
		if s := c.batchTexts[i]; !soundText(s) {
			c.batchTexts[i] = ""
			return &RowError{Value: Excerpt(s), Fix: "want at most 256 bytes of UTF-8"}
		}
		return nil
	}
	if c.column.nullable && c.batchWords[i]&c.zeroMask() == 0 {
		return &RowError{Value: "0", Fix: "want > 0, or null where it is not known"}
	}
	return nil
}

func soundText(s string) bool { return len(s) <= MaxName && utf8.ValidString(s) }
