package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/google/renameio/v2"
	"github.com/spf13/cobra"
)

// writable returns an error if a file that a flag or an argument names cannot be
// written: before what it is to hold has been computed, and in words that do not speak
// of temporary files. An empty path is a flag that was not given.
func writable(flag, path string) error {
	if path == "" {
		return nil
	}
	if path == "-" {
		return usageError{fmt.Errorf("%s is -, want the name of a file: it is not written to standard output", flag)}
	}
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		kind := "is no regular file, and would be replaced by one"
		if info.IsDir() {
			kind = "is a folder: name a file in it"
		}
		return fmt.Errorf("%s is %s, which %s", flag, path, kind)
	}
	dir := filepath.Dir(path)
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s is %s, but there is no folder %s: make it with mkdir -p %s", flag, path, dir, shellQuote(dir))
	case err == nil && !info.IsDir():
		return fmt.Errorf("%s is %s, but %s is no folder", flag, path, dir)
	}
	probe, err := os.CreateTemp(dir, ".yardmaster-*")
	if err != nil {
		if cause, ok := errors.AsType[*fs.PathError](err); ok {
			err = cause.Err
		}
		return fmt.Errorf("%s is %s, but no file can be made in %s: %w", flag, path, dir, err)
	}
	return errors.Join(probe.Close(), os.Remove(probe.Name()))
}

// writeFile writes a file that appears when it is complete. Its error names the file,
// not the temporary one.
func writeFile(path string, write func(io.Writer) error) error {
	f, err := renameio.NewPendingFile(path, renameio.WithTempDir(filepath.Dir(path)), renameio.WithPermissions(0o644))
	if err == nil {
		defer func() { _ = f.Cleanup() }() // does nothing after the rename
		if err = write(f); err == nil {
			err = f.CloseAtomicallyReplace()
		}
	}
	if cause, ok := errors.AsType[*fs.PathError](err); ok {
		err = cause.Err
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

// requireOut returns an error if --out, which takes - for standard output, was not
// given or cannot be written.
func requireOut(c *cobra.Command) error {
	if err := requireFlag(c, "out"); err != nil {
		return err
	}
	if path := c.Flag("out").Value.String(); path != "-" {
		return writable("--out", path)
	}
	return nil
}

// differs returns an error if out is one of the files that are read, which would be
// lost.
func differs(out string, inputs []string) error {
	to, err := os.Stat(out)
	if err != nil {
		return nil // a new file
	}
	for _, path := range inputs {
		if from, err := os.Stat(path); err == nil && os.SameFile(from, to) {
			return usageError{fmt.Errorf("--out is %s, which is to be imported and would be lost: name another file", out)}
		}
	}
	return nil
}
