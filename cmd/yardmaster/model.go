package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/yardmaster/yardmaster/models/repository"
)

func newModel() *cobra.Command {
	c := &cobra.Command{
		Use:   "model",
		Short: "Keep versions of models, and say which of them a running service uses",
		Long: `Keep versions of models in a folder (--models) or in an object store bucket of
NATS (--bucket, with --nats), and say which of them a running service uses (--nats).

A version is added once and never changes; the next one gets the next number. A
service takes a version into use only when it is whole, fits this program, and
scores its golden inputs as it did where it was trained; else it says why and goes
on with what it has.

  yardmaster model add run --name demo --models models     the model of a run, as demo/1.0.0
  yardmaster model list --models models                    what there is
  yardmaster serve --run run --models-root models --models-name demo

  yardmaster model load demo --nats URL                    ready, beside the one in charge
  yardmaster model mode canary --share 0.1 --nats URL      … in charge of a tenth of the clusters
  yardmaster model promote --nats URL                      … in charge
  yardmaster model rollback --nats URL                     the one before is in charge again
  yardmaster model mode shadow --cluster c1 --nats URL     c1 gets the linear program's
                                                           decisions, the model's are logged
  yardmaster model status --nats URL                       what is in use`,
		Args: exactArgs(),
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newModelList(), newModelShow(), newModelAdd(), newModelVerify(), newModelRemove(), newModelClone(), newModelExport(),
		newModelLoad(), newModelPromote(), newModelRollback(), newModelDiscard(), newModelMode(), newModelStatus())
	return c
}

// storeFlags say where versions are kept.
type storeFlags struct {
	root   string
	bucket string
	nats   natsFlags
}

func (f *storeFlags) add(set *pflag.FlagSet) {
	set.StringVar(&f.root, "models", "", "folder of the models")
	set.StringVar(&f.bucket, "bucket", "", "object store bucket with the models, instead of a folder")
	f.nats.add(set)
}

// check reports what is missing.
func (f *storeFlags) check(c *cobra.Command) error {
	switch {
	case f.root == "" && f.bucket == "":
		return usageError{fmt.Errorf("neither --models nor --bucket is given: name the folder or the bucket (see %s --help)", c.CommandPath())}
	case f.root != "" && f.bucket != "":
		return usageError{errors.New("--models and --bucket are both given, want one")}
	}
	return nil
}

// target is a model and a version, as arguments name it: NAME, NAME/1.2.0, or
// NAME/latest.
type target struct{ name, version string }

func parseTarget(text string) (target, error) {
	name, version, _ := strings.Cut(text, "/")
	if err := repository.CheckName(name); err != nil {
		return target{}, usageError{err}
	}
	if version != "" && version != repository.Latest {
		if _, err := repository.ParseVersion(version); err != nil {
			return target{}, usageError{fmt.Errorf("%w, or latest", err)}
		}
	}
	return target{name, version}, nil
}

// modelFolder returns the folder of the model in dir: dir itself, or the one of a
// run directory.
func modelFolder(dir string) (string, error) {
	var errs []error
	for _, path := range []string{dir, filepath.Join(dir, "model")} {
		_, err := os.Stat(filepath.Join(path, "manifest.json"))
		if err == nil {
			return path, nil
		}
		errs = append(errs, err)
	}
	return "", fmt.Errorf("%s holds no model: %w; name a folder with manifest.json, or a run directory", dir, errs[0])
}
