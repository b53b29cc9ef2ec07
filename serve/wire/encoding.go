package wire

import (
	"errors"
	"fmt"
	"runtime"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// EncodingZstd is the one value of HeaderEncoding: a Zstandard frame (RFC 8878)
// around the JSON form.
const EncodingZstd = "zstd"

// maxWindow bounds what a frame may ask its reader to keep at hand. Encoders use
// less unless told otherwise (zstd --ultra --long).
const maxWindow = 8 << 20

// The coders are shared: they hold tables, and bound how many messages are
// compressed at once. The fastest level is used: on states it makes messages as
// small as the default one in less time.
var (
	packer = sync.OnceValue(func() *zstd.Encoder {
		e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(runtime.GOMAXPROCS(0)))
		if err != nil { // only for impossible options
			panic(err)
		}
		return e
	})
	unpacker = sync.OnceValue(func() *zstd.Decoder {
		d, err := zstd.NewReader(nil, zstd.WithDecoderMaxMemory(MaxBytes), zstd.WithDecoderMaxWindow(maxWindow), zstd.WithDecoderConcurrency(runtime.GOMAXPROCS(0)), zstd.WithDecoderLowmem(true))
		if err != nil {
			panic(err)
		}
		return d
	})
)

// Compress returns data as a zstd frame.
func Compress(data []byte) []byte { return packer().EncodeAll(data, make([]byte, 0, len(data)/8)) }

// Decompress returns the message in data, which came with this encoding; "" is
// plain and returned as it is. The result uses buf, which may be nil, if that is
// large enough. It never takes more than MaxBytes, whatever the frame holds or
// promises, and as many goroutines at once as there are cores.
func Decompress(data []byte, encoding string, buf []byte) ([]byte, error) {
	switch encoding {
	case "", "identity":
		return data, nil
	case EncodingZstd:
	default:
		return nil, Errorf(CodeSchema, "", "encoding is %.64q, want none or %q", encoding, EncodingZstd)
	}
	if len(data) > MaxEncodedBytes {
		return nil, Errorf(CodeTooLarge, "", "a compressed message of %d bytes, want at most %d", len(data), MaxEncodedBytes)
	}
	out, err := unpacker().DecodeAll(data, buf[:0])
	switch {
	case errors.Is(err, zstd.ErrDecoderSizeExceeded), errors.Is(err, zstd.ErrWindowSizeExceeded):
		return nil, Errorf(CodeTooLarge, "", "a compressed message of more than %d bytes", MaxBytes)
	case err != nil:
		return nil, Errorf(CodeMalformed, "", "not a zstd frame: %v", err)
	case len(out) > MaxBytes:
		return nil, Errorf(CodeTooLarge, "", "a compressed message of more than %d bytes", MaxBytes)
	}
	return out, nil
}

// Payload is a message's body as it travels.
type Payload struct {
	Data     []byte
	Encoding string // HeaderEncoding
}

// Pack returns the payload of message data: compressed where it is larger than
// above bytes, and plain where that makes it no smaller.
func Pack(data []byte, above int) (Payload, error) {
	if len(data) <= above {
		return Payload{Data: data}, nil
	}
	small := Compress(data)
	if len(small) > MaxEncodedBytes {
		return Payload{}, Errorf(CodeTooLarge, "", "a message of %d bytes compressed, want at most %d", len(small), MaxEncodedBytes)
	}
	if len(small) >= len(data) {
		return Payload{Data: data}, nil
	}
	return Payload{Data: small, Encoding: EncodingZstd}, nil
}

// String returns the payload's size and encoding.
func (p Payload) String() string {
	if p.Encoding == "" {
		return fmt.Sprintf("%d bytes", len(p.Data))
	}
	return fmt.Sprintf("%d bytes of %s", len(p.Data), p.Encoding)
}
