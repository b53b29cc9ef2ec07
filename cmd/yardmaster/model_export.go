package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/yardmaster/yardmaster/models"
	"github.com/yardmaster/yardmaster/models/export"
	"github.com/yardmaster/yardmaster/models/repository"
)

// Formats of an export.
const (
	formatONNX        = "onnx"
	formatTriton      = "triton"
	formatSafetensors = "safetensors"
)

// exportFlags say which model is exported, as what and where to.
type exportFlags struct {
	store   storeFlags
	name    string
	format  string
	out     string
	version int // of Triton
	batch   bool
	force   bool
	json    *bool
}

func newModelExport() *cobra.Command {
	var flags exportFlags
	c := &cobra.Command{
		Use:   "export (DIR | NAME[/VERSION] --models ROOT) --out PATH",
		Short: "Write a model so that other programs can score with it",
		Long: `Write the model of DIR, a model folder or a run directory, or with --models or
--bucket the version NAME[/VERSION], so that other programs can score with it. (A
run's policy for configurations is in RUN/configuration.)

  --format onnx         --out is a file, for ONNX Runtime and all that reads ONNX
                        (operator set 17, IR version 8)
  --format triton       --out is a model repository of the Triton inference server:
                        NAME/config.pbtxt and NAME/1/model.onnx are written
  --format safetensors  --out is a folder: the model's own files as they are, with
                        the names of PyTorch; edited, they come back by model add

What is written is the network whole, for any number of candidates N:

  global      float32 [G]     in   features of the decision point
  candidates  float32 [N, F]  in   features of each candidate
  mask        bool    [N]     in   the legal ones
  scores      float32 [N]     out  of each candidate: pick the legal one with the highest
  value       float32 [1]     out  of the decision point

as serve answers the Open Inference protocol. With --batch all have a dimension B
before those; shorter points are filled up with rows that the mask does not allow.
The file's metadata (yardmaster.encoder.global, …) name the features in order, with
the bounds to which they are clipped, and say which model it is. This compares it
with the scores that the model had where it was trained:

` + exportExample,
		Example: "  yardmaster model export run --out model.onnx\n" +
			"  yardmaster model export demo/1.2.0 --models models --format triton --out model_repository",
		Args: exactArgs("DIR or NAME[/VERSION]"),
		RunE: func(c *cobra.Command, args []string) error {
			if err := requireFlag(c, "out"); err != nil {
				return err
			}
			return flags.run(c, args[0])
		},
	}
	flags.store.add(c.Flags())
	f := c.Flags()
	f.StringVar(&flags.format, "format", formatONNX, "onnx, triton or safetensors")
	f.StringVar(&flags.out, "out", "", "file or folder to write")
	f.StringVar(&flags.name, "name", "", "what the model is called there (default NAME, or that of the folder DIR)")
	f.BoolVar(&flags.batch, "batch", false, "several decision points at once")
	f.IntVar(&flags.version, "triton-version", 1, "version in Triton's repository: a number")
	f.BoolVar(&flags.force, "force", false, "replace files that are there")
	flags.json = jsonFlag(c)
	return c
}

// exportExample is Python; a test runs it.
const exportExample = `  import onnxruntime, safetensors.numpy
  policy = onnxruntime.InferenceSession("model.onnx")
  golden = safetensors.numpy.load_file("run/model/golden.safetensors")
  g, x, mask, want = (golden["case.00." + k] for k in ("global", "candidates", "mask", "scores"))
  scores, value = policy.run(["scores", "value"], {"global": g, "candidates": x, "mask": mask == 1})
  print(abs(scores - want).max(), value)`

// check reports what does not go together.
func (f *exportFlags) check(c *cobra.Command) error {
	switch {
	case !slices.Contains([]string{formatONNX, formatTriton, formatSafetensors}, f.format):
		return usageError{fmt.Errorf("--format is %q, want %s, %s or %s", f.format, formatONNX, formatTriton, formatSafetensors)}
	case c.Flags().Changed("triton-version") && f.format != formatTriton:
		return usageError{fmt.Errorf("--triton-version is for --format %s, the format is %s", formatTriton, f.format)}
	case f.version < 1:
		return usageError{fmt.Errorf("--triton-version is %d, want at least 1", f.version)}
	case f.batch && f.format == formatSafetensors:
		return usageError{fmt.Errorf("--batch is for networks, --format %s copies files", formatSafetensors)}
	case f.format == formatONNX:
		return writable("--out", f.out)
	}
	return nil
}

func (f *exportFlags) run(c *cobra.Command, source string) error {
	if err := f.check(c); err != nil {
		return err
	}
	o, files, err := f.read(c, source)
	if err != nil {
		return err
	}
	m, err := repository.Check(files)
	if err != nil {
		return fmt.Errorf("%s: %w", source, err)
	}
	written, err := f.write(m, files, o)
	if err != nil {
		return err
	}
	x := &exported{
		Model: o.Name, Version: o.Version, Format: f.format, Kind: m.Manifest.Kind, Encoder: m.Manifest.Encoder.Version,
		Architecture: m.Manifest.Architecture, WeightsSHA256: m.Manifest.SHA256, Files: written,
	}
	if *f.json {
		return writeJSON(c.OutOrStdout(), x)
	}
	return x.print(c.OutOrStdout())
}

// read returns the files of the model that source names, and what it is called.
func (f *exportFlags) read(c *cobra.Command, source string) (o export.Options, files models.Files, err error) {
	o.Batch = f.batch
	if f.store.root != "" || f.store.bucket != "" {
		s, done, err := f.store.open(c, false)
		if err != nil {
			return o, files, err
		}
		defer done()
		id, files, err := fetch(c.Context(), s, source)
		if err != nil {
			return o, files, err
		}
		o.Name, o.Version = id.Name, id.Version.String()
		if f.name != "" {
			o.Name = f.name
		}
		return o, files, f.checkName(o.Name)
	}
	dir, err := modelFolder(source)
	if err != nil {
		return o, files, fmt.Errorf("%w; for a version of a model give --models or --bucket", err)
	}
	if o.Name = f.name; o.Name == "" {
		full, err := filepath.Abs(source)
		if err != nil {
			return o, files, err
		}
		o.Name = filepath.Base(full)
	}
	if err := f.checkName(o.Name); err != nil {
		return o, files, err
	}
	files, err = models.ReadFiles(dir)
	return o, files, err
}

func (f *exportFlags) checkName(name string) error {
	if err := repository.CheckName(name); err != nil {
		return usageError{fmt.Errorf("%w: call it something else (--name)", err)}
	}
	return nil
}

// exported is what was written.
type exported struct {
	Model         string         `json:"model"`
	Version       string         `json:"version,omitempty"` // of a model that is kept in versions
	Format        string         `json:"format"`
	Kind          models.Kind    `json:"kind"`
	Architecture  string         `json:"architecture"`
	Encoder       string         `json:"encoder"`
	WeightsSHA256 string         `json:"weights_sha256"`
	Files         []exportedFile `json:"files"`
}

// exportedFile is a file that was written.
type exportedFile struct {
	Path   string `json:"path"`
	Bytes  int    `json:"bytes"`
	SHA256 string `json:"sha256"`
	data   []byte
}

// write writes the model. It replaces nothing but with --force, unless it is the same.
func (f *exportFlags) write(m *models.Model, files models.Files, o export.Options) ([]exportedFile, error) {
	list, err := f.files(m, files, o)
	if err != nil {
		return nil, err
	}
	for i := range list {
		list[i].Bytes, list[i].SHA256 = len(list[i].data), models.Hash(list[i].data)
		if err := f.refuse(&list[i]); err != nil {
			return nil, err
		}
	}
	if f.format == formatSafetensors {
		return list, files.Write(f.out)
	}
	for _, x := range list {
		if f.format == formatTriton {
			if err := os.MkdirAll(filepath.Dir(x.Path), 0o755); err != nil {
				return nil, err
			}
		}
		err := writeFile(x.Path, func(w io.Writer) error {
			_, err := w.Write(x.data)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return list, nil
}

// files returns what is to be written, in order.
func (f *exportFlags) files(m *models.Model, files models.Files, o export.Options) ([]exportedFile, error) {
	if f.format == formatSafetensors {
		list := []exportedFile{{Path: filepath.Join(f.out, "weights.safetensors"), data: files.Weights}}
		if len(files.Golden) > 0 {
			list = append(list, exportedFile{Path: filepath.Join(f.out, "golden.safetensors"), data: files.Golden})
		}
		return append(list, exportedFile{Path: filepath.Join(f.out, "manifest.json"), data: files.Manifest}), nil
	}
	network, err := export.ONNX(m, o)
	if err != nil {
		return nil, err
	}
	if f.format == formatONNX {
		return []exportedFile{{Path: f.out, data: network}}, nil
	}
	config, err := export.TritonConfig(m, o)
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(f.out, o.Name)
	return []exportedFile{
		{Path: filepath.Join(dir, strconv.Itoa(f.version), "model.onnx"), data: network},
		{Path: filepath.Join(dir, "config.pbtxt"), data: config},
	}, nil
}

// refuse returns an error if there is something else at x's path that would be lost.
func (f *exportFlags) refuse(x *exportedFile) error {
	info, err := os.Stat(x.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case info.IsDir():
		return fmt.Errorf("%s is a folder: name a file, such as %s", x.Path, filepath.Join(x.Path, "model.onnx"))
	case f.force:
		return nil
	}
	if have, err := os.ReadFile(x.Path); err == nil && string(have) == string(x.data) {
		return nil // as config.pbtxt is, of another version of the model
	}
	return fmt.Errorf("%s exists already: replace it (--force), or name another place", x.Path)
}

func (x *exported) print(w io.Writer) error {
	name := x.Model
	if x.Version != "" {
		name += "/" + x.Version
	}
	var files []string
	for _, f := range x.Files {
		files = append(files, fmt.Sprintf("%s (%d bytes)", f.Path, f.Bytes))
	}
	_, err := fmt.Fprintf(w, "%s: wrote %s; it reads the features of %s\n", name, strings.Join(files, ", "), x.Encoder)
	return err
}
