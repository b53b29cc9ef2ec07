package ops_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/yardmaster/yardmaster/serve/ops"
)

// logged returns the keys of a call of a logger's method, nil for other calls.
func logged(c *ast.CallExpr) (keys []ast.Expr) {
	s, ok := c.Fun.(*ast.SelectorExpr)
	if !ok || !slices.Contains([]string{"Debug", "Info", "Warn", "Error"}, s.Sel.Name) || len(c.Args) < 2 {
		return nil
	}
	// Of a logger: a variable or field of that name.
	name := ""
	switch x := s.X.(type) {
	case *ast.Ident:
		name = x.Name
	case *ast.SelectorExpr:
		name = x.Sel.Name
	}
	if !strings.EqualFold(name, "logger") {
		return nil
	}
	for i := 1; i < len(c.Args); i += 2 {
		keys = append(keys, c.Args[i])
	}
	return keys
}

// Every key of every log record is a word of the list, and the list has no more.
func TestLogKeysAreStable(t *testing.T) {
	form := regexp.MustCompile(`^[a-z]+(_[a-z]+)*$`)
	used := map[string]bool{"time": true, "level": true, "msg": true}
	files, err := filepath.Glob("../../cmd/yardmaster/serve*.go")
	if err != nil {
		t.Fatal(err)
	}
	err = filepath.WalkDir("..", func(path string, _ fs.DirEntry, err error) error {
		files = append(files, path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range files {
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.Contains(path, "soak") {
			continue
		}
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			c, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			for _, e := range logged(c) {
				l, ok := e.(*ast.BasicLit)
				if !ok {
					t.Errorf("%s: a key that is no literal", fset.Position(e.Pos()))
					continue
				}
				key, err := strconv.Unquote(l.Value)
				if err != nil || !form.MatchString(key) || ops.LogKeys[key] == "" {
					t.Errorf("%s: key %s is not in ops.LogKeys", fset.Position(e.Pos()), l.Value)
				}
				used[key] = true
			}
			return true
		})
	}
	if len(used) < 20 {
		t.Errorf("found only %d keys: the test does not see the source", len(used))
	}
	for key := range ops.LogKeys {
		if !used[key] {
			t.Errorf("no record has the key %s", key)
		}
	}
}
