package repository

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/google/renameio/v2"

	"github.com/yardmaster/yardmaster/models"
)

// activeFile says what is in use. It is written by the service that uses the
// repository.
const activeFile = "active.json"

// maxActiveBytes bounds active.json, which has some 300.
const maxActiveBytes = 64 << 10

// Slot is what is in use for one kind of model. Zero IDs name none.
type Slot struct {
	Active    ID `json:"active,omitzero"`    // decides
	Previous  ID `json:"previous,omitzero"`  // decided before: what a rollback returns to
	Candidate ID `json:"candidate,omitzero"` // loaded beside it
}

// Active says which versions are in use, by the kind of model.
type Active struct {
	Format        int  `json:"format"` // 1
	JobStrategy   Slot `json:"job_strategy,omitzero"`
	Configuration Slot `json:"configuration,omitzero"`
}

// Slot returns the slot of a kind, to be read or changed.
func (a *Active) Slot(kind models.Kind) *Slot {
	if kind == models.Configuration {
		return &a.Configuration
	}
	return &a.JobStrategy
}

// role says what a version is in use as, "" for nothing.
func (a *Active) role(id ID) string {
	for _, s := range []Slot{a.JobStrategy, a.Configuration} {
		switch id {
		case s.Active:
			return "active"
		case s.Previous:
			return "what a rollback returns to"
		case s.Candidate:
			return "the candidate"
		}
	}
	return ""
}

// Active reads what is in use: nothing where the file is missing.
func (r *Repository) Active() (Active, error) {
	none := Active{Format: 1}
	f, err := os.Open(filepath.Join(r.root, activeFile))
	if errors.Is(err, fs.ErrNotExist) {
		return none, nil
	}
	if err != nil {
		return none, fmt.Errorf("repository: %w", err)
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, maxActiveBytes+1))
	if err != nil {
		return none, fmt.Errorf("repository: %s: %w", activeFile, err)
	}
	a, err := decodeActive(raw)
	if err != nil {
		return none, fmt.Errorf("repository: %s: %w", filepath.Join(r.root, activeFile), err)
	}
	return a, nil
}

func decodeActive(raw []byte) (Active, error) {
	var a Active
	if len(raw) > maxActiveBytes {
		return a, fmt.Errorf("more than %d bytes", maxActiveBytes)
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&a); err != nil {
		return a, err
	}
	if a.Format != 1 {
		return a, fmt.Errorf("format is %d, want 1", a.Format)
	}
	return a, nil
}

// SetActive replaces what is in use, in one step.
func (r *Repository) SetActive(a Active) error {
	a.Format = 1
	raw, err := json.MarshalIndent(&a, "", "  ")
	if err != nil {
		return fmt.Errorf("repository: %s: %w", activeFile, err)
	}
	if err := renameio.WriteFile(filepath.Join(r.root, activeFile), append(raw, '\n'), 0o644); err != nil {
		return fmt.Errorf("repository: %w", err)
	}
	return nil
}
