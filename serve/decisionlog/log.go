package decisionlog

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const (
	prefix = "decisions-"
	// layoutOfNames makes the order of names that of time.
	layoutOfNames = "20060102T150405.000000000Z"
	// pause is how long nothing is tried after a failure.
	pause = 10 * time.Second
)

// Log writes decisions to files. It is safe for concurrent use; a nil Log drops
// all. Close it.
type Log struct {
	cfg    Config
	rows   chan *Row
	queued atomic.Int64 // candidates of the states in rows
	done   chan struct{}

	closing sync.RWMutex // held to close rows, read to send
	closed  bool

	mu    sync.Mutex
	stats Stats
}

// Stats counts what became of decisions.
type Stats struct {
	Written int64 // in files that are complete
	Dropped int64 // not taken: the queue was full
	Failed  int64 // taken and lost: a file could not be written
	Files   int64 // completed
}

// Open starts a log. A folder that cannot be made or written is no error: that is
// tried again with every file, and counted.
func Open(cfg Config) (*Log, error) {
	cfg.fillDefaults()
	errs := cfg.Validate()
	if cfg.Create == nil {
		errs = append(errs, errors.New("decisionlog: config: Create is nil, want what makes files"))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	l := &Log{cfg: cfg, rows: make(chan *Row, cfg.Queue), done: make(chan struct{})}
	go l.run()
	return l, nil
}

// Add hands a decision over and reports whether it was taken. It never waits.
func (l *Log) Add(r *Row) bool {
	if l == nil {
		return false
	}
	n := weight(r)
	l.closing.RLock()
	defer l.closing.RUnlock()
	if !l.closed && l.queued.Add(n) <= l.cfg.MaxQueued {
		select {
		case l.rows <- r:
			return true
		default:
		}
	}
	l.queued.Add(-n)
	l.count(func(s *Stats) { s.Dropped++ })
	return false
}

// weight is the number of candidates of a row's state: what it takes to keep.
func weight(r *Row) int64 {
	n := int64(1)
	for i := range r.State.Jobs {
		n += int64(len(r.State.Jobs[i].Strategies))
	}
	return n
}

// Close writes what was taken, completes the file and returns.
func (l *Log) Close() {
	if l == nil {
		return
	}
	l.closing.Lock()
	if !l.closed {
		l.closed = true
		close(l.rows)
	}
	l.closing.Unlock()
	<-l.done
}

// Stats returns what became of decisions so far.
func (l *Log) Stats() Stats {
	if l == nil {
		return Stats{}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.stats
}

func (l *Log) count(f func(*Stats)) {
	l.mu.Lock()
	f(&l.stats)
	l.mu.Unlock()
}

// writer is the file in the making, of the goroutine that writes.
type writer struct {
	*Log
	file  File // nil without one
	rows  int64
	since time.Time // the file was begun
	until time.Time // nothing is tried before
}

func (l *Log) run() {
	defer close(l.done)
	w := writer{Log: l}
	_ = w.protect(w.sweep) // what stays is swept another time
	age := time.NewTicker(max(l.cfg.MaxFileAge/10, time.Millisecond))
	defer age.Stop()
	for {
		select {
		case r, ok := <-l.rows:
			if !ok {
				w.complete()
				return
			}
			w.append(r)
			l.queued.Add(-weight(r))
		case <-age.C:
		}
		if w.file != nil && (w.file.Size() >= l.cfg.MaxFileBytes || time.Since(w.since) >= l.cfg.MaxFileAge) {
			w.complete()
		}
	}
}

// protect calls f and turns a panic into an error: a log must not end a service.
func (w *writer) protect(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("decisionlog: panic: %v", p)
		}
	}()
	return f()
}

func (w *writer) append(r *Row) {
	if w.file == nil && time.Now().Before(w.until) {
		w.count(func(s *Stats) { s.Failed++ })
		return
	}
	w.rows++ // it is lost with the others if this fails
	err := w.protect(func() error {
		if w.file == nil {
			if err := w.begin(); err != nil {
				return err
			}
		}
		return w.file.Append(r)
	})
	if err != nil {
		w.fail(err)
	}
}

func (w *writer) begin() error {
	if err := os.MkdirAll(w.cfg.Dir, 0o755); err != nil {
		return err
	}
	w.since = time.Now()
	file, err := w.cfg.Create(filepath.Join(w.cfg.Dir, prefix+w.since.UTC().Format(layoutOfNames)+w.cfg.Suffix))
	if err != nil {
		return err
	}
	w.file = file
	return nil
}

// fail gives the file up.
func (w *writer) fail(err error) {
	if w.file != nil {
		err = errors.Join(err, w.protect(w.file.Abort))
	}
	lost := w.rows
	w.file, w.rows, w.until = nil, 0, time.Now().Add(pause)
	w.count(func(s *Stats) { s.Failed += lost })
	w.cfg.Logger.Warn("decisions not logged", "lost", lost, "folder", w.cfg.Dir, "error", err)
}

// complete completes the file, if there is one, and removes the oldest.
func (w *writer) complete() {
	if w.file == nil {
		return
	}
	if err := w.protect(w.file.Close); err != nil {
		w.fail(err)
		return
	}
	written := w.rows
	w.file, w.rows = nil, 0
	w.count(func(s *Stats) { s.Written += written; s.Files++ })
	if err := w.protect(w.prune); err != nil {
		w.cfg.Logger.Warn("old decision logs not removed", "folder", w.cfg.Dir, "error", err)
	}
}

// prune removes the oldest files beyond the bound.
func (w *writer) prune() error {
	entries, err := os.ReadDir(w.cfg.Dir)
	if err != nil {
		return err
	}
	var names []string
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), prefix) && strings.HasSuffix(e.Name(), w.cfg.Suffix) {
			names = append(names, e.Name())
		}
	}
	slices.Sort(names)
	var errs []error
	for _, name := range names[:max(0, len(names)-w.cfg.MaxFiles)] {
		errs = append(errs, os.Remove(filepath.Join(w.cfg.Dir, name)))
	}
	return errors.Join(errs...)
}

// sweep removes what a process left that was killed while it wrote. A temporary
// file of another one is younger than a file may become.
func (w *writer) sweep() error {
	entries, err := os.ReadDir(w.cfg.Dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), "."+prefix) {
			continue
		}
		info, err := e.Info()
		if err == nil && time.Since(info.ModTime()) > 2*w.cfg.MaxFileAge {
			err = os.Remove(filepath.Join(w.cfg.Dir, e.Name()))
		}
		if err != nil {
			return err
		}
	}
	return nil
}
