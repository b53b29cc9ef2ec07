package bc

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"

	"github.com/yardmaster/yardmaster/env/rng"
	"github.com/yardmaster/yardmaster/train/checkpoint"
	"github.com/yardmaster/yardmaster/train/picks"
)

// Demonstrations of both kinds come back as they were.
func TestSaveRoundTrips(t *testing.T) {
	path := filepath.Join(t.TempDir(), "demonstrations")
	for _, n := range []int{0, 3} {
		want := someOfEach(t, rng.New(1, "demos"), n)
		if err := Save(path, want); err != nil {
			t.Fatal(err)
		}
		got, err := Load(path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%d demonstrations (-want +got):\n%s", n, diff)
		}
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	raw[len(raw)/2]++
	if err := os.WriteFile(path, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(path); !errors.Is(err, checkpoint.ErrDamaged) || !strings.Contains(err.Error(), path) {
		t.Errorf("damaged: got %v, want ErrDamaged and the file's name", err)
	}
}

// A few bytes that would unpack to gigabytes are refused.
func TestLoadRefusesBombs(t *testing.T) {
	w, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	bomb := w.EncodeAll(make([]byte, 64<<20), nil)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := unpack(bomb); !errors.Is(err, checkpoint.ErrDamaged) {
		t.Errorf("%d bytes of 64 MiB of zeros: got %v, want ErrDamaged", len(bomb), err)
	}
}

// Bytes that are no demonstrations are an error, and what is read can be learned from.
func FuzzDecode(f *testing.F) {
	path := filepath.Join(f.TempDir(), "demonstrations")
	if err := Save(path, someOfEach(f, rng.New(1, "demos"), 2)); err != nil {
		f.Fatal(err)
	}
	s, err := checkpoint.Read(path)
	if err != nil {
		f.Fatal(err)
	}
	plain, err := unpack(s[section])
	if err != nil {
		f.Fatal(err)
	}
	f.Add(plain)
	f.Add(s[section])
	f.Fuzz(func(t *testing.T, data []byte) {
		if _, err := unpack(data); err != nil && !errors.Is(err, checkpoint.ErrDamaged) {
			t.Errorf("got %v, want ErrDamaged", err)
		}
		demos, err := decode(data)
		if err != nil {
			if !errors.Is(err, checkpoint.ErrDamaged) {
				t.Errorf("got %v, want ErrDamaged", err)
			}
			return
		}
		var e picks.Evaluator
		for i := range demos {
			n := demos[i].Observation.N()
			demos[i].loss(&e, make([]float32, n), 1, make([]float32, n))
		}
	})
}
