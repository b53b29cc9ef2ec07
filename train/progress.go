package train

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

// Result is what a run came to.
type Result struct {
	ModelDir string       `json:"-"` // Dir/model
	Init     float64      `json:"init"`
	BC       float64      `json:"bc"`  // best of the stage, Init where it did not run
	ES       float64      `json:"es"`  // best of the stage, that of BC where it did not run
	PPO      float64      `json:"ppo"` // best of the stage, that of ES where it did not run
	Kept     Validation   `json:"kept"`
	All      []Validation `json:"validations"`
}
