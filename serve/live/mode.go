package live

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/google/renameio/v2"
)

// Mode says who decides for a cluster; see the package comment.
type Mode string

// The modes.
const (
	Policy Mode = "policy"
	LP     Mode = "lp"
	Shadow Mode = "shadow"
	Canary Mode = "canary"
	Off    Mode = "off"
)

// ModeNames returns the names of all modes.
func ModeNames() []string {
	return []string{string(Policy), string(LP), string(Shadow), string(Canary), string(Off)}
}

// Setting is a mode and what belongs to it.
type Setting struct {
	Mode  Mode    `json:"mode"`
	Share float64 `json:"share,omitempty"` // of canary: part of the clusters, 0 to 1
}

// Validate reports what is wrong with s.
func (s Setting) Validate() error {
	if !slices.Contains(ModeNames(), string(s.Mode)) {
		return fmt.Errorf("live: mode is %.32q, want %s", string(s.Mode), strings.Join(ModeNames(), ", "))
	}
	if s.Mode == Canary && !(s.Share >= 0 && s.Share <= 1) {
		return fmt.Errorf("live: share of canary is %v, want 0 to 1", s.Share)
	}
	if s.Mode != Canary && s.Share != 0 {
		return fmt.Errorf("live: mode %s has a share, which is for canary only", s.Mode)
	}
	return nil
}

// String returns the mode, with the share of a canary.
func (s Setting) String() string {
	if s.Mode == Canary {
		return fmt.Sprintf("%s (%g of the clusters)", s.Mode, s.Share)
	}
	return string(s.Mode)
}

// Has reports whether a cluster is in the share of a canary.
func (s Setting) Has(cluster string) bool {
	sum := sha256.Sum256([]byte(cluster))
	return float64(binary.BigEndian.Uint64(sum[:]))/math.Exp2(64) < s.Share
}

// MaxModes bounds the clusters with a mode of their own.
const MaxModes = 4096

// Assignment is the mode of every cluster.
type Assignment struct {
	Format   int                `json:"format"` // 1
	Default  Setting            `json:"default"`
	Clusters map[string]Setting `json:"clusters,omitempty"` // those with a mode of their own, by id
}

// Of returns the setting of a cluster.
func (a *Assignment) Of(cluster string) Setting {
	if s, ok := a.Clusters[cluster]; ok {
		return s
	}
	return a.Default
}

var clusterPattern = regexp.MustCompile(`^[A-Za-z0-9_-]{1,32}$`) // as wire.CheckCluster

func (a *Assignment) validate() error {
	if a.Format != 1 {
		return fmt.Errorf("live: format is %d, want 1", a.Format)
	}
	if err := a.Default.Validate(); err != nil {
		return err
	}
	if len(a.Clusters) > MaxModes {
		return fmt.Errorf("live: %d clusters have a mode of their own, want at most %d", len(a.Clusters), MaxModes)
	}
	for _, id := range slices.Sorted(maps.Keys(a.Clusters)) {
		if !clusterPattern.MatchString(id) {
			return fmt.Errorf("live: cluster is %.64q, want 1 to 32 of A-Z a-z 0-9 _ -", id)
		}
		if err := a.Clusters[id].Validate(); err != nil {
			return fmt.Errorf("%w (cluster %s)", err, id)
		}
	}
	return nil
}

// modesFile keeps the assignment.
const modesFile = "modes.json"

// maxModesBytes bounds modes.json: MaxModes clusters take a tenth of it.
const maxModesBytes = 4 << 20

// Modes is the current assignment, kept in a file. It is safe for concurrent use;
// reading it costs one atomic load.
type Modes struct {
	path    string // "" keeps it in memory only
	current atomic.Pointer[Assignment]
	mu      sync.Mutex // of changes
}

// NewModes reads the assignment kept in the folder dir, "" for none. Where nothing
// is kept yet every cluster has the setting first. A damaged file is an error
// beside usable Modes: they start with first.
func NewModes(dir string, first Setting) (*Modes, error) {
	if err := first.Validate(); err != nil {
		return nil, err
	}
	m := &Modes{}
	m.current.Store(&Assignment{Format: 1, Default: first})
	if dir == "" {
		return m, nil
	}
	m.path = filepath.Join(dir, modesFile)
	raw, err := os.ReadFile(m.path)
	if errors.Is(err, fs.ErrNotExist) {
		return m, nil
	}
	if err != nil {
		return m, fmt.Errorf("live: %w", err)
	}
	kept, err := decodeAssignment(raw)
	if err != nil {
		return m, fmt.Errorf("live: %s: %w", m.path, err)
	}
	m.current.Store(kept)
	return m, nil
}

func decodeAssignment(raw []byte) (*Assignment, error) {
	if len(raw) > maxModesBytes {
		return nil, fmt.Errorf("%d bytes, want at most %d", len(raw), maxModesBytes)
	}
	a := &Assignment{}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(a); err != nil {
		return nil, err
	}
	return a, a.validate()
}

// Get returns the assignment, which must not be modified.
func (m *Modes) Get() *Assignment { return m.current.Load() }

// ErrNotKept is wrapped by the error of a change that holds, but will be forgotten
// when the process ends: it could not be written.
var ErrNotKept = errors.New("live: the change holds but could not be kept")

// SetDefault changes the mode of all clusters without one of their own.
func (m *Modes) SetDefault(s Setting) error {
	return m.change(func(a *Assignment) { a.Default = s })
}

// Set gives a cluster a mode of its own.
func (m *Modes) Set(cluster string, s Setting) error {
	return m.change(func(a *Assignment) { a.Clusters[cluster] = s })
}

// Unset takes a cluster's own mode away: it has the default one.
func (m *Modes) Unset(cluster string) error {
	return m.change(func(a *Assignment) { delete(a.Clusters, cluster) })
}

func (m *Modes) change(edit func(*Assignment)) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	next := *m.current.Load()
	next.Clusters = maps.Clone(next.Clusters)
	if next.Clusters == nil {
		next.Clusters = make(map[string]Setting)
	}
	edit(&next)
	if err := next.validate(); err != nil {
		return err
	}
	m.current.Store(&next)
	if m.path == "" {
		return nil
	}
	raw, err := json.MarshalIndent(&next, "", "  ")
	if err == nil {
		err = renameio.WriteFile(m.path, append(raw, '\n'), 0o644)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNotKept, err)
	}
	return nil
}
