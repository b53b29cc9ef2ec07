package yardmaster_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/yardmaster/yardmaster"

// mayImport says which of our top-level folders each of them may import. Data
// flows one way: cmd → serve, train → agent → models, env; datasets → env.
var mayImport = map[string][]string{
	"env":      {"env"},                                                  // the contract and the simulator stand alone
	"models":   {"models"},                                               // a model file can be read without a simulator
	"datasets": {"datasets", "env"},                                      // traces become jobs, nothing more
	"agent":    {"agent", "env", "models"},                               // a policy knows no trace, no trainer, no transport
	"train":    {"train", "agent", "env", "models", "datasets"},          // experiments over traces and policies
	"serve":    {"serve", "agent", "env", "models"},                      // a service needs neither traces nor autodiff
	"cmd":      {"serve", "train", "agent", "env", "models", "datasets"}, // wiring only
}

// onlyIn says where a third-party library may be imported, and why.
var onlyIn = []struct {
	prefix  string
	folders []string
	reason  string
}{
	{"github.com/nats-io/", []string{"serve", "cmd"}, "swapping the transport touches one folder"},
	{"github.com/parquet-go/", []string{"datasets"}, "the file format of traces is one package's business"},
	{"github.com/mmcloughlin/avo/", []string{"models/nn/kernel/generate"}, "assembly is generated, never at run time"},
	{"github.com/prometheus/", []string{"serve"}, "only the service is watched"},
	{"go.opentelemetry.io/", []string{"serve"}, "only the service is traced"},
	{"github.com/santhosh-tekuri/", []string{"serve"}, "messages are validated where they are defined"},
	{"github.com/chewxy/hm", []string{"train/graph/fused"}, "the types of Gorgonia's operations are its business"},
	{"gorgonia.org/", []string{"train"}, "inference must not carry an autodiff engine"},
	{"gonum.org/v1/gonum/optimize/", []string{"agent/lp"}, "training must not depend on a solver"},
	{"google.golang.org/protobuf/", []string{"models/export", "train/tensorboard", "serve"}, "formats of other programs, a package each"},
	{"github.com/spf13/", []string{"cmd"}, "only the command line knows flags"},
}

// pure lists what env and agent must not import: they have no clock, files,
// network or processes, so that one seed gives one result.
var pure = []string{"net", "os", "os/exec", "net/http", "log", "log/slog", "math/rand"}

type imported struct{ file, folder, path string }

func imports(t *testing.T) []imported {
	t.Helper()
	var all []imported
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || d.Name() == "bin") {
			return fs.SkipDir
		}
		if !strings.HasSuffix(path, ".go") {
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, spec := range f.Imports {
			p, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			all = append(all, imported{filepath.ToSlash(path), filepath.ToSlash(filepath.Dir(path)), p})
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(all) == 0 {
		t.Fatal("no imports found: the test does not see the source")
	}
	return all
}

func top(folder string) string {
	first, _, _ := strings.Cut(folder, "/")
	return first
}

func within(folder string, roots []string) bool {
	return slices.ContainsFunc(roots, func(root string) bool {
		return folder == root || strings.HasPrefix(folder, root+"/")
	})
}

func TestImportsPointOneWay(t *testing.T) {
	for _, i := range imports(t) {
		ours, ok := strings.CutPrefix(i.path, module+"/")
		if !ok || i.folder == "." || strings.HasSuffix(i.file, "_test.go") {
			continue
		}
		allowed, known := mayImport[top(i.folder)]
		if !known {
			t.Errorf("%s: folder %s has no rule in mayImport", i.file, top(i.folder))
			continue
		}
		if !slices.Contains(allowed, top(ours)) {
			t.Errorf("%s imports %s, but %s may import only %v", i.file, ours, top(i.folder), allowed)
		}
	}
}

func TestLibrariesStayInTheirRooms(t *testing.T) {
	for _, i := range imports(t) {
		for _, rule := range onlyIn {
			if strings.HasPrefix(i.path, rule.prefix) && !within(i.folder, rule.folders) {
				t.Errorf("%s imports %s, which belongs in %v: %s", i.file, i.path, rule.folders, rule.reason)
			}
		}
	}
}

func TestCoreKnowsNoClockFileOrNetwork(t *testing.T) {
	for _, i := range imports(t) {
		if strings.HasSuffix(i.file, "_test.go") || !within(i.folder, []string{"env", "agent"}) {
			continue
		}
		if slices.Contains(pure, i.path) {
			t.Errorf("%s imports %s: env and agent are pure functions of their arguments", i.file, i.path)
		}
	}
}
