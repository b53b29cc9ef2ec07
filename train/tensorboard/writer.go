package tensorboard

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// prefix begins the name of an event file; the time that it begins at follows, in
// seconds since the epoch, since files are read in the order of their names.
const prefix = "events.out.tfevents."

// Writer writes one event file. It is not safe for concurrent use.
type Writer struct {
	file *os.File
	buf  []byte
	data []byte
}

// Create begins an event file in dir, which is made if it does not exist. tag ends
// the file's name and tells files of one second apart.
func Create(dir string, start time.Time, tag string) (*Writer, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("tensorboard: %w", err)
	}
	f, err := os.Create(filepath.Join(dir, fmt.Sprintf("%s%010d.%s", prefix, start.Unix(), tag)))
	if err != nil {
		return nil, fmt.Errorf("tensorboard: %w", err)
	}
	w := &Writer{file: f}
	return w, w.event(start, 0, nil)
}

// Write adds the scalars of one step. There has to be one at least.
func (w *Writer) Write(wall time.Time, step int64, scalars []Scalar) error {
	if len(scalars) == 0 {
		panic("tensorboard: a step without scalars")
	}
	return w.event(wall, step, scalars)
}

// event writes a record at once, so that a page that is open shows it.
func (w *Writer) event(wall time.Time, step int64, scalars []Scalar) error {
	w.data = appendEvent(w.data[:0], wall, step, scalars)
	w.buf = appendRecord(w.buf[:0], w.data)
	if _, err := w.file.Write(w.buf); err != nil {
		return fmt.Errorf("tensorboard: %w", err)
	}
	return nil
}

// Close ends the file.
func (w *Writer) Close() error { return w.file.Close() }

// began returns when the event files in dir begin, if there are any.
func began(dir string) (start time.Time, ok bool) {
	files, err := filepath.Glob(filepath.Join(dir, prefix+"*"))
	if err != nil || len(files) == 0 {
		return time.Time{}, false
	}
	digits, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(files[0]), prefix), ".") // Glob sorts
	seconds, err := strconv.ParseInt(digits, 10, 64)
	return time.Unix(seconds, 0), err == nil
}
