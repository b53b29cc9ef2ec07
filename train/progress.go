package train

import "math"

// Stage is a part of a run.
type Stage string

// Stages in their order.
const (
	StageInit   Stage = "init"   // the prior alone
	StageBC     Stage = "bc"     // behaviour cloning
	StageES     Stage = "es"     // evolution strategies
	StageCritic Stage = "critic" // the critic learns what the policy achieves
	StagePPO    Stage = "ppo"
)

// ProgressInfo says how far a run is.
type ProgressInfo struct {
	Stage       Stage
	Step, Steps int     // of the stage; Step begins at 1 and is done
	Done, Total int     // of the whole run, in steps
	Score       float64 // of the last validation
	Best        float64 // of the best so far
}

// Validation is the score of one model on the way.
type Validation struct {
	Stage Stage   `json:"stage"`
	Step  int     `json:"step"`
	Score float64 `json:"score"`
}

// Result is what a run came to. A stage's score is the best of its validations
// and may be worse than the one before; where the stage did not run it is the best
// so far.
type Result struct {
	ModelDir string       `json:"-"` // Dir/model
	Init     float64      `json:"init"`
	BC       float64      `json:"bc"`
	ES       float64      `json:"es"`
	PPO      float64      `json:"ppo"`
	Kept     Validation   `json:"kept"`
	All      []Validation `json:"validations"`
}

// summarize fills in what the validations say about each stage.
func (r *Result) summarize() {
	so := math.Inf(1) // the best so far
	for _, s := range []struct {
		stage Stage
		best  *float64
	}{{StageInit, &r.Init}, {StageBC, &r.BC}, {StageES, &r.ES}, {StagePPO, &r.PPO}} {
		*s.best = math.Inf(1)
		for _, v := range r.All {
			if v.Stage == s.stage {
				*s.best = min(*s.best, v.Score)
			}
		}
		if math.IsInf(*s.best, 1) {
			*s.best = so
		}
		so = min(so, *s.best)
	}
}
