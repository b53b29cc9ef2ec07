package models

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yardmaster/yardmaster/models/nn"
)

func TestSaveLoadRoundTrip(t *testing.T) {
	want := testModel(1)
	copy(want.Params.Flat, []float32{
		float32(math.Copysign(0, -1)), math.SmallestNonzeroFloat32, -math.MaxFloat32, math.MaxFloat32, 1.0 / 3,
	})
	want.Manifest.Provenance["a \"quoted\"\nname"] = "Ünïcode </script>"
	want.Manifest.Metrics["tiny"] = 5e-324
	want.Manifest.Metrics["third"] = 1.0 / 3
	dir := filepath.Join(t.TempDir(), "made", "by", "Save")
	mustSave(t, dir, want)
	got := mustLoad(t, dir)
	if diff := cmp.Diff(want.Manifest, got.Manifest); diff != "" {
		t.Errorf("manifest (-saved +loaded):\n%s", diff)
	}
	for i, x := range want.Params.Flat {
		if math.Float32bits(got.Params.Flat[i]) != math.Float32bits(x) {
			t.Errorf("parameter %d: got %v, want %v bit for bit", i, got.Params.Flat[i], x)
		}
	}
	if n := len(files(t, dir)); n != 2 {
		t.Errorf("Save left %d files, want 2", n)
	}
}

func TestRoundTripOfBothKindsAndManySizes(t *testing.T) {
	for _, kind := range []Kind{JobStrategy, Configuration} {
		for _, hidden := range []int{1, 2, 33} {
			p := nn.NewParams(nn.Dims{Candidate: 3, Global: 2, Hidden: hidden, Value: hidden + 1})
			for i := range p.Flat {
				p.Flat[i] = float32(i) + 0.1
			}
			m, err := Decode(encoded(t, New(kind, testEncoder(), p)))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(p.Tensors, m.Params.Tensors); diff != "" || m.Manifest.Kind != kind {
				t.Errorf("%s, %d hidden: kind %s, tensors (-saved +loaded):\n%s", kind, hidden, m.Manifest.Kind, diff)
			}
		}
	}
}

func TestEqualModelsGiveEqualFiles(t *testing.T) {
	dir := t.TempDir()
	mustSave(t, filepath.Join(dir, "a"), testModel(1))
	mustSave(t, filepath.Join(dir, "b"), mustLoad(t, filepath.Join(dir, "a")).Clone())
	if a, b := files(t, filepath.Join(dir, "a")), files(t, filepath.Join(dir, "b")); !sameFiles(a, b) {
		t.Error("saving what was loaded gave other bytes")
	}
}

func TestSaveReplacesTheModel(t *testing.T) {
	dir := t.TempDir()
	mustSave(t, dir, testModel(1))
	mustSave(t, dir, testModel(2))
	got := mustLoad(t, dir)
	if diff := cmp.Diff(testModel(2).Params.Flat, got.Params.Flat); diff != "" {
		t.Errorf("parameters (-new +loaded):\n%s", diff)
	}
}

// Save refuses what Load would, names it, and leaves the model that is there.
func TestSaveOfAnUnfitModelKeepsTheOld(t *testing.T) {
	tests := map[string]struct {
		spoil        func(m *Model)
		incompatible bool
		want         string
	}{
		"no parameters":      {func(m *Model) { m.Params = nil }, false, "no parameters"},
		"other dimensions":   {func(m *Model) { m.Manifest.Dims.Hidden = 6 }, true, "Hidden:6"},
		"not a number":       {func(m *Model) { m.Params.Flat[3] = float32(math.NaN()) }, false, "score.candidate.weight[3] is NaN"},
		"infinite":           {func(m *Model) { m.Params.Flat[m.Params.Dims.Size()-1] = float32(math.Inf(-1)) }, false, "value.output.bias[0] is -Inf"},
		"metric":             {func(m *Model) { m.Manifest.Metrics["loss"] = math.NaN() }, false, "metric loss is NaN"},
		"bound of a feature": {func(m *Model) { m.Manifest.Encoder.Global[0].Low = float32(math.Inf(-1)) }, false, "-Inf"},
		"features":           {func(m *Model) { m.Manifest.Encoder.Candidate = m.Manifest.Encoder.Candidate[:2] }, true, "2 candidate features are named, but the network reads 3"},
		"kind":               {func(m *Model) { m.Manifest.Kind = "oracle" }, true, `kind is "oracle"`},
		"manifest too large": {func(m *Model) { m.Manifest.Provenance["log"] = strings.Repeat("x", MaxManifestBytes) }, false, "want at most 1048576"},
	}
	for name, tt := range tests {
		dir := t.TempDir()
		mustSave(t, dir, testModel(1))
		before := files(t, dir)
		m := testModel(2)
		tt.spoil(m)
		wantError(t, name, Save(dir, m), tt.incompatible, tt.want)
		if !sameFiles(files(t, dir), before) {
			t.Errorf("%s: the folder changed", name)
		}
	}
}

func TestSaveWithAFileInTheWay(t *testing.T) {
	dir := t.TempDir()
	inTheWay := filepath.Join(dir, "file")
	writeFile(t, inTheWay, []byte("kept"))
	if err := Save(filepath.Join(inTheWay, "model"), testModel(1)); err == nil {
		t.Error("below a file: got no error")
	}
	if raw, err := os.ReadFile(inTheWay); err != nil || string(raw) != "kept" {
		t.Errorf("the file in the way holds %q, %v", raw, err)
	}
}

// A folder where the weights go makes the first renaming fail: the manifest
// stays, and no temporary file does.
func TestSaveWithAFolderInTheWay(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, weightsFile, "in the way"), 0o755); err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(dir, manifestFile), []byte("kept"))
	if err := Save(dir, testModel(1)); err == nil {
		t.Fatal("got no error")
	}
	if raw, err := os.ReadFile(filepath.Join(dir, manifestFile)); err != nil || string(raw) != "kept" {
		t.Errorf("the manifest holds %q, %v", raw, err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 2 {
		t.Errorf("folder holds %v, %v, want 2 entries", entries, err)
	}
}

// Where the second file cannot be written the first is not replaced.
func TestReplaceWritesAllBeforeItRenames(t *testing.T) {
	dir := t.TempDir()
	first := filepath.Join(dir, "first")
	writeFile(t, first, []byte("old"))
	err := replace(file{first, []byte("new")}, file{filepath.Join(dir, "no such folder", "second"), []byte("new")})
	if err == nil {
		t.Fatal("got no error")
	}
	if got := files(t, dir); !sameFiles(got, map[string]string{"first": "old"}) {
		t.Errorf("folder holds %q, want the old file only", got)
	}
}

// A folder that was left between the two renamings is refused, whichever of the
// files is the newer.
func TestHalfAModelIsRefused(t *testing.T) {
	oldManifest, oldWeights := mustEncode(t, testModel(1))
	newManifest, newWeights := mustEncode(t, testModel(2))
	_, err := Decode(Files{Manifest: oldManifest, Weights: newWeights})
	wantError(t, "new weights", err, false, "SHA-256", hash(oldWeights), hash(newWeights))
	_, err = Decode(Files{Manifest: newManifest, Weights: oldWeights})
	wantError(t, "new manifest", err, false, "SHA-256", hash(oldWeights), hash(newWeights))
}

func TestCloneSharesNoMemory(t *testing.T) {
	m := testModel(1)
	c := m.Clone()
	if diff := cmp.Diff(m, c); diff != "" {
		t.Fatalf("clone (-original +clone):\n%s", diff)
	}
	m.Params.Flat[0]++
	m.Manifest.Encoder.Global[0].Name = "x"
	m.Manifest.Encoder.Candidate[0].Name = "x"
	m.Manifest.Provenance["seed"] = "x"
	m.Manifest.Metrics["mean_jct_hours"] = 9
	if diff := cmp.Diff(testModel(1), c); diff != "" {
		t.Errorf("clone changed with the original (-before +after):\n%s", diff)
	}
}
