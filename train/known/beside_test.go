package known

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/yardmaster/yardmaster/train/cputime"
)

// The libraries that published the settings train with them on this machine, in the
// same run as we do: YARDMASTER_PYTHON names a Python that has them (README.md). It takes
// their minutes.
func TestBesideZoo(t *testing.T)     { beside(t, "zoo", "Stable-Baselines3", Zoo()) }
func TestBesideCleanRL(t *testing.T) { beside(t, "cleanrl", "CleanRL", CleanRL()) }

func beside(t *testing.T, name, library string, s Settings) {
	t.Helper()
	python := os.Getenv("YARDMASTER_PYTHON")
	if python == "" {
		t.Skip("YARDMASTER_PYTHON names no Python that has stable-baselines3 and cleanrl")
	}
	const seed = 1
	var fastest time.Duration
	mean := 0.0
	for range 3 { // against what else the machine does
		start := cputime.Spent()
		returns, err := Balance(context.Background(), s, seed)
		if err != nil {
			t.Fatal(err)
		}
		if spent := cputime.Spent() - start; fastest == 0 || spent < fastest {
			fastest = spent
		}
		mean = LastMean(returns, 100)
	}
	out, err := exec.Command(python, filepath.Join("testdata", "others.py"), name, strconv.Itoa(s.Steps), strconv.Itoa(seed)).Output()
	if err != nil {
		if failed, ok := errors.AsType[*exec.ExitError](err); ok {
			t.Fatalf("others.py %s: %v\n%s", name, err, failed.Stderr)
		}
		t.Fatal(err)
	}
	var theirs struct{ Return, Processor float64 }
	if err := json.Unmarshal(out, &theirs); err != nil {
		t.Fatalf("others.py printed %q: %v", out, err)
	}
	fmt.Printf("CartPole-v1, %d steps, settings of %s: %s %.1f in %.1f s CPU, ours %.1f in %.2f s CPU: %.0f times faster\n",
		s.Steps, s.Name, library, theirs.Return, theirs.Processor, mean, fastest.Seconds(), theirs.Processor/fastest.Seconds())
	if ratio := theirs.Processor / fastest.Seconds(); ratio < 1 {
		t.Errorf("ours takes %.2f times as long", 1/ratio)
	}
}
