package repository

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/yardmaster/yardmaster/models"
)

// Limits on what is listed.
const (
	MaxNames    = 1024
	MaxVersions = 4096 // of one name
)

var (
	// ErrNotFound is wrapped by the error about a model or version that is not
	// there.
	ErrNotFound = errors.New("repository: no such model")
	// ErrExists is wrapped by the error about a version that is there already.
	ErrExists = errors.New("repository: version exists")
	// ErrInUse is wrapped by the error of removing a version that is in use.
	ErrInUse = errors.New("repository: version is in use")
)

// Repository is a folder of models. It holds no file open, so it needs no
// closing; it is safe for concurrent use, also by several processes.
type Repository struct{ root string }

// Open returns the repository in the folder root, which must be there.
func Open(root string) (*Repository, error) {
	info, err := os.Stat(root)
	if err != nil {
		return nil, fmt.Errorf("repository: open: %w", err)
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("repository: open %s: not a folder", root)
	}
	return &Repository{root}, nil
}

// Create is Open of a folder that it makes if need be.
func Create(root string) (*Repository, error) {
	if err := os.MkdirAll(root, 0o755); err != nil {
		return nil, fmt.Errorf("repository: create: %w", err)
	}
	return Open(root)
}

// Root returns the folder.
func (r *Repository) Root() string { return r.root }

// Dir returns the folder of a version.
func (r *Repository) Dir(id ID) string {
	return filepath.Join(r.root, id.Name, id.Version.String())
}

// Names returns the names of all models with a version, ascending.
func (r *Repository) Names() ([]string, error) {
	entries, err := readFolder(r.root, MaxNames)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if e.IsDir() && CheckName(e.Name()) == nil {
			versions, err := r.Versions(e.Name())
			if err != nil {
				return nil, err
			}
			if len(versions) > 0 {
				names = append(names, e.Name())
			}
		}
	}
	return names, nil
}

// Versions returns the versions of a model, ascending: none where there is no
// such model.
func (r *Repository) Versions(name string) ([]Version, error) {
	if err := CheckName(name); err != nil {
		return nil, err
	}
	entries, err := readFolder(filepath.Join(r.root, name), MaxVersions)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var versions []Version
	for _, e := range entries {
		if v, err := ParseVersion(e.Name()); err == nil && e.IsDir() {
			versions = append(versions, v)
		}
	}
	slices.SortFunc(versions, Version.Compare)
	return versions, nil
}

// readFolder lists a folder in ascending order of names, without those that begin
// with a dot.
func readFolder(path string, most int) ([]fs.DirEntry, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("repository: %w", err)
	}
	defer f.Close()
	entries, err := f.ReadDir(most + 1) // one more shows that there are too many
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("repository: %w", err)
	}
	if len(entries) > most {
		return nil, fmt.Errorf("repository: %s has more than %d entries", path, most)
	}
	entries = slices.DeleteFunc(entries, func(e fs.DirEntry) bool { return strings.HasPrefix(e.Name(), ".") })
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, nil
}

// Resolve returns the version of a model that policy asks for: Latest, also as
// "", or a version.
func (r *Repository) Resolve(name, policy string) (ID, error) {
	versions, err := r.Versions(name)
	if err != nil {
		return ID{}, err
	}
	v, err := Choose(name, policy, versions)
	return ID{name, v}, err
}

// Files reads the files of a version without looking into them.
func (r *Repository) Files(id ID) (models.Files, error) {
	if err := CheckName(id.Name); err != nil {
		return models.Files{}, err
	}
	f, err := models.ReadFiles(r.Dir(id))
	if errors.Is(err, fs.ErrNotExist) {
		if _, gone := os.Stat(r.Dir(id)); errors.Is(gone, fs.ErrNotExist) {
			return f, fmt.Errorf("%w: %s", ErrNotFound, id)
		}
	}
	if err != nil {
		return f, fmt.Errorf("repository: read %s: %w", id, err)
	}
	return f, nil
}

// Load reads a version and checks all that can be checked without running it.
func (r *Repository) Load(id ID) (*models.Model, error) {
	f, err := r.Files(id)
	if err != nil {
		return nil, err
	}
	m, err := models.Decode(f)
	if err != nil {
		return nil, fmt.Errorf("repository: load %s: %w", id, err)
	}
	return m, nil
}

// Verify is Load and a comparison with the golden scores, where there are any.
func (r *Repository) Verify(id ID) (*models.Model, error) {
	f, err := r.Files(id)
	if err != nil {
		return nil, err
	}
	m, err := Check(f)
	if err != nil {
		return nil, fmt.Errorf("repository: verify %s: %w", id, err)
	}
	return m, nil
}

// Check decodes a model and compares it with its golden scores, where it has any.
func Check(f models.Files) (*models.Model, error) {
	m, err := models.Decode(f)
	if err != nil || m.Golden == nil {
		return m, err
	}
	return m, m.Golden.Check(m.Params)
}
