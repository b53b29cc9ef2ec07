package importertest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/yardmaster/yardmaster/datasets"
	"github.com/yardmaster/yardmaster/datasets/importers"
)

// sound is an importer of lines "job SECONDS" that keeps every rule.
func sound() importers.Format {
	return importers.Format{
		Name: "sound", About: "for tests",
		Sniff:  func(head []byte) bool { return bytes.HasPrefix(head, []byte("job ")) },
		Import: importSound,
	}
}

func importSound(r io.Reader, name string) (*datasets.Jobs, importers.Report, error) {
	source, err := importers.Open(r, name)
	if err != nil {
		return nil, importers.Report{}, err
	}
	defer source.Close()
	trace := importers.NewTrace(source)
	for {
		line, number, err := source.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, importers.Report{}, err
		}
		if err := trace.Begin(number); err != nil {
			return nil, importers.Report{}, err
		}
		text, found := strings.CutPrefix(line, "job ")
		duration, ok := importers.ParseSeconds(text)
		switch {
		case !found || !ok:
			return nil, importers.Report{}, source.Error(number, "", datasets.Excerpt(line), "want a job")
		case duration == 0:
			trace.Drop(importers.DropNoTime)
		default:
			trace.KeepNumbered(datasets.Row{Submit: time.Duration(trace.Row()) * time.Second, GPUs: 1, Duration: duration})
		}
	}
	return trace.Finish(importers.Ending{Meta: datasets.Meta{Source: "test", Licence: "none"}})
}

const lines = "job 1\njob 0\njob 25\n"

func TestCheckAcceptsASoundImporter(t *testing.T) {
	if err := Check(sound(), []byte(lines), t.TempDir()); err != nil {
		t.Error(err)
	}
	if err := Fuzz(sound(), []byte(lines)); err != nil {
		t.Error(err)
	}
}

// imported is a format whose import is sound but for a change to its outcome.
func imported(change func(*datasets.Jobs, *importers.Report, *error)) importers.Format {
	f := sound()
	f.Import = func(r io.Reader, name string) (*datasets.Jobs, importers.Report, error) {
		j, report, err := importSound(r, name)
		change(j, &report, &err)
		return j, report, err
	}
	return f
}

func TestCheckReportsEachBrokenRule(t *testing.T) {
	nameless := sound()
	nameless.Name = ""
	blind := sound()
	blind.Sniff = func([]byte) bool { return false }
	greedy := sound()
	greedy.Sniff = func([]byte) bool { return true }
	lax := sound() // takes anything for one job
	lax.Import = func(r io.Reader, name string) (*datasets.Jobs, importers.Report, error) {
		if j, report, err := importSound(r, name); err == nil {
			return j, report, nil
		}
		return importSound(strings.NewReader(lines), name)
	}
	unpacked := sound() // does not see the end of what is compressed
	unpacked.Import = func(r io.Reader, name string) (*datasets.Jobs, importers.Report, error) {
		source, err := importers.Open(r, name)
		if err != nil {
			return nil, importers.Report{}, err
		}
		text, _ := io.ReadAll(source.Text())
		return importSound(bytes.NewReader(text), name)
	}
	count := 0
	for _, test := range []struct {
		want string
		f    importers.Format
	}{
		{"want a name", nameless},
		{"does not recognise its own trace", blind},
		{"is taken for", greedy},
		{"was imported", lax},
		{`reported as "none"`, unpacked},
		{"does not account", imported(func(_ *datasets.Jobs, r *importers.Report, _ *error) { r.Read++ })},
		{"does not account", imported(func(_ *datasets.Jobs, r *importers.Report, _ *error) { r.Dropped = nil })},
		{"not valid", imported(func(j *datasets.Jobs, _ *importers.Report, _ *error) {
			if j != nil {
				j.Rows[0].GPUs = 0
			}
		})},
		{"spans", imported(func(_ *datasets.Jobs, r *importers.Report, _ *error) { r.Last = r.Last.Add(1) })},
		{"not complete", imported(func(j *datasets.Jobs, _ *importers.Report, _ *error) {
			if j != nil {
				j.Meta.Licence = ""
			}
		})},
		{"other rows", imported(func(j *datasets.Jobs, _ *importers.Report, _ *error) {
			if count++; j != nil {
				j.Rows[0].GPUs = int32(count)
			}
		})},
		{"another report", imported(func(_ *datasets.Jobs, r *importers.Report, _ *error) {
			count++
			r.Warnings = []datasets.Count{{Reason: fmt.Sprint(count), Rows: 1}}
		})},
		{"one line", imported(func(_ *datasets.Jobs, _ *importers.Report, err *error) {
			if *err != nil {
				*err = errors.New("bad:\nvery")
			}
		})},
		{"names the input", imported(func(_ *datasets.Jobs, _ *importers.Report, err *error) {
			if *err != nil {
				*err = errors.New("bad")
			}
		})},
		{"says what to do", imported(func(_ *datasets.Jobs, _ *importers.Report, err *error) {
			if *err != nil {
				*err = &datasets.RowError{File: name}
			}
		})},
		{"cannot be imported", imported(func(_ *datasets.Jobs, _ *importers.Report, err *error) {
			*err = &datasets.RowError{File: name, Fix: "nothing"}
		})},
	} {
		if err := Check(test.f, []byte(lines), t.TempDir()); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("got %v, want a complaint with %q", err, test.want)
		}
	}
}

func TestRoundTripReportsWhatCannotBeWritten(t *testing.T) {
	if err := RoundTrip(&datasets.Jobs{}, t.TempDir()); err == nil {
		t.Error("a table without rows was written")
	}
}
