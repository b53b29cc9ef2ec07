package wire

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"
)

// A payload beyond what the broker takes as one message travels in chunks: the
// chunks on the cluster's own subject (Subjects.Chunk), each with HeaderChunk
// and HeaderDigest, and after them the message itself, without a body, with
// HeaderChunks and HeaderDigest. NATS keeps the order of what one connection
// publishes, so the chunks are there when the message is.

// MaxChunks bounds the chunks of one message.
const MaxChunks = 1024

// ChunkRoom is kept free of a broker's largest payload for headers.
const ChunkRoom = 1 << 10

// Split cuts payload into chunks of at most size bytes and returns their digest.
// The chunks are parts of payload.
func Split(payload []byte, size int) (digest string, chunks [][]byte, err error) {
	if size < 1 || len(payload) > size*MaxChunks || len(payload) > MaxEncodedBytes {
		return "", nil, Errorf(CodeTooLarge, "", "a message of %d bytes in chunks of %d, want at most %d bytes in at most %d", len(payload), size, MaxEncodedBytes, MaxChunks)
	}
	for rest := payload; len(rest) > 0; {
		n := min(size, len(rest))
		chunks = append(chunks, rest[:n:n])
		rest = rest[n:]
	}
	return Digest(payload), chunks, nil
}

// Digest returns the SHA-256 of payload in hexadecimal.
func Digest(payload []byte) string {
	sum := sha256.Sum256(payload)
	return hex.EncodeToString(sum[:])
}

// FormatChunk returns the HeaderChunk of the i-th of n chunks, from 0.
func FormatChunk(i, n int) string { return strconv.Itoa(i+1) + "/" + strconv.Itoa(n) }

// ParseChunk reads what FormatChunk wrote.
func ParseChunk(header string) (i, n int, err error) {
	first, second, ok := strings.Cut(header, "/")
	if ok {
		i, err = strconv.Atoi(first)
	}
	if ok && err == nil {
		n, err = ParseChunks(second)
	}
	if !ok || err != nil || i < 1 || i > n {
		return 0, 0, Errorf(CodeMalformed, "", "header %s is %.64q, want such as 3/7, at most %d", HeaderChunk, header, MaxChunks)
	}
	return i - 1, n, nil
}

// ParseChunks reads a HeaderChunks.
func ParseChunks(header string) (int, error) {
	n, err := strconv.Atoi(header)
	if err != nil || n < 1 || n > MaxChunks {
		return 0, Errorf(CodeMalformed, "", "header %s is %.64q, want 1 to %d", HeaderChunks, header, MaxChunks)
	}
	return n, nil
}

// checkDigest reports whether a HeaderDigest has the right form.
func checkDigest(digest string) error {
	if len(digest) == hex.EncodedLen(sha256.Size) {
		if _, err := hex.DecodeString(digest); err == nil {
			return nil
		}
	}
	return Errorf(CodeMalformed, "", "header %s is %.80q, want 64 hexadecimal digits", HeaderDigest, digest)
}
