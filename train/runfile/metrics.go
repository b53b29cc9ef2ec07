package runfile

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
)

// MetricsName is the log of a run in its directory.
const MetricsName = "metrics.jsonl"

// Line is one line of the log: a step of a run.
type Line struct {
	Stage   string
	Step    int      // of the stage
	Score   *float64 // nil where the step was not validated
	Seconds float64  // since the start of the run
	Metrics []Metric // by name
}

// Metric is a figure of a step.
type Metric struct {
	Name  string
	Value float64
}

// Metric returns the figure of this name.
func (l *Line) Metric(name string) (float64, bool) {
	for _, m := range l.Metrics {
		if m.Name == name {
			return m.Value, true
		}
	}
	return 0, false
}

// Tail reads a log that is being written.
type Tail struct {
	path   string
	offset int64
}

// NewTail returns a reader of the log at path, from its beginning.
func NewTail(path string) *Tail { return &Tail{path: path} }

// Next returns the lines that were completed since the last call. A log that does
// not exist yet has none.
func (t *Tail) Next() ([]Line, error) {
	f, err := os.Open(t.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if _, err := f.Seek(t.offset, io.SeekStart); err != nil {
		return nil, err
	}
	var lines []Line
	in := bufio.NewReader(f)
	for {
		raw, err := in.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return lines, nil // what is left is being written
		}
		if err != nil {
			return lines, err
		}
		l, err := parseLine(raw)
		if err != nil {
			return lines, fmt.Errorf("%s at byte %d: %w", t.path, t.offset, err)
		}
		t.offset += int64(len(raw))
		lines = append(lines, l)
	}
}

func parseLine(raw []byte) (Line, error) {
	var l struct {
		Stage   string         `json:"stage"`
		Step    int            `json:"step"`
		Score   *float64       `json:"score"`
		Seconds float64        `json:"wall_seconds"`
		Metrics map[string]any `json:"metrics"`
	}
	if err := json.Unmarshal(bytes.TrimSpace(raw), &l); err != nil {
		return Line{}, err
	}
	return Line{Stage: l.Stage, Step: l.Step, Score: l.Score, Seconds: l.Seconds, Metrics: figures("", l.Metrics)}, nil
}

// figures lists the numbers in m by name; those of an object within it have its
// name before theirs.
func figures(prefix string, m map[string]any) []Metric {
	var all []Metric
	for _, name := range slices.Sorted(maps.Keys(m)) {
		switch x := m[name].(type) {
		case float64:
			all = append(all, Metric{prefix + name, x})
		case bool:
			value := 0.0
			if x {
				value = 1
			}
			all = append(all, Metric{prefix + name, value})
		case map[string]any:
			all = append(all, figures(prefix+name+".", x)...)
		}
	}
	return all
}
