package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/gofrs/flock"
	"github.com/google/renameio/v2"

	"github.com/yardmaster/yardmaster/train"
	"github.com/yardmaster/yardmaster/train/runfile"
	"github.com/yardmaster/yardmaster/train/scenario"
	"github.com/yardmaster/yardmaster/train/tune"
)

// catalogueDir is where a run keeps the user's GPU types and models.
const catalogueDir = "catalogue"

// lockFile is locked while a run is trained.
const lockFile = ".lock"

// refuseRun returns an error if there is something in dir that would be lost: a run, or
// files of another kind that have the names of a run's.
func refuseRun(dir string, force bool) error {
	if force {
		return nil
	}
	for _, name := range []string{runfile.Name, scenarioFile} {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			return fmt.Errorf("%s holds a run already: go on with it (yardmaster train --resume %s), replace it (--force), or name another directory", dir, shellQuote(dir))
		}
	}
	for _, name := range append(train.Owned(), tune.ModelDir, tune.ResultFile, tune.LessonsFile) {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			return fmt.Errorf("%s is no run, and has a %s that one would replace: name another directory, or let it be replaced (--force)", dir, name)
		}
	}
	return nil
}

// lockRun keeps other processes from training in dir, which is made if it does not
// exist. Where the file system has no locks there is none.
func lockRun(dir string) (unlock func(), err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	lock := flock.New(filepath.Join(dir, lockFile))
	if mine, err := lock.TryLock(); err == nil && !mine {
		return nil, fmt.Errorf("another process is training in %s: wait for it, or end it", dir)
	}
	return func() { _ = lock.Close() }, nil // a lock that cannot be released ends with the process
}

// beginDirectory begins a run directory with its settings, and removes the policy
// that configures the scheduler if it is to be trained: a run that goes on must
// not take an earlier one for its own.
func beginDirectory(dir string, file *runfile.File, c *scenario.Catalogue, force bool) error {
	if err := refuseRun(dir, force); err != nil {
		return err
	}
	if err := refuseCatalogue(dir, c, force); err != nil {
		return err
	}
	earlier := keptCatalogue(dir)
	if file.Only != runfile.OnlyAllocation {
		for _, name := range []string{tune.ResultFile, tune.ModelDir, tune.LessonsFile} {
			if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
				return err
			}
		}
	}
	kept := file.Clone()
	var err error
	if kept.Scenario.Catalogue, err = keepCatalogue(dir, c); err != nil {
		return err
	}
	if err := errors.Join(writeScenario(dir, kept.Scenario), kept.Save(filepath.Join(dir, runfile.Name))); err != nil {
		return err
	}
	return dropCatalogue(dir, len(c.Texts), earlier)
}

// cataloguePath returns where the run in dir keeps file i of the user's GPU types and models.
func cataloguePath(dir string, i int) string {
	return filepath.Join(dir, catalogueDir, strconv.Itoa(i+1)+".yaml")
}

// keptCatalogue returns how many files of GPU types and models the run in dir keeps: 0
// where there is no run. Other files of the folder are the user's.
func keptCatalogue(dir string) int {
	file, err := runfile.Read(filepath.Join(dir, runfile.Name))
	if err != nil {
		return 0 // or it is damaged, and what it kept stays
	}
	for i, path := range file.Scenario.Catalogue {
		if path != cataloguePath(dir, i) {
			return 0
		}
	}
	return len(file.Scenario.Catalogue)
}

// refuseCatalogue returns an error if dir, in which there is no run, has other files where
// c is to be kept.
func refuseCatalogue(dir string, c *scenario.Catalogue, force bool) error {
	if force {
		return nil
	}
	for i := range c.Texts {
		path := cataloguePath(dir, i)
		text, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		if !bytes.Equal(text, c.Texts[i]) {
			return fmt.Errorf("%s is of no run, and the run's copy of a file of --catalogue would replace it: rename it, replace it (--force), or name another directory", path)
		}
	}
	return nil
}

// keepCatalogue writes the user's GPU types and models into a run directory, so that what
// a run was trained with stays with it, and returns the paths of the files.
func keepCatalogue(dir string, c *scenario.Catalogue) (paths []string, err error) {
	folder := filepath.Join(dir, catalogueDir)
	if len(c.Texts) > 0 {
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return nil, err
		}
	}
	for i, text := range c.Texts {
		path := cataloguePath(dir, i)
		if err := renameio.WriteFile(path, text, 0o644, renameio.WithTempDir(folder)); err != nil {
			return nil, err
		}
		paths = append(paths, path)
	}
	return paths, nil
}

// dropCatalogue removes the copies that an earlier run in dir kept beyond the first n. They
// may be what the new run read: it is written by then.
func dropCatalogue(dir string, n, earlier int) error {
	for i := n; i < earlier; i++ {
		if err := os.Remove(cataloguePath(dir, i)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if n == 0 && earlier > 0 {
		_ = os.Remove(filepath.Join(dir, catalogueDir)) // stays where the user has files in it
	}
	return nil
}

// writeScenario starts a run directory with its scenario. Its files are named as
// seen from the directory, so that the run can be used from any other and moved
// together with its trace.
func writeScenario(dir string, s scenario.Scenario) error {
	from, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	for _, file := range s.Files() {
		if *file, err = filepath.Abs(*file); err != nil {
			return err
		}
		if near, err := filepath.Rel(from, *file); err == nil {
			*file = near
		}
	}
	data, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	return renameio.WriteFile(filepath.Join(dir, scenarioFile), append(data, '\n'), 0o644, renameio.WithTempDir(dir))
}

// bare is what a shell takes as it is.
var bare = regexp.MustCompile(`^[A-Za-z0-9_@%+=:,./-]+$`)

// shellQuote writes an argument so that it can be pasted into a shell.
func shellQuote(arg string) string {
	if bare.MatchString(arg) {
		return arg
	}
	return "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
}
