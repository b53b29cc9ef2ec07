// Package strictyaml decodes YAML files that users write: one document, no
// unknown key, no alias, and nothing in it that makes the parser panic, hang or
// eat memory.
package strictyaml

import (
	"errors"
	"fmt"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// ErrEmpty is returned for a file without a document.
var ErrEmpty = errors.New("empty")

// MaxNesting is how deep brackets may nest, those in text and comments included.
const MaxNesting = 8

// Decode reads data, which the caller has bounded in size, into the value that
// into points to. Errors are one line, with the line and column of the mistake
// where there is one, and leave the name of the file to the caller. Aliases are
// refused: a few lines of them stand for gigabytes.
func Decode(data []byte, into any) (err error) {
	defer recovered(&err)
	body, err := Parse(data)
	if err != nil {
		return err
	}
	if err := yaml.NodeToValue(body, into, yaml.Strict()); err != nil {
		return oneLine(err)
	}
	return nil
}

// Parse returns the one document of data, for readers that report on lines
// themselves; the same holds as for Decode.
func Parse(data []byte) (body ast.Node, err error) {
	defer recovered(&err)
	if nesting(data) > MaxNesting {
		return nil, fmt.Errorf("brackets nest deeper than %d, those in names and comments included; in names write \\u005b for [ and \\u007b for {", MaxNesting)
	}
	file, err := parser.ParseBytes(data, 0)
	if err != nil {
		return nil, oneLine(err)
	}
	if len(file.Docs) > 1 {
		return nil, fmt.Errorf("%d YAML documents, want one", len(file.Docs))
	}
	if len(file.Docs) == 0 || file.Docs[0].Body == nil {
		return nil, ErrEmpty
	}
	var seen aliases
	ast.Walk(&seen, file.Docs[0].Body)
	if seen {
		return nil, errors.New("an anchor or alias (& or *): write the values out")
	}
	return file.Docs[0].Body, nil
}

// recovered turns a panic into an error: the parser panics on some malformed
// tags (go-yaml 1.19.2, found by fuzzing).
func recovered(err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("malformed YAML: %v", r)
	}
}

// aliases is true once it has visited an anchor, an alias or a merge.
type aliases bool

// Visit implements ast.Visitor.
func (a *aliases) Visit(n ast.Node) ast.Visitor {
	switch n.Type() {
	case ast.AnchorType, ast.AliasType, ast.MergeKeyType:
		*a = true
	}
	return a
}

// nesting returns how deep the brackets of data nest.
func nesting(data []byte) int {
	deepest, now := 0, 0
	for _, b := range data {
		switch b {
		case '[', '{':
			now++
			deepest = max(deepest, now)
		case ']', '}':
			now = max(now-1, 0)
		}
	}
	return deepest
}

func oneLine(err error) error {
	return errors.New(strings.Join(strings.Fields(yaml.FormatError(err, false, false)), " "))
}
