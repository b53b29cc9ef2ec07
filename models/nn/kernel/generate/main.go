// Command generate writes the assembly of package kernel for amd64: the same
// kernels once for AVX2 with FMA and once for AVX-512. `go generate
// ./models/nn/kernel` runs it; a test compares its output with the files that
// are there.
package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"

	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/pass"
	"github.com/mmcloughlin/avo/printer"
)

// Names of the files written.
const (
	assemblyFile = "kernel_amd64.s"
	stubsFile    = "stubs_amd64.go"
)

func main() {
	if err := write("."); err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}

// write writes both files to dir.
func write(dir string) error {
	files, err := generate()
	if err != nil {
		return err
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// generate returns the content of both files by name.
func generate() (map[string][]byte, error) {
	c := build.NewContext()
	c.ConstraintExpr("amd64")
	shared, doubles := constants{}, map[uint64]operand.Mem{}
	for _, w := range widths {
		if w.lanes == 16 {
			product(c, w, "narrowProduct", 1, w.rows, true)
			product(c, w, "product", 2, w.rows, true)
			product(c, w, "wholeProduct", 2, w.rows, false)
		} else {
			product(c, w, "product", 2, w.rows, false)
			transpose(c, w)
			copyPanel(c, w)
		}
		product(c, w, "rowProduct", 64/w.lanes, []int{1}, false)
		dots(c, w)
		elementwise(c, w, shared)
		softmax(c, w, shared)
		norm(c, w, shared)
		rows(c, w, "Rows", 1)
		rows(c, w, "WideRows", 2)
		d := &double{c, w, doubles}
		d.expDoubles()
		d.sumSquares()
	}
	file, err := c.Result()
	if err != nil {
		return nil, err
	}
	cfg := printer.Config{Name: "generate", Pkg: "kernel"}
	var assembly, stubs bytes.Buffer
	if err := pass.Concat(pass.Compile,
		&pass.Output{Writer: nopCloser{&assembly}, Printer: printer.NewGoAsm(cfg)},
		&pass.Output{Writer: nopCloser{&stubs}, Printer: printer.NewStubs(cfg)},
	).Execute(file); err != nil {
		return nil, err
	}
	return map[string][]byte{assemblyFile: assembly.Bytes(), stubsFile: stubs.Bytes()}, nil
}

type nopCloser struct{ *bytes.Buffer }

func (nopCloser) Close() error { return nil }

// Attributes of functions that need no stack and of constants without pointers.
const (
	noSplit    = attr.NOSPLIT
	noPointers = attr.RODATA | attr.NOPTR
)
