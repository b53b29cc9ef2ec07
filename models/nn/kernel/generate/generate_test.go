package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
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

// Functions for AVX2 use its 16 registers of 256 bits and no masks: a processor
// without AVX-512 faults at anything else.
func TestAVX2StaysWithinItsRegisters(t *testing.T) {
	files, err := generate()
	if err != nil {
		t.Fatal(err)
	}
	foreign := regexp.MustCompile(`\b([XY](1[6-9]|2\d|3[01])|Z\d+|K\d)\b`)
	narrow, seen := false, 0
	for line := range strings.Lines(string(files[assemblyFile])) {
		if strings.HasPrefix(line, "TEXT") {
			narrow = strings.Contains(line, "AVX2(SB)")
			seen++
		}
		if narrow && foreign.MatchString(line) {
			t.Errorf("in a function for AVX2: %s", strings.TrimSpace(line))
		}
	}
	if seen == 0 {
		t.Fatal("no functions: the test does not see the assembly")
	}
}
