package repository

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/yardmaster/yardmaster/models"
	"github.com/yardmaster/yardmaster/models/nn"
)

// testModel returns a small model with golden cases.
func testModel(t testing.TB, seed uint64) *models.Model {
	t.Helper()
	p := nn.NewParams(nn.Dims{Candidate: 2, Global: 1, Hidden: 4, Value: 2})
	r := rand.New(rand.NewPCG(seed, 1))
	for i := range p.Flat {
		p.Flat[i] = float32(r.NormFloat64())
	}
	m := models.New(models.JobStrategy, models.Encoder{
		Version: "test/1", Global: []models.Feature{{Name: "g", Low: 0, High: 1}},
		Candidate: []models.Feature{{Name: "a", Low: 0, High: 1}, {Name: "b", Low: -1, High: 1}},
	}, p)
	g, err := models.NewGolden(p, []models.GoldenCase{{Global: []float32{0.5}, Candidates: []float32{1, 0, 0, 1, 0.5, 0.5}, Mask: []bool{true, true, false}}})
	if err != nil {
		t.Fatal(err)
	}
	m.Golden = g
	return m
}

func testFiles(t testing.TB, seed uint64) models.Files {
	t.Helper()
	f, err := models.Encode(testModel(t, seed))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func open(t testing.TB) *Repository {
	t.Helper()
	r, err := Create(filepath.Join(t.TempDir(), "models"))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func add(t testing.TB, r *Repository, name string, seed uint64) ID {
	t.Helper()
	id, err := r.Add(name, testFiles(t, seed), Version{})
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func TestVersions(t *testing.T) {
	for text, ok := range map[string]bool{
		"1.2.3": true, "0.0.0": true, "999999999.0.10": true, "": false, "1": false, "1.2": false, "1.2.3.4": false, "01.2.3": false, "1.2.-3": false,
		"1.2.3-rc1": false, "1.2.3+x": false, "1.2.1000000000": false, " 1.2.3": false, "1.2.٣": false, "../../x": false,
	} {
		v, err := ParseVersion(text)
		if (err == nil) != ok || ok && v.String() != text {
			t.Errorf("%q: got %v, %v, want ok %v", text, v, err, ok)
		}
	}
	for _, text := range []string{"demo", "demo/", "/1.2.3", "a/b/1.2.3", "../1.2.3", "de mo/1.2.3", strings.Repeat("x", 65) + "/1.0.0", "demo/latest"} {
		if id, err := ParseID(text); err == nil {
			t.Errorf("%q: got %v, want an error", text, id)
		}
	}
}

// What is imported is found again byte for byte, versions count up, and policies
// choose.
func TestImportAndResolve(t *testing.T) {
	r := open(t)
	dir := t.TempDir()
	if err := models.Save(dir, testModel(t, 1)); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"demo/1.0.0", "demo/1.1.0", "demo/1.2.0"} {
		id, err := r.Import("demo", dir, Version{})
		if err != nil || id.String() != want {
			t.Fatalf("got %v, %v, want %s", id, err, want)
		}
	}
	if id, err := r.Import("demo", dir, Version{1, 10, 0}); err != nil || id.Version != (Version{1, 10, 0}) {
		t.Errorf("got %v, %v", id, err)
	}
	if _, err := r.Import("demo", dir, Version{1, 1, 0}); !errors.Is(err, ErrExists) {
		t.Errorf("a version that is there: got %v, want ErrExists", err)
	}
	for policy, want := range map[string]string{"latest": "1.10.0", "": "1.10.0", "1.1.0": "1.1.0"} {
		if id, err := r.Resolve("demo", policy); err != nil || id.Version.String() != want {
			t.Errorf("%q: got %v, %v, want %s", policy, id, err, want)
		}
	}
	for policy, name := range map[string]string{"9.9.9": "demo", "latest": "other"} {
		if _, err := r.Resolve(name, policy); !errors.Is(err, ErrNotFound) {
			t.Errorf("%s %s: got %v, want ErrNotFound", name, policy, err)
		}
	}
	if _, err := r.Resolve("demo", "newest"); err == nil || !strings.Contains(err.Error(), "latest") {
		t.Errorf("got %v, want the policies that there are", err)
	}
	want, _ := models.ReadFiles(dir)
	got, err := r.Files(ID{"demo", Version{1, 0, 0}})
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v, files changed: %s", err, diff)
	}
	if _, err := r.Files(ID{"demo", Version{7, 0, 0}}); !errors.Is(err, ErrNotFound) {
		t.Errorf("got %v, want ErrNotFound", err)
	}
	list, err := r.List()
	if err != nil || len(list) != 4 || list[3].ID.String() != "demo/1.10.0" || list[0].Kind != models.JobStrategy || !list[0].Golden || list[0].Problem != "" {
		t.Errorf("got %+v, %v", list, err)
	}
}

// A model that is damaged, or does not score as it should, never becomes a
// version.
func TestAddRefuses(t *testing.T) {
	r := open(t)
	good := testFiles(t, 1)
	bad := map[string]models.Files{
		"empty":     {},
		"cut":       {Manifest: good.Manifest, Weights: good.Weights[:len(good.Weights)-1], Golden: good.Golden},
		"swapped":   {Manifest: good.Manifest, Weights: testFiles(t, 2).Weights, Golden: good.Golden},
		"no golden": {Manifest: good.Manifest, Weights: good.Weights},
	}
	for name, f := range bad {
		if id, err := r.Add("demo", f, Version{}); err == nil {
			t.Errorf("%s: got %v, want an error", name, id)
		}
	}
	if names, err := r.Names(); err != nil || len(names) != 0 {
		t.Errorf("got names %v, %v, want none", names, err)
	}
	if _, err := r.Add("../demo", good, Version{}); err == nil {
		t.Error("a name that is a path: got no error")
	}
}

func TestVerifyFindsDamage(t *testing.T) {
	r := open(t)
	id := add(t, r, "demo", 1)
	if _, err := r.Verify(id); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(r.Dir(id), "weights.safetensors")
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	raw[len(raw)-1] ^= 1
	if err := os.WriteFile(path, raw, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Verify(id); err == nil || !strings.Contains(err.Error(), "demo/1.0.0") || !strings.Contains(err.Error(), "SHA-256") {
		t.Errorf("got %v, want the version and what is wrong", err)
	}
	if list, err := r.List(); err != nil || len(list) != 1 || list[0].Problem == "" {
		t.Errorf("got %+v, %v, want the version with its problem", list, err)
	}
}

func TestRemove(t *testing.T) {
	r := open(t)
	ids := []ID{add(t, r, "demo", 1), add(t, r, "demo", 2), add(t, r, "demo", 3), add(t, r, "demo", 4)}
	if err := r.SetActive(Active{JobStrategy: Slot{Active: ids[0], Previous: ids[1], Candidate: ids[2]}}); err != nil {
		t.Fatal(err)
	}
	for _, id := range ids[:3] {
		if err := r.Remove(id); !errors.Is(err, ErrInUse) {
			t.Errorf("%v: got %v, want ErrInUse", id, err)
		}
	}
	if err := r.Remove(ids[3]); err != nil {
		t.Error(err)
	}
	if err := r.Remove(ids[3]); !errors.Is(err, ErrNotFound) {
		t.Errorf("twice: got %v, want ErrNotFound", err)
	}
	if versions, err := r.Versions("demo"); err != nil || !slices.Equal(versions, []Version{{1, 0, 0}, {1, 1, 0}, {1, 2, 0}}) {
		t.Errorf("got %v, %v", versions, err)
	}
	// While it is not known what is in use, nothing goes.
	if err := os.WriteFile(filepath.Join(r.Root(), activeFile), []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := r.Remove(ids[2]); err == nil || !strings.Contains(err.Error(), activeFile) {
		t.Errorf("got %v, want the damaged file named", err)
	}
}

func TestActiveRoundTrip(t *testing.T) {
	r := open(t)
	if a, err := r.Active(); err != nil || a != (Active{Format: 1}) {
		t.Errorf("nothing kept: got %+v, %v", a, err)
	}
	want := Active{Format: 1, JobStrategy: Slot{Active: ID{"demo", Version{1, 2, 0}}, Previous: ID{"old", Version{0, 1, 0}}}, Configuration: Slot{Candidate: ID{"c", Version{3, 0, 0}}}}
	if err := r.SetActive(want); err != nil {
		t.Fatal(err)
	}
	if got, err := r.Active(); err != nil || got != want {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
}

// Whatever a writer leaves behind when it dies, readers see whole versions only,
// and the next writer cleans up.
func TestUnfinishedWriters(t *testing.T) {
	r := open(t)
	id := add(t, r, "demo", 1)
	f := testFiles(t, 2)
	unfinished := filepath.Join(r.Root(), temporary+"123")
	if err := os.MkdirAll(unfinished, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(unfinished, "weights.safetensors"), f.Weights[:10], 0o644); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"demo/not-a-version", "demo/1.1", "no-versions", "a name"} {
		if err := os.MkdirAll(filepath.Join(r.Root(), dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(r.Dir(id), filepath.Join(r.Root(), "demo", "9.9.9")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(r.Root(), "demo", "2.0.0"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if list, err := r.List(); err != nil || len(list) != 1 || list[0].ID != id {
		t.Errorf("got %+v, %v, want %v alone", list, err, id)
	}
	add(t, r, "demo", 2)
	if _, err := os.Stat(unfinished); !os.IsNotExist(err) {
		t.Errorf("what was not finished is still there: %v", err)
	}
}

// Several writers get versions of their own, and readers beside them see each
// version whole or not at all.
func TestConcurrentWriters(t *testing.T) {
	r := open(t)
	files := testFiles(t, 1)
	var writers, reader sync.WaitGroup
	done := make(chan struct{})
	reader.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
			}
			versions, err := r.Versions("demo")
			if err != nil {
				t.Error(err)
				return
			}
			for _, v := range versions {
				if _, err := r.Load(ID{"demo", v}); err != nil {
					t.Errorf("%v was visible before it was whole: %v", v, err)
				}
			}
		}
	})
	for range 4 {
		writers.Go(func() {
			for range 5 {
				if _, err := r.Add("demo", files, Version{}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	writers.Wait()
	close(done)
	reader.Wait()
	if versions, err := r.Versions("demo"); err != nil || len(versions) != 20 || versions[19] != (Version{1, 19, 0}) {
		t.Errorf("got %d versions up to %v, %v, want 20", len(versions), versions[len(versions)-1], err)
	}
}

// Versions are ordered by number, Next is greater, and the text reads back.
func TestVersionProperties(t *testing.T) {
	draw := func(t *rapid.T, name string) Version {
		n := rapid.IntRange(0, maxNumber-1)
		return Version{n.Draw(t, name+".major"), n.Draw(t, name+".minor"), n.Draw(t, name+".patch")}
	}
	rapid.Check(t, func(t *rapid.T) {
		v, w := draw(t, "v"), draw(t, "w")
		if v.Compare(w) != -w.Compare(v) || v.Compare(v.Next()) >= 0 {
			t.Fatalf("%v and %v compare %d and %d, %v to its next %d", v, w, v.Compare(w), w.Compare(v), v, v.Compare(v.Next()))
		}
		if got, err := ParseVersion(v.String()); err != nil || got != v {
			t.Fatalf("%v: got %v, %v", v, got, err)
		}
	})
}

func TestTooMany(t *testing.T) {
	r := open(t)
	for i := range MaxVersions + 1 {
		if err := os.MkdirAll(filepath.Join(r.Root(), "demo", fmt.Sprintf("0.0.%d", i)), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := r.Versions("demo"); err == nil {
		t.Error("got no error")
	}
}

// FuzzRepository reads a folder with a stranger's version and active file in it:
// no panic, and what is loaded is a model that can be encoded.
func FuzzRepository(f *testing.F) {
	whole := testFiles(f, 1)
	f.Add("demo", "1.0.0", whole.Manifest, whole.Weights, whole.Golden, []byte(`{"format":1,"job_strategy":{"active":"demo/1.0.0"}}`))
	f.Add("demo", "1.0.0", whole.Manifest, whole.Weights[:40], whole.Golden, []byte(`{"format":2}`))
	f.Add("de.mo", "1.0", []byte("{}"), []byte(nil), []byte(nil), []byte("null"))
	f.Fuzz(func(t *testing.T, name, version string, manifest, weights, golden, active []byte) {
		if len(name) > 64 || len(version) > 32 || strings.ContainsAny(name+version, "/\x00") || name == "" || version == "" || name[0] == '.' || version[0] == '.' {
			return
		}
		r := open(t)
		dir := filepath.Join(r.Root(), name, version)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return
		}
		for file, raw := range map[string][]byte{"manifest.json": manifest, "weights.safetensors": weights, "golden.safetensors": golden, "../../" + activeFile: active} {
			if err := os.WriteFile(filepath.Join(dir, file), raw, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		list, err := r.List()
		if err != nil || len(list) > 1 {
			t.Fatalf("got %+v, %v", list, err)
		}
		for _, e := range list {
			m, err := r.Verify(e.ID)
			if err != nil {
				continue
			}
			f, err := models.Encode(m)
			if err != nil || !slices.ContainsFunc(m.Params.Flat, func(x float32) bool { return !math.IsNaN(float64(x)) }) {
				t.Fatalf("a verified model cannot be encoded: %v", err)
			}
			if again, err := models.Decode(f); err != nil || !bytes.Equal(fmt.Append(nil, again.Params.Flat), fmt.Append(nil, m.Params.Flat)) {
				t.Fatalf("it comes back changed: %v", err)
			}
			_ = r.Remove(e.ID)
		}
	})
}
