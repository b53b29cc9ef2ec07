package importers

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"

	"github.com/yardmaster/yardmaster/datasets"
)

// Format is a published format and its importer. Each importer's package has a
// function Format that returns its own; a list of them is the caller's.
type Format struct {
	Name  string // what the user calls it, such as "philly"
	About string // one line for a list of formats
	// Sniff reports whether an input begins like this format. head is the
	// beginning of the decompressed text, of at most [SniffSize] bytes, and may
	// end in the middle of a line.
	Sniff func(head []byte) bool
	// Import reads a trace of one file; name is what errors call it.
	Import func(r io.Reader, name string) (*datasets.Jobs, Report, error)
	// Join reads a trace of several files, in any order. It is nil where the
	// format has only one.
	Join func(inputs []Input) (*datasets.Jobs, Report, error)
}

// Input is one file of several.
type Input struct {
	Name   string // what errors call it
	Reader io.Reader
}

// SniffSize is the most bytes of text that Head returns.
const SniffSize = 16 << 10

// rawHead is how much of the input Head looks at: more than one block of zstd,
// which is decoded as a whole and has at most 128 KiB (RFC 8878, 3.1.1.2.3).
const rawHead = 160 << 10

// Head returns the beginning of the decompressed text of r, of at most
// [SniffSize] bytes, and a reader of all of r. Damage further on is no error
// here: it is reported by the import.
func Head(r io.Reader) ([]byte, io.Reader, error) {
	all := bufio.NewReaderSize(r, rawHead)
	raw, err := all.Peek(rawHead)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, nil, fmt.Errorf("importers: read: %w", err)
	}
	text, done, _, err := decompress(bytes.NewReader(raw), raw)
	if err != nil {
		return nil, all, nil // not even the header of the compression can be read
	}
	defer done()
	head := make([]byte, SniffSize)
	n, _ := io.ReadFull(text, head) // ends early: the text is short, or raw ends
	return head[:n], all, nil
}

// Detect returns the formats that recognise head, in their order.
func Detect(formats []Format, head []byte) []Format {
	var found []Format
	for _, f := range formats {
		if f.Sniff(head) {
			found = append(found, f)
		}
	}
	return found
}

// decompress returns the text of r, whose first bytes are head, what releases
// its decoder, and the name of the compression.
func decompress(r io.Reader, head []byte) (text io.Reader, done func(), name string, err error) {
	switch {
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b}):
		text, err = gzip.NewReader(r)
		return text, func() {}, "gzip", err
	case bytes.HasPrefix(head, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		d, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return nil, func() {}, "zstd", err
		}
		return d, d.Close, "zstd", nil
	}
	return r, func() {}, "none", nil
}
