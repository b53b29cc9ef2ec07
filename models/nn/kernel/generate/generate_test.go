package main

import (
	"os"
	"path/filepath"
	"testing"
)

// The committed assembly is what the generator writes.
func TestFilesAreUpToDate(t *testing.T) {
	files, err := generate()
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range files {
		got, err := os.ReadFile(filepath.Join("..", name))
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != string(want) {
			t.Errorf("%s is not what the generator writes: run go generate ./models/nn/kernel", name)
		}
	}
}
