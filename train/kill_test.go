package train

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/yardmaster/yardmaster/env/rng"
)

// helperEnv makes the test binary a training process that works in this folder.
const helperEnv = "YARDMASTER_TEST_TRAIN"

func TestMain(m *testing.M) {
	if dir := os.Getenv(helperEnv); dir != "" {
		if err := trainAsHelper(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// trainAsHelper resumes the run in dir, or begins it, and writes a byte at the start
// and after every step.
func trainAsHelper(dir string) error {
	cfg := long(&testing.T{}, dir)
	cfg.Progress = func(ProgressInfo) { fmt.Print(".") }
	fmt.Print(".")
	cfg.Resume = true
	_, err := Run(context.Background(), cfg)
	if errors.Is(err, ErrNothingToResume) {
		cfg.Resume = false
		_, err = Run(context.Background(), cfg)
	}
	return err
}

// long is a run of more steps than it is killed.
func long(t testing.TB, dir string) Config {
	cfg := settings(t)
	cfg.Dir = dir
	cfg.BC.Passes, cfg.ES.Generations, cfg.PPO.Iterations = 3, 8, 9
	return cfg
}

// A run that is killed at random moments, again and again, goes on from its last
// checkpoint each time, and leaves what one that was never stopped leaves.
func TestKilledRunResumes(t *testing.T) {
	cfg := long(t, t.TempDir())
	mustRun(t, cfg)
	want := files(t, cfg.Dir)
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	r := rng.New(1, "kill")
	const kills = 20
	killed, resumed := 0, 0
	for runs := 0; killed < kills; runs++ {
		dir, elsewhere := t.TempDir(), t.TempDir()
		t.Setenv("TMPDIR", elsewhere)
		for ended := false; !ended; {
			most := 2 // steps to see before the kill
			if killed >= kills {
				most = -1 // the last process of the last run lives
			}
			before := checkpoints(t, dir)
			if ended = untilKilled(t, exe, dir, r.IntN(max(1, 1+most)), most < 0, time.Duration(r.IntN(20_000))*time.Microsecond); !ended {
				killed++
			}
			if len(before) > 0 {
				resumed++
			}
		}
		same(t, fmt.Sprintf("run %d, after %d kills", runs, killed), want, files(t, dir))
		same(t, fmt.Sprintf("what %d kills left in the folder of temporary files", killed), map[string]string{}, files(t, elsewhere))
	}
	if resumed < kills/2 {
		t.Errorf("%d processes of %d began from a checkpoint: the test shows little", resumed, killed)
	}
	t.Logf("%d kills, %d processes began from a checkpoint", killed, resumed)
}

// untilKilled starts a training process and kills it a while after so many steps,
// unless it lives. It reports whether the process came to its end before.
func untilKilled(t *testing.T, exe, dir string, steps int, lives bool, delay time.Duration) (ended bool) {
	t.Helper()
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), helperEnv+"="+dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	marks := bufio.NewReader(out)
	for i := 0; i <= steps || lives; i++ {
		if _, err := marks.ReadByte(); err != nil {
			break // it has ended
		}
	}
	if !lives {
		time.Sleep(delay)
		_ = cmd.Process.Kill() // an error says that it has ended
	}
	_, _ = io.Copy(io.Discard, marks)
	err = cmd.Wait()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() >= 0 {
		t.Fatalf("the training process failed: %v", err)
	}
	return err == nil
}
