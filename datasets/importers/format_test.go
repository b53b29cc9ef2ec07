package importers

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/yardmaster/yardmaster/datasets"
)

// numbers is text that does not compress well, so that a zstd block is large.
func numbers(lines int) string {
	r := rand.New(rand.NewPCG(1, 2))
	var b strings.Builder
	for range lines {
		b.WriteString(strconv.FormatUint(r.Uint64(), 10) + "\n")
	}
	return b.String()
}

func TestHeadIsTheBeginningOfTheTextWhateverTheCompression(t *testing.T) {
	for _, text := range []string{"a,b\n1,2\n", numbers(100), numbers(40_000)} {
		want := text[:min(len(text), SniffSize)]
		for name, input := range map[string][]byte{"none": []byte(text), "gzip": gzipped(t, text), "zstd": zstded(t, text)} {
			head, all, err := Head(iotest.HalfReader(bytes.NewReader(input)))
			if err != nil {
				t.Fatal(err)
			}
			if string(head) != want {
				t.Errorf("%s of %d bytes: got a head of %d bytes, want the first %d", name, len(text), len(head), len(want))
			}
			if rest, err := io.ReadAll(all); err != nil || !bytes.Equal(rest, input) {
				t.Errorf("%s: the reader has %d bytes (%v), want all %d", name, len(rest), err, len(input))
			}
		}
	}
}

func TestHeadOfDamagedInputIsNoError(t *testing.T) {
	for _, input := range [][]byte{nil, {0x1f, 0x8b}, gzipped(t, numbers(100))[:40], zstded(t, numbers(100))[:20]} {
		if _, all, err := Head(bytes.NewReader(input)); err != nil || all == nil {
			t.Errorf("%x: got %v, want no error: the import reports it", input, err)
		}
	}
	if _, _, err := Head(iotest.ErrReader(io.ErrClosedPipe)); err == nil {
		t.Error("an error of the reader is lost")
	}
}

func TestDetectKeepsTheOrder(t *testing.T) {
	begins := func(name, prefix string) Format {
		return Format{Name: name, Sniff: func(head []byte) bool { return bytes.HasPrefix(head, []byte(prefix)) }}
	}
	formats := []Format{begins("c", "ab"), begins("a", "x"), begins("b", "a")}
	var got []string
	for _, f := range Detect(formats, []byte("abc")) {
		got = append(got, f.Name)
	}
	if diff := cmp.Diff([]string{"c", "b"}, got); diff != "" {
		t.Errorf("formats (-want +got):\n%s", diff)
	}
}

func TestOpenNamesTheRemedyForAnArchive(t *testing.T) {
	header := make([]byte, 512)
	copy(header, "trace-data/cluster_job_log")
	copy(header[257:], "ustar\x0000")
	for _, input := range [][]byte{header, gzipped(t, string(header))} {
		_, err := Open(bytes.NewReader(input), "trace-data.tar.gz")
		if got, ok := errors.AsType[*datasets.RowError](err); !ok || !strings.Contains(got.Fix, "unpack") {
			t.Errorf("got %v, want advice to unpack the archive", err)
		}
	}
}

func TestTextIsTheWholeDecompressedInput(t *testing.T) {
	text := numbers(10_000)
	for _, input := range [][]byte{[]byte(text), gzipped(t, text), zstded(t, text)} {
		s, err := Open(bytes.NewReader(input), "t")
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(s.Text()); err != nil || string(got) != text {
			t.Errorf("%s: got %d bytes (%v), want %d", s.Compression, len(got), err, len(text))
		}
		s.Close()
	}
	whole := gzipped(t, text)
	s, err := Open(bytes.NewReader(whole[:len(whole)/2]), "t")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := io.ReadAll(s.Text()); err == nil || !strings.Contains(err.Error(), "cannot be read") {
		t.Errorf("got %v of half a file, want an error about the source", err)
	}
}
