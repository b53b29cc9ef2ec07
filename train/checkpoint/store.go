package checkpoint

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// ErrNone says that a store has no checkpoint.
var ErrNone = errors.New("checkpoint: none")

// Store is the numbered checkpoints of a run in a folder of their own. It is not safe
// for concurrent use.
type Store struct {
	Dir  string
	Keep int // of the last ones; at least 1
}

const extension = ".state"

func (s *Store) path(number int) string {
	return filepath.Join(s.Dir, fmt.Sprintf("%06d%s", number, extension))
}

// Save writes checkpoint number, which follows all others, and removes those before
// the last Keep.
func (s *Store) Save(number int, sections Sections) error {
	if err := Write(s.path(number), sections); err != nil {
		return err
	}
	if err := syncFolder(s.Dir); err != nil { // before any is removed
		return err
	}
	numbers, err := s.Numbers()
	if err != nil {
		return err
	}
	for _, old := range numbers[min(max(1, s.Keep), len(numbers)):] {
		if err := os.Remove(s.path(old)); err != nil {
			return fmt.Errorf("checkpoint: %w", err)
		}
	}
	return nil
}

// syncFolder makes the names in a folder last.
func syncFolder(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	defer f.Close()
	if err := f.Sync(); err != nil {
		return fmt.Errorf("checkpoint: sync %s: %w", dir, err)
	}
	return nil
}

// Numbers returns those of the checkpoints that are there, the last one first.
func (s *Store) Numbers() ([]int, error) {
	entries, err := os.ReadDir(s.Dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("checkpoint: %w", err)
	}
	var numbers []int
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), extension)
		if n, err := strconv.Atoi(name); ok && err == nil && n >= 0 && filepath.Base(s.path(n)) == e.Name() {
			numbers = append(numbers, n)
		}
	}
	slices.SortFunc(numbers, func(a, b int) int { return cmp.Compare(b, a) })
	return numbers, nil
}

// Latest hands checkpoints to use, the last one first, until use takes one. One that
// is damaged, or that use returns ErrDamaged for, is passed to refused with its name,
// and the one before it is tried; it returns an error if none is left, and ErrNone if
// there was none. Any other error of use ends the search.
func (s *Store) Latest(use func(number int, sections Sections) error, refused func(error)) error {
	numbers, err := s.Numbers()
	if err != nil {
		return err
	}
	if len(numbers) == 0 {
		return fmt.Errorf("%w in %s", ErrNone, s.Dir)
	}
	var all error
	for _, n := range numbers {
		sections, err := Read(s.path(n))
		if err == nil {
			if err = use(n, sections); err == nil {
				return nil
			}
			err = fmt.Errorf("%w (%s)", err, s.path(n))
		}
		if !errors.Is(err, ErrDamaged) {
			return err
		}
		refused(err)
		all = errors.Join(all, err)
	}
	return fmt.Errorf("checkpoint: no usable one in %s: %w", s.Dir, all)
}

// Drop removes the checkpoints after number: those that were refused, so that they
// do not come before better ones.
func (s *Store) Drop(number int) error {
	numbers, err := s.Numbers()
	for _, n := range numbers {
		if n > number {
			err = errors.Join(err, os.Remove(s.path(n)))
		}
	}
	return err
}
