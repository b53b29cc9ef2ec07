package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/term"

	"github.com/yardmaster/yardmaster/train"
	"github.com/yardmaster/yardmaster/train/runfile"
	"github.com/yardmaster/yardmaster/train/tensorboard"
)

// Times of the progress of a run.
const (
	redrawEvery = time.Second      // on a terminal
	printEvery  = 10 * time.Second // elsewhere, at most
	rateOver    = 10 * time.Second // what the rounds per second are a mean over
)

// trainProgress shows how far a run is: on a terminal a line that is drawn anew,
// elsewhere a line for a validation now and then. It reads the figures from the
// run's log, and mirrors that for TensorBoard.
type trainProgress struct {
	out      io.Writer
	terminal bool
	label    string
	cost     func(float64) string
	rounds   *atomic.Int64
	now      func() time.Time

	mu     sync.Mutex // what follows is drawn from another goroutine
	tail   *runfile.Tail
	mirror *tensorboard.Mirror
	begin  func() (*tensorboard.Mirror, error) // nil without event files
	failed error
	info   train.ProgressInfo
	eta    estimate
	rate   rate
	reward *float64 // mean return of the last iteration
	kl     *float64
	shown  time.Time // when the last line was printed
}

func newTrainProgress(r *trainRun, rounds *atomic.Int64) *trainProgress {
	p := &trainProgress{
		out: r.stderr, label: r.label, rounds: rounds, now: time.Now,
		cost: func(x float64) string { return printCost(r.loaded, x) },
		tail: runfile.NewTail(filepath.Join(r.dir, runfile.MetricsName)),
	}
	f, ok := r.stderr.(*os.File)
	p.terminal = ok && r.label == "" && term.IsTerminal(int(f.Fd()))
	if r.tensorboard {
		p.begin = func() (*tensorboard.Mirror, error) {
			return tensorboard.NewMirror(filepath.Join(r.dir, "tensorboard"), p.now(), r.resume)
		}
	}
	return p
}

// start begins to draw. The function that it returns ends that, and returns what
// went wrong with the log or the event file.
func (p *trainProgress) start() (stop func() error) {
	p.eta.begin(p.now())
	if p.label != "" {
		p.shown = p.now() // a short run among many says what it came to, and no more
	}
	p.rate.add(p.now(), 0)
	done := make(chan struct{})
	var drawing sync.WaitGroup
	if p.terminal {
		drawing.Go(func() { p.redraw(done) })
	}
	return func() error {
		close(done)
		drawing.Wait()
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.terminal {
			fmt.Fprint(p.out, "\r\x1b[K")
		}
		p.follow()
		if p.mirror != nil {
			p.failed = errors.Join(p.failed, p.mirror.Close())
		}
		return p.failed
	}
}

func (p *trainProgress) redraw(done chan struct{}) {
	tick := time.NewTicker(redrawEvery)
	defer tick.Stop()
	for {
		select {
		case <-done:
			return
		case <-tick.C:
			p.mu.Lock()
			p.draw()
			p.mu.Unlock()
		}
	}
}

// step is told of each step that was done.
func (p *trainProgress) step(info train.ProgressInfo) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.info = info
	p.eta.step(p.now(), info)
	validated := p.follow()
	p.rate.add(p.now(), p.rounds.Load())
	switch {
	case p.terminal:
		p.draw()
	case validated && (p.shown.IsZero() || p.now().Sub(p.shown) >= printEvery):
		p.shown = p.now()
		fmt.Fprintf(p.out, "%s%s %d/%d: validated %s, %s\n", p.label, info.Stage, info.Step, info.Steps, p.cost(info.Score), strings.Join(p.figures(), ", "))
	}
}

// warn is told of what a run copes with.
func (p *trainProgress) warn(problem error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.terminal {
		fmt.Fprint(p.out, "\r\x1b[K")
	}
	fmt.Fprintf(p.out, "yardmaster: %s%v\n", p.label, problem)
}

// follow reads what was logged, and reports whether the last step was validated.
func (p *trainProgress) follow() (validated bool) {
	lines, err := p.tail.Next()
	p.failed = errors.Join(p.failed, err)
	for i := range lines {
		validated = lines[i].Score != nil // of those before, an earlier process told
		if x, ok := lines[i].Metric("return"); ok {
			p.reward = &x
		}
		if x, ok := lines[i].Metric("kl"); ok {
			p.kl = &x
		}
	}
	if p.begin != nil && p.mirror == nil && len(lines) > 0 {
		mirror, err := p.begin()
		p.failed = errors.Join(p.failed, err)
		p.mirror = mirror
		if err != nil {
			p.begin = nil // said once is enough
		}
	}
	if p.mirror != nil {
		p.failed = errors.Join(p.failed, p.mirror.Add(lines, p.now()))
	}
	return validated
}

// draw draws the line of a terminal anew.
func (p *trainProgress) draw() {
	p.rate.add(p.now(), p.rounds.Load())
	text := "reading and validating the prior"
	if p.info.Total > 0 {
		text = fmt.Sprintf("%s %d/%d  %d %%  %s", p.info.Stage, p.info.Step, p.info.Steps, 100*p.info.Done/p.info.Total, strings.Join(p.figures(), "  "))
	} else if r := p.rate.perSecond(); r > 0 {
		text += fmt.Sprintf("  %.0f rounds/s", r)
	}
	if f, ok := p.out.(*os.File); ok {
		if columns, _, err := term.GetSize(int(f.Fd())); err == nil && columns > 1 {
			text = cutTo(text, columns-1)
		}
	}
	fmt.Fprintf(p.out, "\r\x1b[K%s", text)
}

// figures returns what there is to say of a run in progress.
func (p *trainProgress) figures() []string {
	all := []string{"best " + p.cost(p.info.Best)}
	if r := p.rate.perSecond(); r > 0 {
		all = append(all, fmt.Sprintf("%.0f rounds/s", r))
	}
	if p.reward != nil {
		all = append(all, fmt.Sprintf("return %.4g", *p.reward))
	}
	if p.kl != nil {
		all = append(all, fmt.Sprintf("KL %.2g", *p.kl))
	}
	if left, ok := p.eta.left(p.now(), p.info); ok {
		all = append(all, left.Round(time.Second).String()+" left")
	}
	return all
}

// cutTo shortens text to columns characters.
func cutTo(text string, columns int) string {
	runes := []rune(text)
	if len(runes) <= columns {
		return text
	}
	return string(runes[:columns])
}

// estimate says how long a run takes from how long its steps took.
type estimate struct {
	start, stage time.Time // of this process, and of the stage: when its first step was done
	name         train.Stage
	steps, here  int // that this process did, and those of the stage
}

func (e *estimate) begin(now time.Time) { e.start = now }

func (e *estimate) step(now time.Time, info train.ProgressInfo) {
	if e.name != info.Stage {
		e.name, e.here, e.stage = info.Stage, 0, now
	}
	e.steps++
	e.here++
}

// left returns the time that the rest of the run takes: steps of the stage last as
// long as those so far, others as long as the mean of all.
func (e *estimate) left(now time.Time, info train.ProgressInfo) (time.Duration, bool) {
	if e.steps == 0 {
		return 0, false
	}
	all := now.Sub(e.start) / time.Duration(e.steps)
	of := all
	if e.here > 1 {
		of = now.Sub(e.stage) / time.Duration(e.here-1)
	}
	inStage := info.Steps - info.Step
	return time.Duration(inStage)*of + time.Duration(info.Total-info.Done-inStage)*all, true
}

// rate is a moving mean of a count per second.
type rate struct{ samples []sample }

type sample struct {
	at time.Time
	n  int64
}

// add takes the count at a time. One sample that is older than the window stays.
func (r *rate) add(at time.Time, n int64) {
	r.samples = append(r.samples, sample{at, n})
	for len(r.samples) > 2 && at.Sub(r.samples[1].at) >= rateOver {
		r.samples = r.samples[1:]
	}
}

func (r *rate) perSecond() float64 {
	if len(r.samples) < 2 {
		return 0
	}
	first, last := r.samples[0], r.samples[len(r.samples)-1]
	seconds := last.at.Sub(first.at).Seconds()
	if seconds <= 0 {
		return 0
	}
	return float64(last.n-first.n) / seconds
}

// quitOnSecondInterrupt says after the first Ctrl-C what happens, and lets a second
// one end the program at once. It says so from another goroutine, stderr being safe
// for that. The function that it returns ends that.
func quitOnSecondInterrupt(ctx context.Context, stderr io.Writer) (end func()) {
	said := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(said)
		signal.Reset(os.Interrupt, syscall.SIGTERM)
		fmt.Fprintln(stderr, "\nyardmaster: stopping; what is finished is saved (Ctrl-C again: at once)")
	})
	return func() {
		if !stop() {
			<-said
		}
	}
}
