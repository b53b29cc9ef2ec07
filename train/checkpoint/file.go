package checkpoint

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"

	"github.com/google/renameio/v2"
)

// Version of the format that is written and read.
const Version = 1

const (
	magic     = "ymstate\n"
	hashBytes = sha256.Size
	header    = len(magic) + hashBytes + 4
)

// MaxBytes limits the files that Read reads.
const MaxBytes = 2 << 30

// Errors that name what is wrong with a file.
var (
	// ErrDamaged says that the bytes are not those that were written.
	ErrDamaged = errors.New("checkpoint: damaged")
	// ErrVersion says that another version of the program wrote them.
	ErrVersion = errors.New("checkpoint: another format version")
)

// Encode returns the bytes of a file with these sections.
func (s Sections) Encode() ([]byte, error) {
	body := binary.LittleEndian.AppendUint32(nil, Version)
	for _, name := range slices.Sorted(maps.Keys(s)) {
		if len(name) > math.MaxUint16 {
			return nil, fmt.Errorf("checkpoint: a section's name has %d bytes, want at most %d", len(name), math.MaxUint16)
		}
		body = binary.LittleEndian.AppendUint16(body, uint16(len(name)))
		body = append(body, name...)
		body = binary.LittleEndian.AppendUint64(body, uint64(len(s[name])))
		body = append(body, s[name]...)
	}
	sum := sha256.Sum256(body)
	return slices.Concat([]byte(magic), sum[:], body), nil
}

// Decode is the inverse of Encode. The sections are views of raw.
func Decode(raw []byte) (Sections, error) {
	if len(raw) < header || string(raw[:len(magic)]) != magic {
		return nil, fmt.Errorf("%w: %d bytes that do not begin as a file of state does", ErrDamaged, len(raw))
	}
	body := raw[len(magic)+hashBytes:]
	if sum := sha256.Sum256(body); !bytes.Equal(sum[:], raw[len(magic):][:hashBytes]) {
		return nil, fmt.Errorf("%w: the SHA-256 of its %d bytes is not the one in its header", ErrDamaged, len(raw))
	}
	if v := binary.LittleEndian.Uint32(body); v != Version {
		return nil, fmt.Errorf("%w: %d, this program reads %d", ErrVersion, v, Version)
	}
	return decodeSections(body[4:])
}

// decodeSections reads sections until the end of rest. The hash does not vouch for
// them: anyone can compute one.
func decodeSections(rest []byte) (Sections, error) {
	s := make(Sections)
	for last := ""; len(rest) > 0; {
		name, after, ok := cut(rest, 2)
		if !ok {
			return nil, fmt.Errorf("%w: the name of a section ends with the file", ErrDamaged)
		}
		data, after, ok := cut(after, 8)
		if !ok {
			return nil, fmt.Errorf("%w: section %.40q ends with the file", ErrDamaged, name)
		}
		if len(s) > 0 && string(name) <= last {
			return nil, fmt.Errorf("%w: section %.40q follows %.40q", ErrDamaged, name, last)
		}
		last, rest = string(name), after
		s[last] = data
	}
	return s, nil
}

// cut takes a length of so many bytes, and as much as it says, off rest.
func cut(rest []byte, width int) (data, after []byte, ok bool) {
	if len(rest) < width {
		return nil, nil, false
	}
	var wide [8]byte
	copy(wide[:], rest[:width])
	n := binary.LittleEndian.Uint64(wide[:])
	if rest = rest[width:]; n > uint64(len(rest)) {
		return nil, nil, false
	}
	return rest[:n:n], rest[n:], true
}

// Write puts a file with these sections at path, whole or not at all.
func Write(path string, s Sections) error {
	raw, err := s.Encode()
	if err != nil {
		return err
	}
	if len(raw) > MaxBytes {
		return fmt.Errorf("checkpoint: %s would have %d bytes, want at most %d", path, len(raw), MaxBytes)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	// The temporary file is beside it, where Clean finds what a killed process left.
	if err := renameio.WriteFile(path, raw, 0o644, renameio.WithTempDir(filepath.Dir(path))); err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	return nil
}

// Read returns the sections of the file at path. Its errors name the file.
func Read(path string) (Sections, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("checkpoint: %w", err)
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, MaxBytes+1))
	if err != nil {
		return nil, fmt.Errorf("checkpoint: %s: %w", path, err)
	}
	if len(raw) > MaxBytes {
		return nil, fmt.Errorf("%w: %s has more than %d bytes", ErrDamaged, path, MaxBytes)
	}
	s, err := Decode(raw)
	if err != nil {
		return nil, fmt.Errorf("%w (%s)", err, path)
	}
	return s, nil
}

// Clean removes what writers that were killed left in dir: files with a name that
// begins with a dot. It is to be called only where nobody writes.
func Clean(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		if e.Name()[0] == '.' && !e.IsDir() {
			err = errors.Join(err, os.Remove(filepath.Join(dir, e.Name())))
		}
	}
	if err != nil {
		return fmt.Errorf("checkpoint: clean %s: %w", dir, err)
	}
	return nil
}
