package wire

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// Chunks in any order, some twice, of several messages and clusters at once,
// become the messages that were cut.
func TestChunksRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		type piece struct {
			cluster, header, digest string
			data                    []byte
		}
		var a Assembler
		var pieces []piece
		want := map[string][]byte{}
		count := map[string]string{}
		for _, cluster := range []string{"a", "b"} {
			for i := range maxPartial {
				data := rapid.SliceOfN(rapid.Byte(), 1, 200).Draw(t, "data")
				data = append(data, byte(i))
				digest, chunks, err := Split(data, rapid.IntRange(1, 50).Draw(t, "size"))
				if err != nil {
					t.Fatal(err)
				}
				for k, c := range chunks {
					for range rapid.IntRange(1, 2).Draw(t, "times") {
						pieces = append(pieces, piece{cluster, FormatChunk(k, len(chunks)), digest, c})
					}
					_, count[cluster+digest], _ = strings.Cut(FormatChunk(k, len(chunks)), "/")
				}
				want[cluster+digest] = data
			}
		}
		for _, p := range rapid.Permutation(pieces).Draw(t, "order") {
			if err := a.Add(p.cluster, p.header, p.digest, p.data); err != nil {
				t.Fatal(err)
			}
		}
		for key, data := range want {
			cluster, digest := key[:1], key[1:]
			parts, err := a.Take(cluster, count[key], digest)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := parts.Join(); err != nil || !bytes.Equal(got, data) {
				t.Fatalf("got %d bytes, %v, want %d", len(got), err, len(data))
			}
			if _, err := a.Take(cluster, count[key], digest); code(err) != CodeIncomplete {
				t.Fatalf("taken twice: got %v", err)
			}
		}
		if a.Bytes() != 0 || a.Dropped() != 0 {
			t.Fatalf("%d bytes are left and %d chunks dropped, want none", a.Bytes(), a.Dropped())
		}
	})
}

func TestChunksRefused(t *testing.T) {
	var a Assembler
	digest := Digest([]byte("ab"))
	for _, header := range []string{"", "1", "0/2", "3/2", "1/0", "-1/2", "1/2/3", "1/1025", "x/y", "1/999999999999999999999"} {
		if err := a.Add("c", header, digest, []byte("a")); code(err) != CodeMalformed {
			t.Errorf("chunk %q: got %v, want malformed", header, err)
		}
	}
	for _, bad := range []string{"", "abc", strings.Repeat("x", 64), digest + "00"} {
		if err := a.Add("c", "1/2", bad, []byte("a")); code(err) != CodeMalformed {
			t.Errorf("digest %q: got %v, want malformed", bad, err)
		}
	}
	if _, err := a.Take("c", "2", digest); code(err) != CodeIncomplete {
		t.Errorf("no chunk: got %v, want incomplete", err)
	}
	for _, header := range []string{"1/2", "1/3"} {
		_ = a.Add("c", header, digest, []byte("a"))
	}
	if _, err := a.Take("c", "3", digest); code(err) != CodeMalformed {
		t.Errorf("another number of chunks: got %v, want malformed", err)
	}
	if _, err := a.Take("c", "2", digest); code(err) != CodeIncomplete {
		t.Errorf("one of two chunks: got %v, want incomplete", err)
	}
	if _, err := a.Take("d", "2", digest); code(err) != CodeIncomplete {
		t.Errorf("another cluster's chunks: got %v, want incomplete", err)
	}
	_ = a.Add("c", "2/2", digest, []byte("c"))
	parts, err := a.Take("c", "2", digest)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := parts.Join(); code(err) != CodeMalformed {
		t.Errorf("other bytes than were cut: got %v, want malformed", err)
	}
	if _, _, err := Split(make([]byte, 5000), 4); code(err) != CodeTooLarge {
		t.Errorf("too many chunks: got %v, want too_large", err)
	}
}

// What waits is bounded in number, bytes and time, whatever is sent.
func TestChunksAreBounded(t *testing.T) {
	now := time.Time{}
	a := Assembler{Now: func() time.Time { return now }}
	digests := make([]string, 3*maxPartials)
	for i := range digests {
		digests[i] = Digest([]byte{byte(i), byte(i >> 8)})
	}
	for i, d := range digests {
		if err := a.Add("c"+d[:8], "1/2", d, []byte{byte(i)}); err != nil {
			t.Fatal(err)
		}
	}
	if len(a.partials) != maxPartials || a.Dropped() != 2*maxPartials {
		t.Errorf("got %d messages and %d chunks dropped, want %d and %d", len(a.partials), a.Dropped(), maxPartials, 2*maxPartials)
	}
	now = now.Add(ChunkTimeout + 1)
	if a.Dropped() != 3*maxPartials || len(a.partials) != 0 || a.Bytes() != 0 {
		t.Errorf("after the timeout: %d messages, %d bytes wait", len(a.partials), a.Bytes())
	}
	for _, d := range digests[:5] {
		_ = a.Add("c", "1/2", d, []byte("x"))
	}
	if len(a.partials) != maxPartial {
		t.Errorf("one cluster: %d messages wait, want %d", len(a.partials), maxPartial)
	}
	chunk := make([]byte, 8<<20)
	for i, d := range digests[:100] {
		for _, header := range []string{"1/3", "2/3"} {
			if err := a.Add("c"+digests[i][:8], header, d, chunk); err != nil {
				t.Fatal(err)
			}
		}
	}
	if a.Bytes() > maxPartialBytes {
		t.Errorf("%d bytes wait, want at most %d", a.Bytes(), maxPartialBytes)
	}
	if err := a.Add("c"+digests[99][:8], "3/3", digests[99], chunk); code(err) != CodeTooLarge {
		t.Errorf("one message too large: got %v, want too_large", err)
	}
}

// FuzzTransport reads what may come as a state: any bytes, compressed or not, cut
// in any way, with any headers.
func FuzzTransport(f *testing.F) {
	good := []byte(committedState(f))
	f.Add(good, "", "1/1", "1", uint8(0))
	f.Add(Compress(good), EncodingZstd, "2/3", "3", uint8(40))
	f.Add(bomb(f, 1<<20, false), EncodingZstd, "1/2", "2", uint8(9))
	f.Add(bomb(f, MaxBytes+1, true)[:64], EncodingZstd, "0/0", "x", uint8(1))
	f.Fuzz(func(t *testing.T, data []byte, encoding, chunk, chunks string, size uint8) {
		var a Assembler
		digest, list, err := Split(data, int(size))
		if err == nil {
			_ = a.Add("c", chunk, digest, data)
			for i, c := range list {
				if err := a.Add("c", FormatChunk(i, len(list)), digest, c); err != nil && code(err) == 0 {
					t.Fatalf("error %v is no *Error", err)
				}
			}
			if parts, err := a.Take("c", chunks, digest); err == nil {
				if joined, err := parts.Join(); err == nil && !bytes.Equal(joined, data) {
					t.Fatal("chunks became another message with the same digest")
				}
			}
		}
		plain, err := Decompress(data, encoding, nil)
		if err == nil {
			_, err = DecodeState(plain)
		}
		if err != nil && code(err) == 0 {
			t.Fatalf("error %v is no *Error", err)
		}
	})
}
