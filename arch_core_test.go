package yardmaster_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// TestCoreStartsNoGoroutineAndReadsNoClock finds what an import list cannot
// show: package time is fine for durations, but not its clock.
func TestCoreStartsNoGoroutineAndReadsNoClock(t *testing.T) {
	clock := map[string]bool{"Now": true, "Since": true, "Until": true, "Sleep": true, "After": true, "Tick": true, "NewTimer": true, "NewTicker": true}
	files := 0
	for _, root := range []string{"env", "agent"} {
		err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			// The conformance checks call policies from several goroutines on purpose.
			if strings.HasPrefix(filepath.ToSlash(path), "agent/agenttest/") {
				return nil
			}
			// One package steps many environments at once, so that no other starts a
			// goroutine; its tests show that the results are those of one core.
			parallel := strings.HasPrefix(filepath.ToSlash(path), "env/vec/")
			files++
			fset := token.NewFileSet()
			f, err := parser.ParseFile(fset, path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			ast.Inspect(f, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.GoStmt:
					t.Errorf("%s starts a goroutine", fset.Position(n.Pos()))
				case *ast.CallExpr: // as sync.WaitGroup does with Go
					if f, ok := n.Fun.(*ast.SelectorExpr); ok && f.Sel.Name == "Go" && !parallel {
						t.Errorf("%s starts a goroutine", fset.Position(n.Pos()))
					}
				case *ast.SelectorExpr:
					if x, ok := n.X.(*ast.Ident); ok && x.Name == "time" && clock[n.Sel.Name] {
						t.Errorf("%s uses time.%s", fset.Position(n.Pos()), n.Sel.Name)
					}
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if files == 0 {
		t.Fatal("no source files found")
	}
}
