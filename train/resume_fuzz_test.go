package train

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"testing"

	"github.com/yardmaster/yardmaster/train/checkpoint"
)

// Whatever the sections of a checkpoint say, a run either goes on from it or returns an
// error: nothing panics.
func FuzzResume(f *testing.F) {
	cfg := small(f)
	cfg.Checkpoints = 100
	cfg.BC.Passes, cfg.ES.Generations, cfg.PPO.Iterations = 1, 1, 1
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	mustRun(f, cfg)
	store := checkpoint.Store{Dir: filepath.Join(cfg.Dir, resumeDir)}
	numbers, err := store.Numbers()
	if err != nil {
		f.Fatal(err)
	}
	var all []checkpoint.Sections
	names := []string{runSection, orderSection, searchSection, fixedSection, chanceSection, leashSection, updateSection, "learner.scale", "learner.policy"}
	for i, n := range numbers {
		s, err := checkpoint.Read(filepath.Join(store.Dir, fmt.Sprintf("%06d.state", n)))
		if err != nil {
			f.Fatal(err)
		}
		all = append(all, s)
		for k, name := range names {
			if data, ok := s[name]; ok {
				f.Add(uint8(i), uint8(k), data)
			}
		}
	}
	f.Fuzz(func(t *testing.T, which, section uint8, data []byte) {
		s := maps.Clone(all[int(which)%len(all)])
		s[names[int(section)%len(names)]] = data
		run := cfg
		run.Dir, run.Resume, run.Warn = t.TempDir(), true, func(error) {}
		if err := checkpoint.Write(filepath.Join(run.Dir, resumeDir, fmt.Sprintf("%06d.state", 3)), s); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(run.Dir, metricsFile), make([]byte, 1<<14), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Run(ended, run); errors.Is(err, ErrNothingToResume) || errors.Is(err, ErrInUse) {
			t.Error(err)
		}
	})
}
