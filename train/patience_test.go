package train

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yardmaster/yardmaster/models"
)

// A stage ends after so many validations in a row of its own that find nothing better; a
// new best model gives it as many again. The steps that are left out count as done.
func TestPatienceEndsAStage(t *testing.T) {
	cfg := small(t)
	cfg.Teacher = nil
	cfg.ES.Generations, cfg.ES.ValidateEvery, cfg.ES.Patience = 9, 1, 2
	cfg.PPO.Iterations, cfg.PPO.ValidateEvery, cfg.PPO.Patience = 9, 2, 1
	scores := []float64{5, 6, 4, 7, 8, 9} // init, es 1 to 4, ppo 2
	calls := 0
	cfg.Validate = func(context.Context, *models.Model) (float64, error) { calls++; return scores[calls-1], nil }
	var last ProgressInfo
	cfg.Progress = func(p ProgressInfo) {
		if p.Done <= last.Done {
			t.Errorf("%s %d: %d steps are done, after %d", p.Stage, p.Step, p.Done, last.Done)
		}
		last = p
	}
	result := mustRun(t, cfg)
	want := []string{"init0*", "es1*", "es2*", "es3*", "es4*", "critic1", "ppo1", "ppo2*"}
	if diff := cmp.Diff(want, steps(lines(t, cfg.Dir))); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
	if last.Done != last.Total || last.Total != 19 {
		t.Errorf("at the end %d of %d steps are done, want 19 of 19", last.Done, last.Total)
	}
	if result.Kept != (Validation{StageES, 2, 4}) {
		t.Errorf("kept %+v, want generation 2", result.Kept)
	}
}
