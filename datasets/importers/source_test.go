package importers

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"

	"github.com/yardmaster/yardmaster/datasets"
)

const text = "a,b\r\n\n1,2\n   \n3,4"

func gzipped(t *testing.T, s string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := io.WriteString(w, s); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func zstded(t *testing.T, s string) []byte {
	t.Helper()
	w, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	return w.EncodeAll([]byte(s), nil)
}

type line struct {
	Text   string
	Number int64
}

func readAll(s *Source) ([]line, error) {
	var lines []line
	for {
		l, n, err := s.Next()
		if errors.Is(err, io.EOF) {
			return lines, nil
		}
		if err != nil {
			return lines, err
		}
		lines = append(lines, line{l, n})
	}
}

func TestSourceTellsCompressionByContent(t *testing.T) {
	for want, input := range map[string][]byte{"none": []byte(text), "gzip": gzipped(t, text), "zstd": zstded(t, text)} {
		t.Run(want, func(t *testing.T) {
			s, err := Open(iotest.OneByteReader(bytes.NewReader(input)), "t.csv")
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			got, err := readAll(s)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]line{{"a,b", 1}, {"1,2", 3}, {"3,4", 5}}, got); diff != "" {
				t.Errorf("lines (-want +got):\n%s", diff)
			}
			if s.Compression != want {
				t.Errorf("got compression %q, want %q", s.Compression, want)
			}
			sum := sha256.Sum256(input)
			if digest, err := s.SHA256(); err != nil || digest != hex.EncodeToString(sum[:]) {
				t.Errorf("got hash %s (%v), want that of the input as given", digest, err)
			}
		})
	}
}

// The hash covers the whole input also where only its head was read.
func TestSHA256OfAnUnreadSource(t *testing.T) {
	input := []byte(strings.Repeat("line\n", 100_000))
	s, err := Open(bytes.NewReader(input), "t.csv")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	sum := sha256.Sum256(input)
	if digest, err := s.SHA256(); err != nil || digest != hex.EncodeToString(sum[:]) {
		t.Errorf("got hash %s (%v), want that of all the input", digest, err)
	}
}

func TestSourceRefusesBadInput(t *testing.T) {
	whole, frame := gzipped(t, strings.Repeat(text, 100)), zstded(t, strings.Repeat(text, 100))
	tests := []struct {
		name  string
		input []byte
		value string
		row   int64
	}{
		{"empty", nil, "empty (0 bytes)", 0},
		{"gzip cut short", whole[:len(whole)-12], "cannot be read", 0},
		{"gzip head only", whole[:4], "cannot be read", 0},
		{"zstd cut short", frame[:len(frame)-6], "cannot be read", 0},
		{"long line", []byte("a\n" + strings.Repeat("x", MaxLine+1)), "a line of more than", 2},
		{"long line, compressed", gzipped(t, "a\n"+strings.Repeat("x", 1<<24)), "a line of more than", 2},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s, err := Open(bytes.NewReader(test.input), "t.csv")
			if err == nil {
				defer s.Close()
				_, err = readAll(s)
			}
			got, ok := errors.AsType[*datasets.RowError](err)
			if !ok || got.File != "t.csv" || got.Row != test.row || !strings.Contains(got.Value, test.value) || got.Fix == "" {
				t.Errorf("got %#v, want a RowError for row %d with %q", err, test.row, test.value)
			}
		})
	}
}

func TestSourcePassesReadErrorsOn(t *testing.T) {
	if _, err := Open(iotest.ErrReader(io.ErrClosedPipe), "t.csv"); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("got %v, want the reader's error", err)
	}
}

func TestFields(t *testing.T) {
	for line, want := range map[string][]string{
		"a,b,":          {"a", "b", ""},
		`"a,b",c`:       {"a,b", "c"},
		`"say ""hi""",`: {`say "hi"`, ""},
	} {
		got, err := Fields(line)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", line, diff)
		}
	}
	if _, err := Fields(`"open`); err == nil {
		t.Error("an open quote was accepted")
	}
}

// A few kilobytes can be compressed from gigabytes of rows.
func TestSourceRefusesTextOutOfProportion(t *testing.T) {
	const parts = freeText>>20 + 2 // of about a mebibyte: both forms may be joined
	part := strings.Repeat("1,2,3\n", 1<<20/6)
	rows := strings.Repeat(part, parts)
	for name, input := range map[string][]byte{"gzip": bytes.Repeat(gzipped(t, part), parts), "zstd": bytes.Repeat(zstded(t, part), parts)} {
		s, err := Open(bytes.NewReader(input), "t.csv")
		if err != nil {
			t.Fatal(err)
		}
		n, err := io.Copy(io.Discard, s.Text())
		if got, ok := errors.AsType[*datasets.RowError](err); !ok || !strings.Contains(got.Value, "250 times") {
			t.Errorf("%s: %d bytes of text from %d, error %v", name, n, len(input), err)
		}
		s.Close()
	}
	s, err := Open(strings.NewReader(rows), "t.csv")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if n, err := io.Copy(io.Discard, s.Text()); err != nil || n != int64(len(rows)) {
		t.Errorf("not compressed: %d of %d bytes, error %v", n, len(rows), err)
	}
}
