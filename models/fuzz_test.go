package models

import (
	"bytes"
	"slices"
	"testing"
)

// FuzzDecode feeds the two files of a model. Whatever comes in, Decode returns
// an error or a model that is fit to be saved again and comes back equal. The
// hash is corrected in every second try, so that the fuzzer gets past it.
func FuzzDecode(f *testing.F) {
	manifest, weights := mustEncode(f, testModel(1))
	f.Add(manifest, weights, false)
	f.Add(manifest, weights[:len(weights)-4], true)
	f.Add(edited(f, manifest, 1024, "dims", "hidden"), weights, true)
	f.Add(edited(f, manifest, 2, "format"), weights, false)
	f.Add([]byte(`{"format":1}`), []byte("\x02\x00\x00\x00\x00\x00\x00\x00{}"), true)
	f.Fuzz(func(t *testing.T, manifest, weights []byte, correct bool) {
		if len(manifest) > MaxManifestBytes/10 {
			return // indented and escaped again it may exceed the limit
		}
		if correct {
			manifest = corrected(manifest, weights)
		}
		m, err := Decode(manifest, weights)
		if err != nil {
			return
		}
		if 4*len(m.Params.Flat) > len(weights) {
			t.Fatalf("%d parameters in %d bytes", len(m.Params.Flat), len(weights))
		}
		again, err := Decode(mustEncode(t, m))
		if err != nil {
			t.Fatalf("a model that was read cannot be written and read again: %v", err)
		}
		if again.Params.Dims != m.Params.Dims || !slices.Equal(again.Params.Flat, m.Params.Flat) {
			t.Fatal("a model changed when it was written and read again")
		}
	})
}

// corrected returns the manifest with the hash of weights where it holds one.
func corrected(manifest, weights []byte) []byte {
	const field = `"weights_sha256": "`
	i := bytes.Index(manifest, []byte(field))
	if i < 0 || len(manifest) < i+len(field)+64 {
		return manifest
	}
	manifest = bytes.Clone(manifest)
	copy(manifest[i+len(field):], hash(weights))
	return manifest
}
