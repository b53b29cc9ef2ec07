package models

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/nlpodyssey/safetensors"

	"github.com/yardmaster/yardmaster/models/nn"
)

// edited returns the manifest with one field, named by its path, set to value.
func edited(t testing.TB, manifest []byte, value any, path ...string) []byte {
	t.Helper()
	var root map[string]any
	if err := json.Unmarshal(manifest, &root); err != nil {
		t.Fatal(err)
	}
	at := root
	for _, name := range path[:len(path)-1] {
		at = at[name].(map[string]any)
	}
	at[path[len(path)-1]] = value
	raw, err := json.Marshal(root)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// rehashed returns the manifest with the hash of other weights, so that what is
// wrong with them shows behind the hash.
func rehashed(t testing.TB, manifest, weights []byte) []byte {
	return edited(t, manifest, hash(weights), "weights_sha256")
}

func TestDecodeRefusesOtherManifests(t *testing.T) {
	manifest, weights := mustEncode(t, testModel(1))
	tests := map[string]struct {
		manifest     []byte
		incompatible bool
		want         []string
	}{
		"format":          {edited(t, manifest, 2, "format"), true, []string{"format version is 2", "want 1"}},
		"no format":       {[]byte(`{}`), true, []string{"format version is 0", "want 1"}},
		"later format":    {[]byte(`{"format": 7, "layout": []}`), true, []string{"format version is 7"}},
		"kind":            {edited(t, manifest, "placement", "kind"), true, []string{`kind is "placement"`, `"job-strategy"`}},
		"architecture":    {edited(t, manifest, "transformer/1", "architecture"), true, []string{"transformer/1", Architecture}},
		"no hidden":       {edited(t, manifest, 0, "dims", "hidden"), true, []string{"hidden is 0", "1 to 1024"}},
		"huge hidden":     {edited(t, manifest, 1<<40, "dims", "hidden"), true, []string{"hidden is 1099511627776"}},
		"negative value":  {edited(t, manifest, -4, "dims", "value"), true, []string{"value is -4"}},
		"other candidate": {edited(t, manifest, 4, "dims", "candidate"), true, []string{"3 candidate features are named, but the network reads 4"}},
		"other global":    {edited(t, manifest, 1, "dims", "global"), true, []string{"2 global features are named, but the network reads 1"}},
		"hash":            {edited(t, manifest, strings.Repeat("0", 64), "weights_sha256"), false, []string{"SHA-256", hash(weights), strings.Repeat("0", 64)}},
		"no hash":         {edited(t, manifest, "", "weights_sha256"), false, []string{"SHA-256"}},
		"unknown field":   {edited(t, manifest, true, "compressed"), false, []string{"manifest.json", "compressed"}},
		"unknown inside":  {edited(t, manifest, 3, "dims", "depth"), false, []string{"depth"}},
		"type of a field": {edited(t, manifest, "five", "dims", "hidden"), false, []string{"manifest.json"}},
		"size of a bound": {bytes.Replace(manifest, []byte(`"low": -10`), []byte(`"low": -1e999`), 1), false, []string{"manifest.json"}},
		"not JSON":        {[]byte("format: 1"), false, []string{"manifest.json"}},
		"empty":           {nil, false, []string{"manifest.json"}},
		"null":            {[]byte("null"), true, []string{"format version is 0"}},
		"more behind it":  {append(bytes.Clone(manifest), '{'), false, []string{"manifest.json"}},
	}
	for name, tt := range tests {
		_, err := Decode(Files{Manifest: tt.manifest, Weights: weights})
		wantError(t, name, err, tt.incompatible, tt.want...)
	}
}

func TestDecodeReportsAllProblemsOfAManifest(t *testing.T) {
	manifest, weights := mustEncode(t, testModel(1))
	manifest = edited(t, edited(t, edited(t, manifest, "x", "kind"), "y", "architecture"), 0, "dims", "value")
	_, err := Decode(Files{Manifest: manifest, Weights: weights})
	wantError(t, "three problems", err, true, `kind is "x"`, `architecture is "y"`, "value is 0")
}

func TestDecodeRefusesTruncation(t *testing.T) {
	manifest, weights := mustEncode(t, testModel(1))
	for n := range manifest {
		if n == len(manifest)-1 {
			continue // lacks the newline only
		}
		if _, err := Decode(Files{Manifest: manifest[:n], Weights: weights}); err == nil {
			t.Errorf("manifest cut to %d of %d bytes: got no error", n, len(manifest))
		}
	}
	for n := range weights {
		if _, err := Decode(Files{Manifest: manifest, Weights: weights[:n]}); err == nil || !strings.Contains(err.Error(), "SHA-256") {
			t.Errorf("weights cut to %d of %d bytes: got error %v", n, len(weights), err)
		}
		if _, err := decodeWeights(weights[:n], testModel(1).Params.Dims); err == nil {
			t.Errorf("weights cut to %d of %d bytes: refused by the hash only", n, len(weights))
		}
	}
}

func TestDecodeRefusesAFlippedBit(t *testing.T) {
	manifest, weights := mustEncode(t, testModel(1))
	for i := 0; i < 8*len(weights); i += 5 { // every byte, every position of a bit
		weights[i/8] ^= 1 << (i % 8)
		if _, err := Decode(Files{Manifest: manifest, Weights: weights}); err == nil {
			t.Fatalf("bit %d of byte %d flipped: got no error", i%8, i/8)
		}
		weights[i/8] ^= 1 << (i % 8)
	}
	if _, err := Decode(Files{Manifest: manifest, Weights: weights}); err != nil {
		t.Errorf("flipped back: %v", err)
	}
}

// tensorFile returns a weights file of the tensors of p, changed by edit.
func tensorFile(t testing.TB, p *nn.Params, edit func(views map[string]safetensors.TensorView)) []byte {
	t.Helper()
	views := make(map[string]safetensors.TensorView)
	for _, tensor := range p.Tensors {
		shape := make([]uint64, len(tensor.Shape))
		for i, n := range tensor.Shape {
			shape[i] = uint64(n)
		}
		views[tensor.Name] = view(t, safetensors.F32, shape, tensor.Data)
	}
	edit(views)
	raw, err := safetensors.Serialize(views, nil)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func view(t testing.TB, dtype safetensors.DType, shape []uint64, data []float32) safetensors.TensorView {
	t.Helper()
	var raw []byte
	for _, x := range data {
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(x))
	}
	v, err := safetensors.NewTensorView(dtype, shape, raw)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestDecodeRefusesOtherTensors(t *testing.T) {
	type views = map[string]safetensors.TensorView
	m := testModel(1)
	manifest, _ := mustEncode(t, m)
	tests := map[string]struct {
		edit         func(v views)
		incompatible bool
		want         []string
	}{
		"missing": {func(v views) { delete(v, "value.output.bias") }, true, []string{"12 tensors, want 13"}},
		"missing, filled up": {func(v views) {
			delete(v, "score.global.bias")
			v["score.hidden.weight"] = view(t, safetensors.F32, []uint64{40}, make([]float32, 40))
		}, true, []string{"12 tensors, want 13"}},
		"additional": {func(v views) { v["optimizer.step"] = view(t, safetensors.F32, []uint64{1}, make([]float32, 1)) }, true, []string{"14 tensors, want 13"}},
		"renamed": {func(v views) {
			v["actor.bias"] = v["score.global.bias"]
			delete(v, "score.global.bias")
		}, true, []string{"score.global.bias is missing"}},
		"transposed": {func(v views) {
			v["score.candidate.weight"] = view(t, safetensors.F32, []uint64{3, 5}, make([]float32, 15))
		}, true, []string{"score.candidate.weight", "[3 5]", "[5 3]"}},
		"other rank": {func(v views) { v["score.output.weight"] = view(t, safetensors.F32, []uint64{5}, make([]float32, 5)) }, true, []string{"score.output.weight", "[5]", "[1 5]"}},
		"other type": {func(v views) {
			v["score.global.bias"] = view(t, safetensors.I32, []uint64{5}, make([]float32, 5))
		}, true, []string{"score.global.bias", "I32", "F32"}},
		"wider type": {func(v views) {
			v["score.global.bias"] = view(t, safetensors.F64, []uint64{5}, make([]float32, 10))
		}, true, []string{"score.global.bias", "F64", "F32"}},
		"not a number": {func(v views) {
			v["value.output.bias"] = view(t, safetensors.F32, []uint64{1}, []float32{float32(math.NaN())})
		}, false, []string{"value.output.bias[0] is NaN"}},
		"infinite": {func(v views) {
			v["score.linear.weight"] = view(t, safetensors.F32, []uint64{1, 3}, []float32{0, 0, float32(math.Inf(1))})
		}, false, []string{"score.linear.weight[2] is +Inf"}},
	}
	for name, tt := range tests {
		weights := tensorFile(t, m.Params, tt.edit)
		_, err := Decode(Files{Manifest: rehashed(t, manifest, weights), Weights: weights})
		wantError(t, name, err, tt.incompatible, tt.want...)
	}
}

// Tensors may lie in the file in any order, as other writers of safetensors
// leave them.
func TestDecodeReadsTensorsInAnyOrder(t *testing.T) {
	m := testModel(1)
	manifest, weights := mustEncode(t, m)
	n := binary.LittleEndian.Uint64(weights)
	var header map[string]json.RawMessage
	if err := json.Unmarshal(weights[8:8+n], &header); err != nil {
		t.Fatal(err)
	}
	// score.global.bias and score.context.bias have the same shape: exchanging
	// their offsets exchanges their values.
	header["score.global.bias"], header["score.context.bias"] = header["score.context.bias"], header["score.global.bias"]
	raw, err := json.Marshal(header)
	if err != nil {
		t.Fatal(err)
	}
	swapped := append(binary.LittleEndian.AppendUint64(nil, uint64(len(raw))), raw...)
	swapped = append(swapped, weights[8+n:]...)
	got, err := Decode(Files{Manifest: rehashed(t, manifest, swapped), Weights: swapped})
	if err != nil {
		t.Fatal(err)
	}
	for i, x := range m.Params.Tensors[nn.ScoreGlobalBias].Data {
		if y := got.Params.Tensors[nn.ScoreContextBias].Data[i]; x != y {
			t.Errorf("value %d: got %v, want %v", i, y, x)
		}
	}
}

func TestDecodeRefusesHostileHeaders(t *testing.T) {
	manifest, weights := mustEncode(t, testModel(1))
	huge := binary.LittleEndian.AppendUint64(nil, math.MaxUint64)
	long := append(binary.LittleEndian.AppendUint64(nil, maxHeader+1), make([]byte, maxHeader+2000)...)
	for name, raw := range map[string][]byte{
		"empty":                    {},
		"length cut off":           weights[:7],
		"length of 2^64 - 1":       append(huge, weights[8:]...),
		"header above its limit":   long,
		"header beyond the file":   append(binary.LittleEndian.AppendUint64(nil, uint64(len(weights))), weights[8:]...),
		"header that is not JSON":  append(bytes.Clone(weights[:8]), bytes.Repeat([]byte{'x'}, len(weights)-8)...),
		"bytes behind the tensors": append(bytes.Clone(weights), 0, 0, 0, 0),
	} {
		if _, err := Decode(Files{Manifest: rehashed(t, manifest, raw), Weights: raw}); err == nil {
			t.Errorf("%s: got no error", name)
		}
	}
}

// A file of some bytes does not get memory for the network it claims to be.
func TestDecodeAllocatesNoMoreThanTheFile(t *testing.T) {
	m := testModel(1)
	for range nn.MaxDim - len(m.Manifest.Encoder.Candidate) {
		m.Manifest.Encoder.Candidate = append(m.Manifest.Encoder.Candidate, Feature{Name: "x"})
	}
	m.Manifest.Dims = nn.Dims{Candidate: nn.MaxDim, Global: 2, Hidden: nn.MaxDim, Value: nn.MaxDim}
	_, weights := mustEncode(t, testModel(1))
	m.Manifest.SHA256 = hash(weights)
	manifest, err := json.Marshal(&m.Manifest)
	if err != nil {
		t.Fatal(err)
	}
	const calls = 10
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range calls {
		if _, err := Decode(Files{Manifest: manifest, Weights: weights}); !errors.Is(err, ErrIncompatible) {
			t.Fatalf("got error %v, want ErrIncompatible", err)
		}
	}
	runtime.ReadMemStats(&after)
	if got := (after.TotalAlloc - before.TotalAlloc) / calls; got > 1<<20 {
		t.Errorf("refusing %d bytes allocated %d bytes", len(manifest)+len(weights), got)
	}
}

func TestLoadRefusesWhatIsNotThereOrTooLarge(t *testing.T) {
	dir := t.TempDir()
	if _, err := Load(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("empty folder: got error %v, want fs.ErrNotExist", err)
	}
	mustSave(t, dir, testModel(1))
	if err := os.Truncate(filepath.Join(dir, weightsFile), MaxWeightsBytes+1); err != nil { // sparse: takes no space
		t.Fatal(err)
	}
	_, err := Load(dir)
	wantError(t, "large weights", err, false, weightsFile, "larger than 67108864 bytes")
	if err := os.Remove(filepath.Join(dir, weightsFile)); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no weights: got error %v, want fs.ErrNotExist", err)
	}
	if err := os.Truncate(filepath.Join(dir, manifestFile), MaxManifestBytes+1); err != nil {
		t.Fatal(err)
	}
	_, err = Load(dir)
	wantError(t, "large manifest", err, false, manifestFile, "larger than 1048576 bytes")
}

func TestCheckEncoder(t *testing.T) {
	m := testModel(1).Manifest
	if err := m.CheckEncoder(JobStrategy, testEncoder()); err != nil {
		t.Fatal(err)
	}
	wantError(t, "kind", m.CheckEncoder(Configuration, testEncoder()), true, `"job-strategy"`, `"configuration"`)
	tests := map[string]struct {
		change func(e *Encoder)
		want   []string
	}{
		"version":        {func(e *Encoder) { e.Version = "test/2" }, []string{`"test/1"`, `"test/2"`}},
		"global count":   {func(e *Encoder) { e.Global = e.Global[:1] }, []string{"2 global features, want 1"}},
		"more columns":   {func(e *Encoder) { e.Candidate = append(e.Candidate, Feature{Name: "x"}) }, []string{"3 candidate features, want 4"}},
		"order":          {func(e *Encoder) { e.Candidate[1], e.Candidate[2] = e.Candidate[2], e.Candidate[1] }, []string{"candidate feature 1 is density", "want gpus"}},
		"name":           {func(e *Encoder) { e.Global[0].Name = "pressure" }, []string{"global feature 0 is load", "want pressure"}},
		"bound":          {func(e *Encoder) { e.Candidate[2].High = 20 }, []string{"gpus [-10, 10]", "gpus [-10, 20]"}},
		"other low":      {func(e *Encoder) { e.Global[1].Low = -1 }, []string{"size [0, 1]", "size [-1, 1]"}},
		"other encoding": {func(e *Encoder) { *e = Encoder{Version: "other/1"} }, []string{`"other/1"`}},
	}
	for name, tt := range tests {
		e := testEncoder()
		tt.change(&e)
		wantError(t, name, m.CheckEncoder(JobStrategy, e), true, tt.want...)
	}
}
