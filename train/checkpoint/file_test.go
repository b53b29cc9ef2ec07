package checkpoint

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func example(t testing.TB) Sections {
	t.Helper()
	s := Sections{"bytes": {1, 2, 3}, "empty": {}}
	s.PutFloat32("numbers", []float32{1, -2.5, float32(math.Inf(1)), math.Float32frombits(0x7fc00123)})
	if err := s.PutJSON("json", map[string]float64{"a": 0.1}); err != nil {
		t.Fatal(err)
	}
	return s
}

func encode(t testing.TB, s Sections) []byte {
	t.Helper()
	raw, err := s.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func TestSectionsRoundTrip(t *testing.T) {
	want := example(t)
	got, err := Decode(encode(t, want))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	var json map[string]float64
	numbers := make([]float32, 4)
	if err := errors.Join(got.JSON("json", &json), got.Float32("numbers", numbers)); err != nil {
		t.Fatal(err)
	}
	if json["a"] != 0.1 || numbers[1] != -2.5 || math.Float32bits(numbers[3]) != 0x7fc00123 {
		t.Errorf("got %v and %v", json, numbers)
	}
}

func TestSectionsRefuse(t *testing.T) {
	s := example(t)
	var number int
	for name, err := range map[string]error{
		"no such section": s.JSON("other", &number),
		"another type":    s.JSON("json", &number),
		"too few numbers": s.Float32("numbers", make([]float32, 5)),
		"no numbers":      s.Float32("none", nil),
	} {
		if !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: got %v, want ErrDamaged", name, err)
		}
	}
	if err := s.PutJSON("nan", math.NaN()); err == nil || !strings.Contains(err.Error(), "nan") {
		t.Errorf("got %v, want an error that names the section", err)
	}
}

// Each truncation and each flipped bit is refused.
func TestEveryDamageIsRefused(t *testing.T) {
	raw := encode(t, example(t))
	for n := range raw {
		if _, err := Decode(raw[:n]); !errors.Is(err, ErrDamaged) {
			t.Fatalf("the first %d of %d bytes: got %v, want ErrDamaged", n, len(raw), err)
		}
		for bit := range 8 {
			bad := slices.Clone(raw)
			bad[n] ^= 1 << bit
			if _, err := Decode(bad); !errors.Is(err, ErrDamaged) {
				t.Fatalf("bit %d of byte %d flipped: got %v, want ErrDamaged", bit, n, err)
			}
		}
	}
	if _, err := Decode(append(raw, 0)); !errors.Is(err, ErrDamaged) {
		t.Errorf("a byte too many: got %v, want ErrDamaged", err)
	}
}

// sealed returns a file with this body, whose hash is right.
func sealed(body []byte) []byte {
	sum := sha256.Sum256(body)
	return slices.Concat([]byte(magic), sum[:], body)
}

func TestForgedFilesAreRefused(t *testing.T) {
	version := binary.LittleEndian.AppendUint32(nil, Version)
	section := func(name string, n uint64, data string) []byte {
		b := binary.LittleEndian.AppendUint16(nil, uint16(len(name)))
		b = append(b, name...)
		return append(binary.LittleEndian.AppendUint64(b, n), data...)
	}
	for name, body := range map[string][]byte{
		"half a length":   slices.Concat(version, []byte{1}),
		"a long name":     slices.Concat(version, []byte{255, 255, 'a'}),
		"a huge section":  slices.Concat(version, section("a", math.MaxUint64, "x")),
		"a name twice":    slices.Concat(version, section("a", 1, "x"), section("a", 1, "x")),
		"names backwards": slices.Concat(version, section("b", 1, "x"), section("a", 1, "x")),
	} {
		if _, err := Decode(sealed(body)); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: got %v, want ErrDamaged", name, err)
		}
	}
	later := sealed(binary.LittleEndian.AppendUint32(nil, Version+1))
	if _, err := Decode(later); !errors.Is(err, ErrVersion) || errors.Is(err, ErrDamaged) {
		t.Errorf("a later version: got %v, want ErrVersion alone", err)
	}
}

// A file of format version 1, as it was first written, is read for ever.
func TestVersion1(t *testing.T) {
	path := filepath.Join("testdata", "version1.state")
	got, err := Read(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(example(t), got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(raw, encode(t, got)) {
		t.Error("written again, the file has other bytes")
	}
}

func TestReadNamesTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.state")
	if _, err := Read(path); !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), path) {
		t.Errorf("no file: got %v", err)
	}
	if err := os.WriteFile(path, []byte("ymstate\nnot really"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(path); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), path) {
		t.Errorf("damaged: got %v", err)
	}
}

// Whatever is decoded is what its sections encode to, and nothing panics.
func FuzzDecode(f *testing.F) {
	raw := encode(f, example(f))
	f.Add(raw)
	f.Add(raw[:60])
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, raw []byte) {
		bodies := [][]byte{raw}
		if len(raw) > len(magic)+hashBytes {
			bodies = append(bodies, sealed(raw[len(magic)+hashBytes:])) // past the hash
		}
		for _, raw := range bodies {
			s, err := Decode(raw)
			if err != nil {
				continue
			}
			if !bytes.Equal(encode(t, s), raw) {
				t.Errorf("%x decodes to other bytes", raw)
			}
			if _, err := decodeBatch(s[batchSection]); err != nil && !errors.Is(err, ErrDamaged) {
				t.Errorf("a batch: %v", err)
			}
		}
	})
}
