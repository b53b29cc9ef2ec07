package tensorboard

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/yardmaster/yardmaster/train/runfile"
)

// ScoreTag is the curve of all validations of a run, over the steps of the whole
// run. Other curves are of a stage, as in ppo/kl, and over its steps.
const ScoreTag = "validation/score"

// Mirror makes an event file of what a run logs. It is not safe for concurrent use.
type Mirror struct {
	writer *Writer
	start  time.Time
	lines  int64
	live   bool // what comes is being logged now
}

// NewMirror begins the event file of a run in dir and removes those that are
// there: the log of a run that goes on is mirrored from its beginning. now is the
// time; a run that goes on began when its earlier file says.
func NewMirror(dir string, now time.Time, resumed bool) (*Mirror, error) {
	start, ok := began(dir)
	if !ok || !resumed {
		start = now
	}
	old, err := filepath.Glob(filepath.Join(dir, prefix+"*"))
	if err != nil {
		return nil, fmt.Errorf("tensorboard: %w", err)
	}
	for _, file := range old {
		if err := os.Remove(file); err != nil {
			return nil, fmt.Errorf("tensorboard: %w", err)
		}
	}
	w, err := Create(dir, start, strconv.FormatInt(now.UnixNano(), 36)+".yardmaster")
	if err != nil {
		return nil, err
	}
	return &Mirror{writer: w, start: start, live: !resumed}, nil
}

// Add writes lines that were logged since the last call, which was now. The first
// lines of a run that goes on are those of before it stopped: they have the times
// that the log says.
func (m *Mirror) Add(lines []runfile.Line, now time.Time) error {
	for i := range lines {
		l := &lines[i]
		wall := m.start.Add(time.Duration(l.Seconds * float64(time.Second)))
		if m.live {
			wall = now
		}
		var scalars []Scalar
		for _, x := range l.Metrics {
			scalars = append(scalars, Scalar{l.Stage + "/" + x.Name, x.Value})
		}
		if l.Score != nil {
			scalars = append(scalars, Scalar{l.Stage + "/score", *l.Score})
			if err := m.writer.Write(wall, m.lines, []Scalar{{ScoreTag, *l.Score}}); err != nil {
				return err
			}
		}
		m.lines++
		if len(scalars) == 0 {
			continue
		}
		if err := m.writer.Write(wall, int64(l.Step), scalars); err != nil {
			return err
		}
	}
	m.live = true
	return nil
}

// Close ends the file.
func (m *Mirror) Close() error { return m.writer.Close() }
