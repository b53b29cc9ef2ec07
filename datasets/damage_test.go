package datasets

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"
)

// Every committed table, cut at and flipped in any byte, is refused by one line
// that names the file and says what to do, or it is a valid table: never a panic.
// The rows of tables that we wrote are then the same: their pages have checksums.
// YARDMASTER_DAMAGE=full (make damage) takes every byte and each of its bits, else
// it is every thirteenth byte.
func TestDamagedTables(t *testing.T) {
	full := os.Getenv("YARDMASTER_DAMAGE") == "full"
	paths, err := filepath.Glob("testdata/*.parquet")
	if err != nil || len(paths) < 4 {
		t.Fatalf("got tables %v, %v", paths, err)
	}
	damaged := filepath.Join(t.TempDir(), "t.parquet")
	for _, path := range paths {
		whole, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		step := 13
		if full {
			step = 1
		}
		kind, err := KindOf(path)
		if err != nil {
			t.Fatal(err)
		}
		intact, err := ReadTable(path)
		if err != nil {
			t.Fatal(err)
		}
		hash := ""
		if strings.HasSuffix(path, "_v1.parquet") {
			hash = intact.Hash()
		}
		read, refused := 0, 0
		try := func(how string, b []byte) {
			ok, err := readDamaged(damaged, b, kind == KindJobs, hash)
			if err != nil {
				t.Errorf("%s: %s: %v", path, how, err)
			}
			if ok {
				read++
			} else {
				refused++
			}
		}
		for at := 0; at < len(whole); at += step {
			try(fmt.Sprintf("cut at byte %d", at), whole[:at])
			for bit := range 8 {
				if !full && bit != at%8 {
					continue
				}
				flipped := bytes.Clone(whole)
				flipped[at] ^= 1 << bit
				try(fmt.Sprintf("bit %d of byte %d flipped", bit, at), flipped)
			}
		}
		if read == 0 {
			t.Errorf("%s: no damaged table was read: is it one?", path)
		}
		t.Logf("%s: %d damaged tables: %d read and valid, %d refused", path, read+refused, read, refused)
	}
}

// readDamaged reads a table, of jobs where it is in memory, and reports whether
// that went well, and what is wrong with the outcome. hash is that of its rows,
// "" where they may be others.
func readDamaged(path string, b []byte, inMemory bool, hash string) (ok bool, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	var table Table
	if inMemory {
		table, err = asTable(ReadFrom(bytes.NewReader(b), int64(len(b)), path))
	} else {
		if err := os.WriteFile(path, b, 0o600); err != nil {
			return false, err
		}
		table, err = ReadTable(path)
	}
	if err == nil {
		if hash != "" && table.Hash() != hash {
			return true, errors.New("read other rows without an error")
		}
		return true, table.Validate()
	}
	if e, isRow := errors.AsType[*RowError](err); !isRow || e.File != path || e.Fix == "" || strings.Contains(err.Error(), "\n") {
		return false, fmt.Errorf("got the error %q, want one line that names the file and says what to do", err)
	}
	return false, nil
}
