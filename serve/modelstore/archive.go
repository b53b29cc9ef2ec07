package modelstore

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"

	"github.com/yardmaster/yardmaster/models"
)

// MaxObject bounds an object: the files of a model and what packs them.
const MaxObject = models.MaxManifestBytes + models.MaxWeightsBytes + models.MaxGoldenBytes + 64<<10

// Names of the files in an archive, in order.
const (
	manifestName = "manifest.json"
	weightsName  = "weights.safetensors"
	goldenName   = "golden.safetensors"
)

// pack returns the files as one archive. Equal files give equal bytes.
func pack(f models.Files) ([]byte, error) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, file := range []struct {
		name string
		data []byte
	}{{manifestName, f.Manifest}, {weightsName, f.Weights}, {goldenName, f.Golden}} {
		if file.name == goldenName && len(file.data) == 0 {
			continue
		}
		if err := w.WriteHeader(&tar.Header{Name: file.name, Mode: 0o644, Size: int64(len(file.data)), Format: tar.FormatUSTAR}); err != nil {
			return nil, fmt.Errorf("modelstore: pack: %w", err)
		}
		if _, err := w.Write(file.data); err != nil {
			return nil, fmt.Errorf("modelstore: pack: %w", err)
		}
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("modelstore: pack: %w", err)
	}
	return b.Bytes(), nil
}

// unpack is the inverse of pack. It refuses every other file.
func unpack(raw []byte) (models.Files, error) {
	var f models.Files
	into := map[string]struct {
		data *[]byte
		most int64
	}{
		manifestName: {&f.Manifest, models.MaxManifestBytes},
		weightsName:  {&f.Weights, models.MaxWeightsBytes},
		goldenName:   {&f.Golden, models.MaxGoldenBytes},
	}
	r := tar.NewReader(bytes.NewReader(raw))
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return models.Files{}, fmt.Errorf("modelstore: unpack: %w", err)
		}
		to, ok := into[h.Name]
		if !ok || h.Typeflag != tar.TypeReg || *to.data != nil {
			return models.Files{}, fmt.Errorf("modelstore: unpack: %.64q is unknown, no file, or there twice", h.Name)
		}
		if h.Size > to.most || h.Size > int64(len(raw)) {
			return models.Files{}, fmt.Errorf("modelstore: unpack: %s has %d bytes, want at most %d", h.Name, h.Size, to.most)
		}
		if *to.data, err = io.ReadAll(r); err != nil {
			return models.Files{}, fmt.Errorf("modelstore: unpack: %w", err)
		}
	}
	if f.Manifest == nil || f.Weights == nil {
		return models.Files{}, fmt.Errorf("modelstore: unpack: %s or %s is missing", manifestName, weightsName)
	}
	return f, nil
}

// digest is the SHA-256 of an archive in hex.
func digest(raw []byte) string {
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:])
}

// short is the part of a digest in an object's name.
func short(digest string) string { return digest[:12] }
