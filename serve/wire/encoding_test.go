package wire

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/klauspost/compress/zstd"
	"pgregory.net/rapid"
)

// code returns the code of an *Error, or 0.
func code(err error) Code {
	if refusal, ok := errors.AsType[*Error](err); ok {
		return refusal.Code
	}
	return 0
}

func TestPackRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		data := rapid.SliceOf(rapid.Byte()).Draw(t, "data")
		if rapid.Bool().Draw(t, "repeated") {
			data = bytes.Repeat(data, 100)
		}
		p, err := Pack(data, rapid.IntRange(-1, 300).Draw(t, "above"))
		if err != nil {
			t.Fatal(err)
		}
		if len(p.Data) > len(data) {
			t.Fatalf("%d bytes became %v", len(data), p)
		}
		got, err := Decompress(p.Data, p.Encoding, nil)
		if err != nil || !bytes.Equal(got, data) {
			t.Fatalf("got %d bytes, %v, want %d", len(got), err, len(data))
		}
	})
}

// bomb returns a frame that decompresses to n zeros, with or without saying so.
func bomb(t testing.TB, n int, says bool) []byte {
	t.Helper()
	var out bytes.Buffer
	e, err := zstd.NewWriter(&out, zstd.WithEncoderLevel(zstd.SpeedFastest))
	if err != nil {
		t.Fatal(err)
	}
	if says {
		return e.EncodeAll(make([]byte, n), nil)
	}
	for block := make([]byte, 1<<20); n > 0; n -= len(block) {
		if _, err := e.Write(block[:min(n, len(block))]); err != nil {
			t.Fatal(err)
		}
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// A small frame that grows beyond any message is refused before it did.
func TestDecompressRefuses(t *testing.T) {
	good := Compress([]byte(committedState(t)))
	large := make([]byte, MaxEncodedBytes+1)
	for _, test := range []struct {
		name, encoding string
		data           []byte
		want           Code
	}{
		{"bomb", EncodingZstd, bytes.Repeat(bomb(t, 8<<20, false), 100), CodeTooLarge},
		{"bomb that says so", EncodingZstd, bytes.Repeat(bomb(t, 8<<20, true), 100), CodeTooLarge},
		{"one byte too much", EncodingZstd, bomb(t, MaxBytes+1, true), CodeTooLarge},
		{"too many bytes", EncodingZstd, large, CodeTooLarge},
		{"no frame", EncodingZstd, []byte("hello"), CodeMalformed},
		{"cut", EncodingZstd, good[:len(good)/2], CodeMalformed},
		{"another encoding", "gzip", good, CodeSchema},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		out, err := Decompress(test.data, test.encoding, nil)
		runtime.ReadMemStats(&after)
		if out != nil || code(err) != test.want {
			t.Errorf("%s: got %d bytes, %v, want code %v", test.name, len(out), err, test.want)
		}
		// Of a frame that does not say how much it holds the result grows by parts.
		if took := after.TotalAlloc - before.TotalAlloc; took > 8*MaxBytes {
			t.Errorf("%s: took %d MiB", test.name, took>>20)
		}
	}
	if out, err := Decompress(bomb(t, MaxBytes, true), EncodingZstd, nil); err != nil || len(out) != MaxBytes {
		t.Errorf("the largest message: got %d bytes, %v", len(out), err)
	}
	if _, err := Pack(incompressible(MaxEncodedBytes+1), 0); code(err) != CodeTooLarge {
		t.Errorf("pack: got %v, want too_large", err)
	}
}

func incompressible(n int) []byte {
	data := make([]byte, n)
	source := rand.NewChaCha8([32]byte{1})
	_, _ = source.Read(data) // never fails
	return data
}
