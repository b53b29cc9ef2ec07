// Package importers holds what every importer of a published trace shares: the
// input, whatever its compression, read line by line with its hash taken on
// the way.
//
// # Limits
//
// A line has at most [MaxLine] bytes. Compression is told by content, not by
// name: gzip, zstd or none. Memory does not grow with the input.
package importers

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"strings"

	"github.com/klauspost/compress/zstd"

	"github.com/yardmaster/yardmaster/datasets"
)

// MaxLine is the most bytes a line of text may have.
const MaxLine = 64 << 10

// maxWindow bounds the memory a zstd frame may ask for.
const maxWindow = 64 << 20

// Source is an input being read line by line. It is not safe for concurrent use.
type Source struct {
	Name        string // what errors call it
	Compression string // "gzip", "zstd" or "none"

	raw     io.Reader // the input as given, hashed on the way
	hash    hash.Hash
	close   func()
	scanner *bufio.Scanner
	line    int64
}

// Open begins to read r. Close the source when done.
func Open(r io.Reader, name string) (*Source, error) {
	s := &Source{Name: name, hash: sha256.New(), close: func() {}}
	raw := bufio.NewReaderSize(io.TeeReader(r, s.hash), 64<<10)
	s.raw = raw
	head, err := raw.Peek(4)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("importers: read %s: %w", name, err)
	}
	var text io.Reader = raw
	switch {
	case len(head) == 0:
		return nil, s.Error(0, "", "the file is empty (0 bytes)", "name the file with the trace")
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b}):
		s.Compression = "gzip"
		if text, err = gzip.NewReader(raw); err != nil {
			return nil, s.damaged(err)
		}
	case bytes.HasPrefix(head, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		s.Compression = "zstd"
		d, err := zstd.NewReader(raw, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return nil, s.damaged(err)
		}
		text, s.close = d, d.Close
	default:
		s.Compression = "none"
	}
	s.scanner = bufio.NewScanner(text)
	s.scanner.Buffer(make([]byte, 4<<10), MaxLine)
	return s, nil
}

// Close releases the decoder. It does not close the input.
func (s *Source) Close() { s.close() }

// Next returns the next line that is not blank, without its end, and its
// number from 1. The error is io.EOF after the last.
func (s *Source) Next() (string, int64, error) {
	for s.scanner.Scan() {
		s.line++
		if line := strings.TrimSpace(s.scanner.Text()); line != "" {
			return line, s.line, nil
		}
	}
	err := s.scanner.Err()
	switch {
	case err == nil:
		return "", 0, io.EOF
	case errors.Is(err, bufio.ErrTooLong):
		return "", 0, s.Error(s.line+1, "", fmt.Sprintf("a line of more than %d bytes", MaxLine), "is this a text file? name the trace itself")
	}
	return "", 0, s.damaged(err)
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
