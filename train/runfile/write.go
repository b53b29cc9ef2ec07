package runfile

import (
	"bytes"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/google/renameio/v2"
)

// margin is where comments wrap, in columns.
const margin = 110

// Encode returns f as a file with every setting and what it means.
func (f *File) Encode() []byte {
	var b bytes.Buffer
	b.WriteString("# A training run: yardmaster train --config FILE --out DIR\n" +
		"# Paths are relative to the folder of this file. What is left out has its default.\n")
	current := ""
	for _, x := range f.fields() {
		section, name, _ := cutLast(x.key)
		if section != current {
			writeSections(&b, current, section)
			current = section
		}
		depth := 0
		if section != "" {
			depth = strings.Count(section, ".") + 1
		}
		indent := strings.Repeat("  ", depth)
		if k, ok := find(x.key); ok {
			comment(&b, indent, k.comment())
		}
		f.writeValue(&b, indent, name, x)
	}
	return b.Bytes()
}

// writeSections begins the sections on the way to section that current is not in.
func writeSections(b *bytes.Buffer, current, section string) {
	path := ""
	for depth, name := range strings.Split(section, ".") {
		path = strings.TrimPrefix(path+"."+name, ".")
		if section == "" || current == path || strings.HasPrefix(current, path+".") {
			continue
		}
		indent := strings.Repeat("  ", depth)
		b.WriteByte('\n')
		for _, s := range sections {
			if s.Name == path {
				comment(b, indent, text(s.About))
			}
		}
		fmt.Fprintf(b, "%s%s:\n", indent, name)
	}
}

// writeValue writes a setting; a map takes a line for each of its entries.
func (f *File) writeValue(b *bytes.Buffer, indent, name string, x field) {
	m, ok := x.value.Interface().(map[string]float64)
	if !ok || len(m) == 0 {
		fmt.Fprintf(b, "%s%s: %s\n", indent, name, show(x.value))
		return
	}
	fmt.Fprintf(b, "%s%s:\n", indent, name)
	for _, k := range slices.Sorted(maps.Keys(m)) {
		fmt.Fprintf(b, "%s  %s: %s\n", indent, quote(k), showFloat(m[k]))
	}
}

// comment writes what it says, wrapped.
func comment(b *bytes.Buffer, indent, says string) {
	line := indent + "#"
	for word := range strings.FieldsSeq(says) {
		if len(line)+1+len(word) > margin && line != indent+"#" {
			fmt.Fprintln(b, line)
			line = indent + "#"
		}
		line += " " + word
	}
	fmt.Fprintln(b, line)
}

// comment says what a setting means and which values it may have, where its
// value does not show that.
func (k Key) comment() string {
	if k.Allow.text == onOff.text {
		return text(k.About)
	}
	return fmt.Sprintf("%s (%s)", text(k.About), k.Allow.text)
}

// link is a link in Markdown.
var link = regexp.MustCompile(`\[([^\]]+)\]\(([^)]+)\)`)

// text makes plain text of Markdown.
func text(markdown string) string {
	return strings.ReplaceAll(link.ReplaceAllString(markdown, "$1 ($2)"), "`", "")
}

// Save writes f to path. Paths in it are written as seen from there, so that the
// file can be moved together with what it names.
func (f *File) Save(path string) error {
	out := f.Clone()
	dir, err := filepath.Abs(filepath.Dir(path))
	if err != nil {
		return err
	}
	for _, file := range out.Scenario.Files() {
		if *file == "" {
			continue
		}
		if *file, err = filepath.Abs(*file); err != nil {
			return err
		}
		if near, err := filepath.Rel(dir, *file); err == nil {
			*file = near
		}
	}
	return renameio.WriteFile(path, out.Encode(), 0o644, renameio.WithTempDir(dir))
}
