// Package importers holds what every importer of a published trace shares: the
// input, whatever its compression, with its hash taken on the way ([Source]),
// tables of separated values ([Columns]), what clocks showed ([Clock]), the
// account of every row ([Trace], [Report]) and how a format is recognised by
// its content ([Format]).
//
// # Limits
//
// A line has at most [MaxLine] bytes, a table at most [MaxColumns] columns.
// Compression is told by content, not by name: gzip, zstd or none. The memory
// of a reader does not grow with the input; that of a trace grows with the
// jobs kept, to [datasets.MaxRows] at most, or by eight bytes of each where they
// go [Into] a sink.
package importers

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"strings"

	"github.com/yardmaster/yardmaster/datasets"
)

// MaxLine is the most bytes a line of text may have.
const MaxLine = 64 << 10

// maxWindow bounds the memory a zstd frame may ask for.
const maxWindow = 64 << 20

// Text beyond freeText may be at most maxExpansion times as large as the
// compressed input read for it. Logs of jobs are 5 to 30 times as large.
const (
	freeText     = 64 << 20
	maxExpansion = 250
)

// Source is an input being read. It is not safe for concurrent use.
type Source struct {
	Name        string // what errors call it
	Compression string // "gzip", "zstd" or "none"

	raw   io.Reader // the input as given, hashed on the way
	size  int64     // bytes of it that were read
	hash  hash.Hash
	text  *bufio.Reader // decompressed
	done  func()
	line  int64
	bytes []byte // scratch of nextBlock
	block string // text whose lines are still to come
	ended error  // what reading text ended with
	into  *Into  // nil for a table in memory
}

// Open begins to read r. Close the source when done.
func Open(r io.Reader, name string) (*Source, error) {
	s := &Source{Name: name, hash: sha256.New(), done: func() {}}
	s.into, _ = r.(*Into)
	raw := bufio.NewReaderSize(io.TeeReader(r, (*meter)(s)), 64<<10)
	s.raw = raw
	head, err := raw.Peek(4)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("importers: read %s: %w", name, err)
	}
	if len(head) == 0 {
		return nil, s.Error(0, "", "the file is empty (0 bytes)", "name the file with the trace")
	}
	text, done, compression, err := decompress(raw, head)
	s.done, s.Compression = done, compression
	if err != nil {
		return nil, s.damaged(err)
	}
	s.text = bufio.NewReader(&textReader{source: s, reader: text})
	if isArchive(s.text) {
		s.Close()
		return nil, s.Error(0, "", "a tar archive", "unpack it (tar -xf) and name the file in it")
	}
	return s, nil
}

// isArchive reports whether a tar archive follows: its first header has a
// magic word at byte 257 (POSIX.1-1988, ustar).
func isArchive(r *bufio.Reader) bool {
	head, _ := r.Peek(262) // shorter: not an archive; damaged: reported when read
	return len(head) == 262 && bytes.HasPrefix(head[257:], []byte("ustar"))
}

// meter counts and hashes the input of a source.
type meter Source

func (m *meter) Write(p []byte) (int, error) {
	m.size += int64(len(p))
	return m.hash.Write(p)
}

// textReader turns the errors of a decoder into errors about its source, and
// refuses text that is out of proportion to the input: few bytes would fill the
// memory with jobs.
type textReader struct {
	source *Source
	reader io.Reader
	size   int64 // bytes of text that were read
}

func (t *textReader) Read(p []byte) (int, error) {
	n, err := t.reader.Read(p)
	t.size += int64(n)
	if t.size > freeText && t.size > maxExpansion*t.source.size {
		return 0, t.source.Error(0, "", fmt.Sprintf("its text is more than %d times as large as the compressed file", maxExpansion), "is this a trace? unpack it first")
	}
	if err != nil && !errors.Is(err, io.EOF) {
		err = t.source.damaged(err)
	}
	return n, err
}

// Close releases the decoder. It does not close the input.
func (s *Source) Close() { s.done() }

// Text returns the decompressed input, for formats that are not made of lines.
// Use either this or Next. Where the input is damaged, its error is a one-line
// error about s.
func (s *Source) Text() io.Reader { return s.text }

// Peek returns the first bytes of the decompressed input, at most n (4096 at
// most) and fewer where it is shorter, without consuming them. Call it before
// Text and Next.
func (s *Source) Peek(n int) []byte {
	head, _ := s.text.Peek(n) // damage is reported by what reads
	return head
}

// Next returns the next line that is not blank, without its end and a leading
// byte-order mark, and its number from 1. The error is io.EOF after the last.
//
// Lines are parts of larger blocks of text: what is kept of one is to be cloned.
func (s *Source) Next() (string, int64, error) {
	for {
		text, err := s.nextLine()
		if err != nil {
			return "", 0, err
		}
		s.line++
		if s.line == 1 {
			text = strings.TrimPrefix(text, "\ufeff")
		}
		if line := trim(text); line != "" {
			return line, s.line, nil
		}
	}
}

// blockSize is how much text is made lines of at once.
const blockSize = 4 * MaxLine

// nextLine returns the next line, without its newline.
func (s *Source) nextLine() (string, error) {
	for {
		if i := strings.IndexByte(s.block, '\n'); i >= 0 {
			line := s.block[:i]
			s.block = s.block[i+1:]
			if len(line) >= MaxLine {
				return "", s.tooLong()
			}
			return line, nil
		}
		if len(s.block) >= MaxLine {
			return "", s.tooLong()
		}
		if s.ended != nil {
			line := s.block
			s.block = ""
			if line == "" || !errors.Is(s.ended, io.EOF) { // what damage cut is no line
				return "", s.ended
			}
			return line, nil
		}
		s.nextBlock()
	}
}

// nextBlock adds text to the block, of which a part of a line is left.
func (s *Source) nextBlock() {
	if s.bytes == nil {
		s.bytes = make([]byte, blockSize)
	}
	n := copy(s.bytes, s.block)
	for n < len(s.bytes) && s.ended == nil {
		var m int
		m, s.ended = s.text.Read(s.bytes[n:])
		n += m
		if bytes.IndexByte(s.bytes[n-m:n], '\n') >= 0 {
			break
		}
	}
	s.block = string(s.bytes[:n])
}

func (s *Source) tooLong() error {
	return s.Error(s.line+1, "", fmt.Sprintf("a line of more than %d bytes", MaxLine), "is this a text file? name the trace itself")
}

// SHA256 returns the hash of the whole input as given, before decompression,
// in hex. It reads what is left of it.
func (s *Source) SHA256() (string, error) {
	if _, err := io.Copy(io.Discard, s.raw); err != nil {
		return "", fmt.Errorf("importers: read %s: %w", s.Name, err)
	}
	return hex.EncodeToString(s.hash.Sum(nil)), nil
}

// Error returns a one-line error about a line (0: the whole file) of s.
func (s *Source) Error(line int64, column, value, fix string) *datasets.RowError {
	return &datasets.RowError{File: s.Name, Row: line, Column: column, Value: value, Fix: fix}
}

func (s *Source) damaged(err error) error {
	return s.Error(0, "", fmt.Sprintf("cannot be read after line %d (%v)", s.line, err), "copy or download it again")
}

// Fields splits a line of comma-separated values. Quoted fields may hold
// commas but not line ends.
func Fields(line string) ([]string, error) {
	if !strings.Contains(line, `"`) {
		return strings.Split(line, ","), nil
	}
	r := csv.NewReader(strings.NewReader(line))
	r.FieldsPerRecord = -1
	return r.Read()
}
