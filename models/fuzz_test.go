package models

import (
	"bytes"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// FuzzDecode feeds the files of a model. Whatever comes in, Decode returns
// an error or a model that is fit to be saved again and comes back equal. The
// hashes are corrected in every second try, so that the fuzzer gets past them.
func FuzzDecode(f *testing.F) {
	whole := encoded(f, goldenModel(f, 1))
	manifest, weights, golden := whole.Manifest, whole.Weights, whole.Golden
	f.Add(manifest, weights, golden, false)
	f.Add(manifest, weights[:len(weights)-4], golden, true)
	f.Add(manifest, weights, golden[:len(golden)-4], true)
	f.Add(manifest, weights, []byte("\x02\x00\x00\x00\x00\x00\x00\x00{}"), true)
	f.Add(edited(f, manifest, 1024, "dims", "hidden"), weights, golden, true)
	f.Add(edited(f, manifest, 2, "format"), weights, []byte(nil), false)
	f.Add(edited(f, manifest, "", "golden_sha256"), weights, []byte(nil), true)
	f.Add([]byte(`{"format":1}`), []byte("\x02\x00\x00\x00\x00\x00\x00\x00{}"), []byte(nil), true)
	f.Fuzz(func(t *testing.T, manifest, weights, golden []byte, correct bool) {
		if len(manifest) > MaxManifestBytes/10 {
			return // indented and escaped again it may exceed the limit
		}
		if correct {
			manifest = corrected(manifest, "weights_sha256", weights)
			manifest = corrected(manifest, "golden_sha256", golden)
		}
		m, err := Decode(Files{manifest, weights, golden})
		if err != nil {
			return
		}
		if 4*len(m.Params.Flat) > len(weights) {
			t.Fatalf("%d parameters in %d bytes", len(m.Params.Flat), len(weights))
		}
		if m.Golden != nil && m.Golden.Check(m.Params) != nil {
			m.Golden = nil // nobody's scores: Encode refuses them
		}
		again, err := Decode(encoded(t, m))
		if err != nil {
			t.Fatalf("a model that was read cannot be written and read again: %v", err)
		}
		if again.Params.Dims != m.Params.Dims || !slices.Equal(again.Params.Flat, m.Params.Flat) {
			t.Fatal("a model changed when it was written and read again")
		}
		if diff := cmp.Diff(m.Golden, again.Golden); diff != "" {
			t.Fatalf("golden cases changed when they were written and read again (-before +after):\n%s", diff)
		}
	})
}

// corrected returns the manifest with the hash of a file where it holds one.
func corrected(manifest []byte, name string, raw []byte) []byte {
	field := `"` + name + `": "`
	i := bytes.Index(manifest, []byte(field))
	if i < 0 || len(manifest) < i+len(field)+64 {
		return manifest
	}
	manifest = bytes.Clone(manifest)
	copy(manifest[i+len(field):], hash(raw))
	return manifest
}
