package models

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/google/renameio/v2"
)

const (
	weightsFile  = "weights.safetensors"
	manifestFile = "manifest.json"
)

// Limits on the files Load reads.
const (
	MaxManifestBytes = 1 << 20
	MaxWeightsBytes  = 64 << 20
)

// Save writes m to the folder dir, which it makes if need be. Both files are
// written under temporary names and synced before either is renamed, the
// manifest last: after an error the folder holds the model it held before, or,
// if the second renaming failed, one that Load refuses by its hash. Save refuses
// what Load would. It sets m.Manifest.SHA256.
func Save(dir string, m *Model) error {
	manifest, weights, err := encode(m)
	if err != nil {
		return fmt.Errorf("models: save %s: %w", dir, err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("models: save: %w", err)
	}
	err = replace(
		file{filepath.Join(dir, weightsFile), weights},
		file{filepath.Join(dir, manifestFile), manifest},
	)
	if err != nil {
		return fmt.Errorf("models: save: %w", err)
	}
	return nil
}

// encode returns the bytes of m's two files and sets m.Manifest.SHA256. It is
// the inverse of Decode.
func encode(m *Model) (manifest, weights []byte, err error) {
	if err := m.check(); err != nil {
		return nil, nil, err
	}
	if weights, err = encodeWeights(m.Params); err != nil {
		return nil, nil, err
	}
	m.Manifest.SHA256 = hash(weights)
	if manifest, err = json.MarshalIndent(&m.Manifest, "", "  "); err != nil {
		return nil, nil, err
	}
	manifest = append(manifest, '\n')
	if len(manifest) > MaxManifestBytes {
		return nil, nil, fmt.Errorf("models: %s has %d bytes, want at most %d", manifestFile, len(manifest), MaxManifestBytes)
	}
	return manifest, weights, nil
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
		p, err := renameio.NewPendingFile(f.path, renameio.WithPermissions(0o644), renameio.WithExistingPermissions())
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
	manifest, err := readBounded(filepath.Join(dir, manifestFile), MaxManifestBytes)
	if err != nil {
		return nil, fmt.Errorf("models: load: %w", err)
	}
	weights, err := readBounded(filepath.Join(dir, weightsFile), MaxWeightsBytes)
	if err != nil {
		return nil, fmt.Errorf("models: load: %w", err)
	}
	m, err := Decode(manifest, weights)
	if err != nil {
		return nil, fmt.Errorf("models: load %s: %w", dir, err)
	}
	return m, nil
}

// Decode returns the model in the bytes of its two files.
func Decode(manifest, weights []byte) (*Model, error) {
	m := &Model{}
	dec := json.NewDecoder(bytes.NewReader(manifest))
	dec.DisallowUnknownFields()
	if err := decodeManifest(dec, manifest, &m.Manifest); err != nil {
		return nil, err
	}
	if err := m.Manifest.validate(); err != nil {
		return nil, err
	}
	if got := hash(weights); got != m.Manifest.SHA256 {
		return nil, fmt.Errorf("models: %s has SHA-256 %s, but the manifest says %.64q: one of them is damaged or not its own", weightsFile, got, m.Manifest.SHA256)
	}
	var err error
	m.Params, err = decodeWeights(weights, m.Manifest.Dims)
	if err != nil {
		return nil, err
	}
	return m, nil
}

// decodeManifest reads the format version first, so that a manifest of a later
// format is named as such and not as one with an unknown field.
func decodeManifest(dec *json.Decoder, raw []byte, m *Manifest) error {
	var version struct {
		Format int `json:"format"`
	}
	if err := json.Unmarshal(raw, &version); err != nil {
		return fmt.Errorf("models: %s: %w", manifestFile, err)
	}
	if version.Format != FormatVersion {
		return fmt.Errorf("%w: format version is %d, want %d", ErrIncompatible, version.Format, FormatVersion)
	}
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
	return errors.Join(m.Manifest.validate(), m.Params.CheckFinite())
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

func hash(raw []byte) string {
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:])
}
