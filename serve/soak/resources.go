package soak

import (
	"bufio"
	"bytes"
	"context"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Resources says what the process held, over its last life once that was warm.
type Resources struct {
	Seconds      float64 `json:"seconds"`         // observed
	MemoryMB     float64 `json:"memory_mb"`       // resident, at the end
	SlopeMB      float64 `json:"slope_mb_minute"` // least squares
	Goroutines   [2]int  `json:"goroutines"`      // mean of the first and of the last quarter
	OpenFiles    [2]int  `json:"open_files"`      // likewise
	PeakMemoryMB float64 `json:"peak_memory_mb"`  // of all lives
}

// sample is one reading of the process's metrics.
type sample struct {
	at                     time.Time
	memory, routines, open float64
}

// meter reads the metrics of the process.
type meter struct {
	url string

	mu      sync.Mutex
	samples []sample
	peak    float64
}

// watch reads the metrics now and then until ctx ends.
func (m *meter) watch(ctx context.Context, every time.Duration) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(every):
		}
		body, err := fetch(ctx, m.url)
		if err != nil {
			continue // killed, stopped or starting
		}
		s := sample{
			at: time.Now(), memory: metric(body, "process_resident_memory_bytes"),
			routines: metric(body, "go_goroutines"), open: metric(body, "process_open_fds"),
		}
		m.mu.Lock()
		m.samples = append(m.samples, s)
		m.peak = max(m.peak, s.memory)
		m.mu.Unlock()
	}
}

// metric returns the value of a metric without labels, 0 where it is missing.
func metric(body []byte, name string) float64 {
	lines := bufio.NewScanner(bytes.NewReader(body))
	for lines.Scan() {
		if rest, ok := strings.CutPrefix(lines.Text(), name+" "); ok {
			v, _ := strconv.ParseFloat(rest, 64)
			return v
		}
	}
	return 0
}

const mega = 1 << 20

// since returns what the samples from then on say.
func (m *meter) since(then time.Time) Resources {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := Resources{PeakMemoryMB: m.peak / mega}
	var warm []sample
	for _, s := range m.samples {
		if s.at.After(then) {
			warm = append(warm, s)
		}
	}
	if len(warm) < 2 {
		return r
	}
	last := warm[len(warm)-1]
	r.Seconds = last.at.Sub(warm[0].at).Seconds()
	r.MemoryMB = last.memory / mega
	r.SlopeMB = slope(warm)
	quarter := max(1, len(warm)/4)
	for i, part := range [][]sample{warm[:quarter], warm[len(warm)-quarter:]} {
		for _, s := range part {
			r.Goroutines[i] += int(s.routines)
			r.OpenFiles[i] += int(s.open)
		}
		r.Goroutines[i] /= quarter
		r.OpenFiles[i] /= quarter
	}
	return r
}

// slope returns the least-squares slope of memory in MB per minute.
func slope(samples []sample) float64 {
	var t, y, tt, ty float64
	n := float64(len(samples))
	for _, s := range samples {
		x, v := s.at.Sub(samples[0].at).Minutes(), s.memory/mega
		t, y, tt, ty = t+x/n, y+v/n, tt+x*x/n, ty+x*v/n
	}
	if d := tt - t*t; d > 0 {
		return (ty - t*y) / d
	}
	return 0
}
