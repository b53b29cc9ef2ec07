package repository

import (
	"os"
	"time"

	"github.com/yardmaster/yardmaster/models"
)

// Entry describes a version.
type Entry struct {
	ID      ID                 `json:"model"`
	Kind    models.Kind        `json:"kind,omitempty"`
	SHA256  string             `json:"sha256,omitempty"` // of the weights
	Golden  bool               `json:"golden"`           // it has golden scores
	Bytes   int64              `json:"bytes"`            // of all files
	Added   time.Time          `json:"added"`
	Role    string             `json:"role,omitempty"` // what it is in use as
	Metrics map[string]float64 `json:"metrics,omitempty"`
	Encoder string             `json:"encoder,omitempty"`
	Problem string             `json:"problem,omitempty"` // why it cannot be loaded
}

// List describes every version, by name and version. Each is read and decoded; a
// damaged one has a problem and does not end the list.
func (r *Repository) List() ([]Entry, error) {
	names, err := r.Names()
	if err != nil {
		return nil, err
	}
	active, _ := r.Active() // a damaged file takes away roles alone
	var all []Entry
	for _, name := range names {
		versions, err := r.Versions(name)
		if err != nil {
			return nil, err
		}
		for _, v := range versions {
			e := r.Describe(ID{name, v})
			e.Role = active.role(e.ID)
			all = append(all, e)
		}
	}
	return all, nil
}

// Describe describes one version, without its role.
func (r *Repository) Describe(id ID) Entry {
	e := Entry{ID: id}
	if info, err := os.Stat(r.Dir(id)); err == nil {
		e.Added = info.ModTime().UTC().Truncate(time.Second)
	}
	f, err := r.Files(id)
	if err == nil {
		e.Bytes = int64(len(f.Manifest) + len(f.Weights) + len(f.Golden))
		var m *models.Model
		if m, err = models.Decode(f); err == nil {
			e.Kind, e.SHA256, e.Golden = m.Manifest.Kind, m.Manifest.SHA256, m.Golden != nil
			e.Metrics, e.Encoder = m.Manifest.Metrics, m.Manifest.Encoder.Version
		}
	}
	if err != nil {
		e.Problem = err.Error()
	}
	return e
}
