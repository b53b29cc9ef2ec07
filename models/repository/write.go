package repository

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/gofrs/flock"

	"github.com/yardmaster/yardmaster/models"
)

const (
	lockFile  = ".lock"
	temporary = ".tmp-"
)

// Import adds the model in the folder dir as a version of name, the next one
// where version is the zero Version. A model that Verify would refuse is not
// added. The bytes of the files are kept as they are.
func (r *Repository) Import(name, dir string, version Version) (ID, error) {
	f, err := models.ReadFiles(dir)
	if err != nil {
		return ID{}, fmt.Errorf("repository: import: %w", err)
	}
	id, err := r.Add(name, f, version)
	if err != nil {
		return ID{}, fmt.Errorf("repository: import %s: %w", dir, err)
	}
	return id, nil
}

// Add is Import of the bytes of a model's files.
func (r *Repository) Add(name string, f models.Files, version Version) (ID, error) {
	if err := CheckName(name); err != nil {
		return ID{}, err
	}
	m, err := Check(f)
	if err != nil {
		return ID{}, err
	}
	if m.Golden == nil {
		f.Golden = nil // nobody would read it
	}
	var id ID
	err = r.locked(func() error {
		if id, err = r.place(name, version); err != nil {
			return err
		}
		return r.publish(id, f)
	})
	return id, err
}

// locked calls f while no other writer is at work, after removing what writers
// left that did not finish.
func (r *Repository) locked(f func() error) (err error) {
	lock := flock.New(filepath.Join(r.root, lockFile))
	if err := lock.Lock(); err != nil {
		return fmt.Errorf("repository: lock: %w", err)
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	if err := r.sweep(); err != nil {
		return err
	}
	return f()
}

// sweep removes temporary folders. Whoever made them is gone: the caller holds
// the lock.
func (r *Repository) sweep() error {
	entries, err := os.ReadDir(r.root)
	if err != nil {
		return fmt.Errorf("repository: %w", err)
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), temporary) {
			if err := os.RemoveAll(filepath.Join(r.root, e.Name())); err != nil {
				return fmt.Errorf("repository: remove what was not finished: %w", err)
			}
		}
	}
	return nil
}

// place returns the version to be added.
func (r *Repository) place(name string, version Version) (ID, error) {
	versions, err := r.Versions(name)
	if err != nil {
		return ID{}, err
	}
	if version == (Version{}) {
		var last Version
		if len(versions) > 0 {
			last = versions[len(versions)-1]
		}
		version = last.Next()
	}
	id := ID{name, version}
	if slices.Contains(versions, version) {
		return ID{}, fmt.Errorf("%w: %s", ErrExists, id)
	}
	return id, nil
}

// publish writes the files to a temporary folder and renames it.
func (r *Repository) publish(id ID, f models.Files) error {
	temp, err := os.MkdirTemp(r.root, temporary)
	if err != nil {
		return fmt.Errorf("repository: add %s: %w", id, err)
	}
	defer func() { _ = os.RemoveAll(temp) }() // gone once renamed; else the next writer removes it
	if err := errors.Join(f.Write(temp), os.Chmod(temp, 0o755), syncFolder(temp)); err != nil {
		return fmt.Errorf("repository: add %s: %w", id, err)
	}
	parent := filepath.Join(r.root, id.Name)
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return fmt.Errorf("repository: add %s: %w", id, err)
	}
	if err := os.Rename(temp, r.Dir(id)); err != nil {
		return fmt.Errorf("repository: add %s: %w", id, err)
	}
	if err := errors.Join(syncFolder(parent), syncFolder(r.root)); err != nil {
		return fmt.Errorf("repository: add %s: %w", id, err)
	}
	return nil
}

// Replace adds a version in the place of the one that is there, if there is: for
// copies of what is kept elsewhere. It does nothing where the version has the same
// files already. In between there may be no such version for a moment.
func (r *Repository) Replace(id ID, f models.Files) (changed bool, err error) {
	if err := CheckName(id.Name); err != nil {
		return false, err
	}
	if _, err := Check(f); err != nil {
		return false, err
	}
	err = r.locked(func() error {
		if have, err := r.Files(id); err == nil && have.Equal(f) {
			return nil
		}
		changed = true
		if err := r.drop(id); err != nil && !errors.Is(err, ErrNotFound) {
			return err
		}
		return r.publish(id, f)
	})
	return changed, err
}

// Remove removes a version, unless active.json names it.
func (r *Repository) Remove(id ID) error {
	if err := CheckName(id.Name); err != nil {
		return err
	}
	return r.locked(func() error {
		active, err := r.Active()
		if err != nil {
			return fmt.Errorf("%w; nothing is removed while it is not known what is in use", err)
		}
		if role := active.role(id); role != "" {
			return fmt.Errorf("%w: %s is %s", ErrInUse, id, role)
		}
		return r.drop(id)
	})
}

// drop removes a version.
func (r *Repository) drop(id ID) error {
	gone := filepath.Join(r.root, temporary+id.Name+"-"+id.Version.String())
	if err := os.Rename(r.Dir(id), gone); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%w: %s", ErrNotFound, id)
		}
		return fmt.Errorf("repository: remove %s: %w", id, err)
	}
	if err := errors.Join(syncFolder(filepath.Join(r.root, id.Name)), os.RemoveAll(gone)); err != nil {
		return fmt.Errorf("repository: remove %s: %w", id, err)
	}
	return nil
}

// syncFolder makes what was renamed in a folder last. File systems that cannot
// sync a folder say EINVAL.
func syncFolder(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := f.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) {
		return err
	}
	return nil
}
