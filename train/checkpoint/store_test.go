package checkpoint

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func filled(t *testing.T, keep int, numbers ...int) *Store {
	t.Helper()
	s := &Store{Dir: filepath.Join(t.TempDir(), "a", "b"), Keep: keep}
	for _, n := range numbers {
		if err := s.Save(n, Sections{"n": {byte(n)}}); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func numbers(t *testing.T, s *Store) []int {
	t.Helper()
	all, err := s.Numbers()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestStoreKeepsTheLast(t *testing.T) {
	s := filled(t, 3, 0, 1, 2, 3, 4)
	if got := numbers(t, s); !slices.Equal(got, []int{4, 3, 2}) {
		t.Errorf("kept %v, want 4, 3 and 2", got)
	}
	for _, name := range []string{"7.state", "000009.txt", "x.state", "-00001.state", ".000008.state12"} {
		if err := os.WriteFile(filepath.Join(s.Dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got := numbers(t, s); !slices.Equal(got, []int{4, 3, 2}) {
		t.Errorf("with files of others: %v", got)
	}
	if err := s.Drop(2); err != nil {
		t.Fatal(err)
	}
	if got := numbers(t, s); !slices.Equal(got, []int{2}) {
		t.Errorf("after Drop: %v, want 2", got)
	}
	if got := numbers(t, filled(t, 0, 1, 2)); !slices.Equal(got, []int{2}) {
		t.Errorf("a store that keeps none has %v, want the last one", got)
	}
}

// Latest goes from the last to the first, past those that are damaged or that its
// user cannot use, and names them.
func TestLatestSkipsTheDamaged(t *testing.T) {
	s := filled(t, 4, 1, 2, 3, 4)
	if err := os.Truncate(s.path(4), 30); err != nil {
		t.Fatal(err)
	}
	var refused []string
	used := 0
	err := s.Latest(func(n int, sections Sections) error {
		if sections["n"][0] != byte(n) {
			t.Errorf("checkpoint %d holds %v", n, sections)
		}
		if n == 3 {
			return ErrDamaged
		}
		used = n
		return nil
	}, func(err error) { refused = append(refused, err.Error()) })
	if err != nil || used != 2 {
		t.Errorf("used checkpoint %d, %v, want 2", used, err)
	}
	if len(refused) != 2 || !strings.Contains(refused[0], s.path(4)) || !strings.Contains(refused[1], s.path(3)) {
		t.Errorf("refused %q, want 4 and 3 by name", refused)
	}
}

func TestLatestFails(t *testing.T) {
	ignore := func(error) {}
	take := func(int, Sections) error { return nil }
	if err := filled(t, 3).Latest(take, ignore); !errors.Is(err, ErrNone) {
		t.Errorf("an empty store: got %v, want ErrNone", err)
	}
	s := filled(t, 3, 1, 2)
	other := errors.New("not today")
	calls := 0
	err := s.Latest(func(int, Sections) error { calls++; return other }, ignore)
	if !errors.Is(err, other) || calls != 1 || !strings.Contains(err.Error(), s.path(2)) {
		t.Errorf("got %v after %d calls, want the user's error after one", err, calls)
	}
	for _, n := range []int{1, 2} {
		if err := os.Truncate(s.path(n), 3); err != nil {
			t.Fatal(err)
		}
	}
	err = s.Latest(take, ignore)
	if !errors.Is(err, ErrDamaged) || errors.Is(err, ErrNone) || !strings.Contains(err.Error(), s.path(1)) || !strings.Contains(err.Error(), s.path(2)) {
		t.Errorf("all damaged: got %v, want ErrDamaged and both names", err)
	}
}

// A file is replaced whole: where it cannot be, what was there stays.
func TestWriteReplaces(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.state")
	for _, want := range []byte{1, 2} {
		if err := Write(path, Sections{"a": {want}}); err != nil {
			t.Fatal(err)
		}
		if s, err := Read(path); err != nil || s["a"][0] != want {
			t.Errorf("got %v, %v, want %d", s, err, want)
		}
	}
	if entries, err := os.ReadDir(filepath.Dir(path)); err != nil || len(entries) != 1 {
		t.Errorf("left %v, %v", entries, err)
	}
	if err := Write(filepath.Join(path, "below a file"), Sections{}); err == nil {
		t.Error("wrote below a file")
	}
}

func TestClean(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{".a.state1", "a.state", ".b"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(Clean(dir), Clean(filepath.Join(dir, "none"))); err != nil {
		t.Fatal(err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 || entries[0].Name() != "a.state" {
		t.Errorf("left %v, %v, want a.state", entries, err)
	}
}
