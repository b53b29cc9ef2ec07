package modelstore

import (
	"bytes"
	"testing"

	"github.com/yardmaster/yardmaster/models"
)

// FuzzUnpack reads a stranger's object: an error, or files that pack to an archive
// with the same files.
func FuzzUnpack(f *testing.F) {
	for _, files := range []models.Files{
		{Manifest: []byte("{}"), Weights: []byte("weights")},
		{Manifest: []byte("{}"), Weights: bytes.Repeat([]byte("w"), 1000), Golden: []byte("golden")},
	} {
		raw, err := pack(files)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
		f.Add(raw[:len(raw)-700])
		f.Add(bytes.Replace(raw, []byte("manifest.json"), []byte("../evil.jsonx"), 1))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		files, err := unpack(raw)
		if err != nil {
			return
		}
		if n := len(files.Manifest) + len(files.Weights) + len(files.Golden); n > len(raw) {
			t.Fatalf("%d bytes came out of %d", n, len(raw))
		}
		again, err := pack(files)
		if err != nil {
			t.Fatal(err)
		}
		got, err := unpack(again)
		if err != nil || !got.Equal(files) {
			t.Fatalf("the files changed, %v", err)
		}
	})
}

// Equal files give equal archives, so that a digest of a copy on disk is that of the
// object.
func TestPackIsDeterministic(t *testing.T) {
	files := models.Files{Manifest: []byte("{}"), Weights: []byte("w"), Golden: []byte("g")}
	a, err := pack(files)
	if err != nil {
		t.Fatal(err)
	}
	b, err := pack(files)
	if err != nil || !bytes.Equal(a, b) || digest(a) != digest(b) {
		t.Errorf("two archives of the same files differ, %v", err)
	}
}

func TestParseObject(t *testing.T) {
	for text, ok := range map[string]bool{
		"demo/1.2.3+0123456789ab": true, "demo/1.2.3": false, "demo/1.2.3+0123456789AB": false, "demo/1.2.3+0123456789": false,
		"demo+0123456789ab": false, "../x/1.2.3+0123456789ab": false, "": false, "demo/1.2.3+0123456789ab+0123456789ab": false,
	} {
		o, err := parseObject(text)
		if (err == nil) != ok || ok && o.String() != text {
			t.Errorf("%q: got %v, %v, want ok %v", text, o, err, ok)
		}
	}
}
