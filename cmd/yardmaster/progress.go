package main

import (
	"io"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// newProgress returns a bar of total steps on w, or one that draws nothing where
// w is not a terminal.
func newProgress(w io.Writer, total int, what string) *progressbar.ProgressBar {
	if f, ok := w.(*os.File); !ok || !term.IsTerminal(int(f.Fd())) {
		w = io.Discard
	}
	return progressbar.NewOptions(total,
		// A spinner of its own would turn in a goroutine that reads the bar unlocked
		// (progressbar v3.19.1, IsStarted; found by the race detector).
		progressbar.OptionSetSpinnerChangeInterval(0),
		progressbar.OptionSetWriter(w),
		progressbar.OptionSetDescription(what),
		progressbar.OptionShowCount(),
		progressbar.OptionThrottle(100*time.Millisecond),
		progressbar.OptionClearOnFinish(),
		progressbar.OptionSetPredictTime(true),
	)
}
