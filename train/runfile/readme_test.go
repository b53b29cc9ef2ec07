package runfile

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var rewrite = flag.Bool("rewrite", false, "write the tables of settings in train/README.md anew")

// Marks of the tables in the README.
const (
	tablesBegin = "<!-- settings: go test ./train/runfile -rewrite -->\n"
	tablesEnd   = "<!-- end of settings -->\n"
)

// settingTables returns a table for each section, as train/README.md has them.
func settingTables() []byte {
	var b bytes.Buffer
	section := "none"
	for _, x := range Defaults().fields() {
		in, _, _ := cutLast(x.key)
		if in != section {
			section = in
			about := "The whole run."
			for _, s := range Sections() {
				if s.Name == in {
					about = s.About
				}
			}
			fmt.Fprintf(&b, "\n%s\n\n| setting | default | allowed | meaning |\n|---|---|---|---|\n", about)
		}
		k, _ := find(x.key)
		value := show(x.value)
		if x.value.Kind() == reflect.Map {
			value = "see `train config`"
		}
		escape := strings.NewReplacer("|", `\|`)
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", x.key, escape.Replace(value), escape.Replace(k.Allow.text), escape.Replace(k.About))
	}
	b.WriteByte('\n')
	return b.Bytes()
}

// The tables of settings in train/README.md are those of the code.
func TestReadmeHasTheSettings(t *testing.T) {
	path := filepath.Join("..", "README.md")
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(raw), tablesBegin)
	got, after, ended := strings.Cut(rest, tablesEnd)
	if !found || !ended {
		t.Fatalf("%s has no lines %q and %q", path, tablesBegin, tablesEnd)
	}
	want := string(settingTables())
	if *rewrite {
		if err := os.WriteFile(path, []byte(before+tablesBegin+want+tablesEnd+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("train/README.md is behind the code: run go test ./train/runfile -rewrite (-code +README):\n%s", diff)
	}
}
