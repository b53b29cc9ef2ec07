package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/yardmaster/yardmaster/train"
	"github.com/yardmaster/yardmaster/train/runfile"
)

// watched is a progress without a run, on a clock that the test moves.
type watched struct {
	*trainProgress
	out    bytes.Buffer
	clock  time.Time
	rounds atomic.Int64
	log    *os.File
}

func newWatched(t *testing.T) *watched {
	t.Helper()
	w := &watched{clock: time.Unix(0, 0)}
	path := filepath.Join(t.TempDir(), runfile.MetricsName)
	var err error
	if w.log, err = os.Create(path); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.log.Close() })
	w.trainProgress = &trainProgress{
		out: &w.out, rounds: &w.rounds, now: func() time.Time { return w.clock }, tail: runfile.NewTail(path),
		cost: func(x float64) string { return fmt.Sprintf("%g h", x) },
	}
	return w
}

// did moves the clock and reports step i of 20 of PPO, which was validated if
// there is a score.
func (w *watched) did(i int, took time.Duration, score string) {
	w.clock = w.clock.Add(took)
	w.rounds.Add(int64(took.Seconds() * 500))
	fmt.Fprintf(w.log, `{"stage":"ppo","step":%d%s,"metrics":{"return":-12.345,"kl":0.0123},"wall_seconds":1}`+"\n", i, score)
	w.step(train.ProgressInfo{Stage: train.StagePPO, Step: i, Steps: 20, Done: i, Total: 20, Score: 7, Best: 6})
}

// Without a terminal there is a line for a validation, at most every ten seconds.
func TestProgressWithoutTerminal(t *testing.T) {
	w := newWatched(t)
	stop := w.start()
	for i := 1; i <= 10; i++ {
		score := ""
		if i%2 == 0 {
			score = `,"score":7`
		}
		w.did(i, 4*time.Second, score)
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	want := `ppo 2/20: validated 7 h, best 6 h, 500 rounds/s, return -12.35, KL 0.012, 1m12s left
ppo 6/20: validated 7 h, best 6 h, 500 rounds/s, return -12.35, KL 0.012, 56s left
ppo 10/20: validated 7 h, best 6 h, 500 rounds/s, return -12.35, KL 0.012, 40s left
`
	if got := w.out.String(); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// What an earlier process of the run validated is not told again.
func TestProgressOfAResumedRun(t *testing.T) {
	w := newWatched(t)
	fmt.Fprintln(w.log, `{"stage":"bc","step":1,"score":7,"wall_seconds":1}`)
	stop := w.start()
	w.did(1, time.Minute, "")
	w.did(2, time.Minute, `,"score":7`)
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	if got := w.out.String(); !strings.HasPrefix(got, "ppo 2/20: validated 7 h") || strings.Count(got, "\n") != 1 {
		t.Errorf("got %q, want one line, of ppo 2", got)
	}
}

// On a terminal there is one line, drawn anew, and nothing is left of it.
func TestProgressOnATerminal(t *testing.T) {
	w := newWatched(t)
	w.terminal = true
	stop := w.start()
	w.did(1, 4*time.Second, "")
	w.warn(fmt.Errorf("checkpoint 3 is damaged"))
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	got := w.out.String()
	for _, want := range []string{"\r\x1b[Kppo 1/20  5 %  best 6 h  500 rounds/s  return -12.35  KL 0.012  1m16s left", "\r\x1b[Kyardmaster: checkpoint 3 is damaged\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("got %q, want %q in it", got, want)
		}
	}
	if !strings.HasSuffix(got, "\r\x1b[K") {
		t.Errorf("got %q, want the line cleared at the end", got)
	}
}

func TestCutTo(t *testing.T) {
	if got := cutTo("größer", 3); got != "grö" {
		t.Errorf("got %q", got)
	}
	if got := cutTo("abc", 3); got != "abc" {
		t.Errorf("got %q", got)
	}
}

// Steps of the stage in progress are expected to last as they did; others as the
// mean of all.
func TestTimeLeft(t *testing.T) {
	var e estimate
	at := func(s int) time.Time { return time.Unix(int64(s), 0) }
	e.begin(at(0))
	info := train.ProgressInfo{Stage: train.StageBC, Step: 1, Steps: 2, Done: 1, Total: 12}
	if _, ok := e.left(at(0), info); ok {
		t.Error("there is an estimate before the first step")
	}
	e.step(at(10), info)
	if got, _ := e.left(at(10), info); got != 110*time.Second {
		t.Errorf("after one step of 10 s: %v left, want 1m50s", got)
	}
	for i, s := range []int{20, 21, 22} { // the last of cloning, two of PPO
		info = train.ProgressInfo{Stage: train.StagePPO, Step: i, Steps: 10, Done: 2 + i, Total: 12}
		if i == 0 {
			info = train.ProgressInfo{Stage: train.StageBC, Step: 2, Steps: 2, Done: 2, Total: 12}
		}
		e.step(at(s), info)
	}
	if got, _ := e.left(at(22), info); got != 8*time.Second {
		t.Errorf("%v left, want 8 steps of a second", got)
	}
}
