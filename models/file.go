package models

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/google/renameio/v2"
)

const (
	weightsFile  = "weights.safetensors"
	manifestFile = "manifest.json"
	goldenFile   = "golden.safetensors"
)

// Limits on the files Load reads.
const (
	MaxManifestBytes = 1 << 20
	MaxWeightsBytes  = 64 << 20
)

// Files are the bytes of a model's files.
type Files struct {
	Manifest []byte // manifest.json
	Weights  []byte // weights.safetensors
	Golden   []byte // golden.safetensors; empty where the model has none
}

// Equal reports whether both have the same bytes.
func (f Files) Equal(g Files) bool {
	return bytes.Equal(f.Manifest, g.Manifest) && bytes.Equal(f.Weights, g.Weights) && bytes.Equal(f.Golden, g.Golden)
}

// Save writes m to the folder dir, which it makes if need be. All files are
// written under temporary names and synced before any is renamed, the
// manifest last: after an error the folder holds the model it held before, or,
// if a later renaming failed, one that Load refuses by its hash. Save refuses
// what Load would, and golden scores that are not those of m's parameters. It
// sets the hashes in m.Manifest.
func Save(dir string, m *Model) error {
	f, err := Encode(m)
	if err != nil {
		return fmt.Errorf("models: save %s: %w", dir, err)
	}
	return f.Write(dir)
}

// Write writes the files to the folder dir, as [Save] does.
func (f Files) Write(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("models: save: %w", err)
	}
	golden := filepath.Join(dir, goldenFile)
	list := []file{{filepath.Join(dir, weightsFile), f.Weights}}
	if len(f.Golden) > 0 {
		list = append(list, file{golden, f.Golden})
	}
	if err := replace(append(list, file{filepath.Join(dir, manifestFile), f.Manifest})...); err != nil {
		return fmt.Errorf("models: save: %w", err)
	}
	if len(f.Golden) == 0 { // of the model that was here before
		if err := os.Remove(golden); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("models: save: %w", err)
		}
	}
	return nil
}

// Encode returns m's files and sets the hashes in m.Manifest. It is the inverse
// of [Decode].
func Encode(m *Model) (Files, error) {
	var f Files
	if err := m.check(); err != nil {
		return f, err
	}
	var err error
	if f.Weights, err = encodeWeights(m.Params); err != nil {
		return f, err
	}
	m.Manifest.SHA256, m.Manifest.GoldenSHA256 = hash(f.Weights), ""
	if m.Golden != nil {
		if f.Golden, err = encodeGolden(m.Golden, m.Params.Dims); err != nil {
			return f, err
		}
		m.Manifest.GoldenSHA256 = hash(f.Golden)
	}
	if f.Manifest, err = json.MarshalIndent(&m.Manifest, "", "  "); err != nil {
		return f, err
	}
	f.Manifest = append(f.Manifest, '\n')
	if len(f.Manifest) > MaxManifestBytes {
		return f, fmt.Errorf("models: %s has %d bytes, want at most %d", manifestFile, len(f.Manifest), MaxManifestBytes)
	}
	return f, nil
}

// file is a file to be written.
type file struct {
	path string
	data []byte
}

// replace writes files, in place of those that are there: none of them before
// all are written and synced, then in order.
func replace(files ...file) error {
	pending := make([]*renameio.PendingFile, len(files))
	for i, f := range files {
		p, err := renameio.NewPendingFile(f.path, renameio.WithTempDir(filepath.Dir(f.path)), renameio.WithPermissions(0o644), renameio.WithExistingPermissions())
		if err != nil {
			return err
		}
		defer p.Cleanup() // does nothing once replaced
		if _, err := p.Write(f.data); err != nil {
			return err
		}
		if err := p.Sync(); err != nil {
			return err
		}
		pending[i] = p
	}
	for _, p := range pending {
		if err := p.CloseAtomicallyReplace(); err != nil {
			return err
		}
	}
	return nil
}

// Load reads the model in the folder dir. Its error wraps ErrIncompatible where
// the model is whole but of another kind of network or format.
func Load(dir string) (*Model, error) {
	f, err := ReadFiles(dir)
	if err != nil {
		return nil, fmt.Errorf("models: load: %w", err)
	}
	m, err := Decode(f)
	if err != nil {
		return nil, fmt.Errorf("models: load %s: %w", dir, err)
	}
	return m, nil
}

// ReadFiles reads the files of the model in the folder dir, within the limits,
// without looking into them.
func ReadFiles(dir string) (f Files, err error) {
	if f.Manifest, err = readBounded(filepath.Join(dir, manifestFile), MaxManifestBytes); err != nil {
		return Files{}, err
	}
	if f.Weights, err = readBounded(filepath.Join(dir, weightsFile), MaxWeightsBytes); err != nil {
		return Files{}, err
	}
	f.Golden, err = readBounded(filepath.Join(dir, goldenFile), MaxGoldenBytes)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return Files{}, err
	}
	return f, nil
}

// Decode returns the model in the bytes of its files. A golden file that the
// manifest does not name is not read.
func Decode(f Files) (*Model, error) {
	m := &Model{}
	if err := decodeManifest(f.Manifest, &m.Manifest); err != nil {
		return nil, err
	}
	if err := m.Manifest.validate(); err != nil {
		return nil, err
	}
	if err := checkHash(weightsFile, f.Weights, m.Manifest.SHA256); err != nil {
		return nil, err
	}
	var err error
	if m.Params, err = decodeWeights(f.Weights, m.Manifest.Dims); err != nil {
		return nil, err
	}
	if m.Manifest.GoldenSHA256 == "" {
		return m, nil
	}
	if err := checkHash(goldenFile, f.Golden, m.Manifest.GoldenSHA256); err != nil {
		return nil, err
	}
	m.Golden, err = decodeGolden(f.Golden, m.Manifest.Dims)
	if err != nil {
		return nil, err
	}
	return m, nil
}

func checkHash(name string, raw []byte, want string) error {
	if got := hash(raw); got != want {
		return fmt.Errorf("models: %s has SHA-256 %s, but the manifest says %.64q: one of them is damaged or not its own", name, got, want)
	}
	return nil
}

// decodeManifest reads the format version first, so that a manifest of a later
// format is named as such and not as one with an unknown field.
func decodeManifest(raw []byte, m *Manifest) error {
	var version struct {
		Format int `json:"format"`
	}
	if err := json.Unmarshal(raw, &version); err != nil {
		return fmt.Errorf("models: %s: %w", manifestFile, err)
	}
	if version.Format != FormatVersion {
		return fmt.Errorf("%w: format version is %d, want %d", ErrIncompatible, version.Format, FormatVersion)
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(m); err != nil {
		return fmt.Errorf("models: %s: %w", manifestFile, err)
	}
	return nil
}

// check reports what makes m unfit to be saved.
func (m *Model) check() error {
	if m.Params == nil {
		return errors.New("models: model has no parameters")
	}
	if m.Params.Dims != m.Manifest.Dims {
		return fmt.Errorf("%w: parameters have dimensions %+v, the manifest %+v", ErrIncompatible, m.Params.Dims, m.Manifest.Dims)
	}
	if err := errors.Join(m.Manifest.validate(), m.Params.CheckFinite()); err != nil || m.Golden == nil {
		return err
	}
	return m.Golden.Check(m.Params)
}

func readBounded(path string, limit int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	tooLarge := fmt.Errorf("%s is larger than %d bytes", path, limit)
	if info.Size() > limit {
		return nil, tooLarge
	}
	// Pipes have no size and a file may grow: what is read is bounded as well.
	raw, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(raw)) > limit {
		return nil, tooLarge
	}
	return raw, nil
}

// Hash returns the hash of a file as manifests hold it: SHA-256 in hex.
func Hash(raw []byte) string { return hash(raw) }

func hash(raw []byte) string {
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:])
}
