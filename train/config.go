package train

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"os"

	"github.com/yardmaster/yardmaster/agent"
	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/models"
	"github.com/yardmaster/yardmaster/models/nn"
	"github.com/yardmaster/yardmaster/train/bc"
	"github.com/yardmaster/yardmaster/train/es"
	"github.com/yardmaster/yardmaster/train/ppo"
)

// Config says what is trained, on what and how. Fields without a default are
// required.
type Config struct {
	Dir  string // run directory; what an earlier run left there is replaced, unless Resume is set
	Seed uint64 // of everything that is drawn

	// Resume continues the run that was interrupted in Dir, from its last checkpoint:
	// model, metrics and result become those of a run that was never stopped, bit for
	// bit. Everything else has to be as it was: a difference to Dir's run.json is an
	// error that names the setting. A run that had ended is returned as it is. Where
	// Dir has no run, the error wraps ErrNothingToResume.
	Resume bool
	// Checkpoints is how many of the last checkpoints are kept; default 3.
	Checkpoints int
	// Warn is told what a run copes with and someone should know: a damaged
	// checkpoint, in whose place the one before is used. nil: written to os.Stderr.
	Warn func(problem error)

	// NewEnv makes an environment; it is called once per processor and stage. A
	// teacher needs environments with a State method, as sim.JobStrategy has.
	NewEnv func() (env.Env, error)
	// TrainSeeds are the episodes to learn from. They are used in order, and
	// again from the first when they run out.
	TrainSeeds []uint64
	// Teacher is cloned first. nil: training begins with the prior.
	Teacher agent.Policy
	// Validate returns how good a model is: lower is better, the mean completion
	// time on validation episodes, say. It must not change the model and must
	// be a function of it alone.
	Validate func(ctx context.Context, m *models.Model) (float64, error)

	// Costs returns what each model costs on each of these training episodes:
	// all > 0, lower is better, in the same unit as Validate. nil: no evolution.
	Costs func(ctx context.Context, ms []*models.Model, seeds []uint64) ([][]float64, error)

	Kind    models.Kind // default models.JobStrategy
	Network Network
	Prior   Prior // of models.JobStrategy; other kinds begin with equal scores
	BC      Cloning
	ES      Evolution
	PPO     Reinforcement

	Provenance map[string]string    // recorded with the model: hash of the data, source revision …
	Progress   func(p ProgressInfo) // called from the goroutine of Run; nil: not called
}

// Network holds the sizes of the network.
type Network struct {
	Hidden int `json:"hidden"` // width of the scorer's layers; default 32
	Value  int `json:"value"`  // width of the critic's layer; default 64
}

// Cloning is the stage of behaviour cloning: passes that each record
// demonstrations and fit to all recorded so far. In the first the teacher plays,
// in the others the clone does and the teacher says what would have been right
// (DAgger, Ross et al., AISTATS 2011).
type Cloning struct {
	bc.Config
	Passes      int     `json:"passes"`       // default 5; negative: no cloning
	Episodes    int     `json:"episodes"`     // recorded in each pass; default 4
	Keep        float64 `json:"keep"`         // share recorded of the rounds in which the teacher changes nothing; default 0.02
	KeepChanged float64 `json:"keep_changed"` // share recorded of the other rounds; default 0.3
}

// Evolution is the stage of evolution strategies: it moves the linear part of the
// scorer, whose every weight says what one column is worth.
type Evolution struct {
	es.Config
	Generations   int `json:"generations"`    // default 8; negative: no evolution
	Episodes      int `json:"episodes"`       // training episodes on which a generation is played; default 4
	ValidateEvery int `json:"validate_every"` // generations; default 2
	Patience      int `json:"patience"`       // validations in a row without a new best model that end the stage; default 0: none do
}

// Reinforcement is the stage of PPO.
type Reinforcement struct {
	ppo.Config
	Iterations    int     `json:"iterations"`     // default 12; negative: no PPO
	Groups        int     `json:"groups"`         // training episodes per iteration; default 3
	PerGroup      int     `json:"per_group"`      // times each is played; default 4
	Sharpen       float64 `json:"sharpen"`        // factor on the scores before reinforcement; default 1
	Keep          float64 `json:"keep"`           // share of the rounds whose observations are learned from; default 0.1
	ValidateEvery int     `json:"validate_every"` // iterations; default 3
	Patience      int     `json:"patience"`       // validations in a row without a new best model that end the stage; default 0: none do
	CriticEpochs  int     `json:"critic_epochs"`  // most passes of the warm-up of the critic; default 20
	CriticEnough  float64 `json:"critic_enough"`  // explained variance that ends the warm-up; default 0.8
}

func (c *Config) fillDefaults() {
	if c.Kind == "" {
		c.Kind = models.JobStrategy
	}
	c.Checkpoints = cmp.Or(c.Checkpoints, 3)
	if c.Warn == nil {
		c.Warn = func(problem error) { fmt.Fprintln(os.Stderr, problem) }
	}
	c.Network.Hidden = cmp.Or(c.Network.Hidden, 32)
	c.Network.Value = cmp.Or(c.Network.Value, 64)
	c.Prior.fillDefaults()
	c.BC.Passes = cmp.Or(c.BC.Passes, 5)
	c.BC.Episodes = cmp.Or(c.BC.Episodes, 4)
	c.BC.Keep = cmp.Or(c.BC.Keep, 0.02)
	c.BC.KeepChanged = cmp.Or(c.BC.KeepChanged, 0.3)
	c.BC.Epochs = cmp.Or(c.BC.Epochs, 2)
	c.BC.FillDefaults()
	c.ES.Generations = cmp.Or(c.ES.Generations, 8)
	c.ES.Episodes = cmp.Or(c.ES.Episodes, 4)
	c.ES.ValidateEvery = cmp.Or(c.ES.ValidateEvery, 2)
	c.ES.FillDefaults()
	c.PPO.Iterations = cmp.Or(c.PPO.Iterations, 12)
	c.PPO.Groups = cmp.Or(c.PPO.Groups, 3)
	c.PPO.PerGroup = cmp.Or(c.PPO.PerGroup, 4)
	c.PPO.Keep = cmp.Or(c.PPO.Keep, 0.1)
	c.PPO.Sharpen = cmp.Or(c.PPO.Sharpen, 1)
	c.PPO.ValidateEvery = cmp.Or(c.PPO.ValidateEvery, 3)
	c.PPO.CriticEpochs = cmp.Or(c.PPO.CriticEpochs, 20)
	c.PPO.CriticEnough = cmp.Or(c.PPO.CriticEnough, 0.8)
	c.PPO.FillDefaults()
}

// Episodes returns how many training seeds a run of c takes if no stage ends early; beyond
// TrainSeeds they begin again.
func (c Config) Episodes() int {
	c.fillDefaults()
	n := 0
	if c.Teacher != nil {
		n += max(0, c.BC.Passes) * c.BC.Episodes
	}
	if c.evolves() {
		n += 1 + c.ES.Generations*c.ES.Episodes
	}
	if c.PPO.Iterations > 0 {
		n += (1 + c.PPO.Iterations) * c.PPO.Groups
	}
	return n
}

// evolves reports whether there is a stage of evolution.
func (c *Config) evolves() bool {
	return c.Kind == models.JobStrategy && c.Costs != nil && c.ES.Generations > 0
}

func (c *Config) validate() error {
	var errs []error
	bad := func(field string, value any, want string) {
		errs = append(errs, fmt.Errorf("train: config: %s is %v, want %s", field, value, want))
	}
	if c.Dir == "" {
		bad("Dir", `""`, "a run directory")
	}
	if c.NewEnv == nil || c.Validate == nil {
		errs = append(errs, errors.New("train: config: NewEnv and Validate are required"))
	}
	if c.Checkpoints < 1 {
		bad("Checkpoints", c.Checkpoints, ">= 1")
	}
	if c.ES.Patience < 0 || c.PPO.Patience < 0 {
		bad("ES.Patience, PPO.Patience", []int{c.ES.Patience, c.PPO.Patience}, "both >= 0")
	}
	if len(c.TrainSeeds) == 0 {
		bad("TrainSeeds", "empty", "at least one seed")
	}
	if c.Kind != models.JobStrategy && c.Kind != models.Configuration {
		bad("Kind", c.Kind, fmt.Sprintf("%s or %s", models.JobStrategy, models.Configuration))
	}
	if n := c.Network; n.Hidden < 1 || n.Hidden > nn.MaxDim || n.Value < 1 || n.Value > nn.MaxDim {
		bad("Network", n, fmt.Sprintf("sizes from 1 to %d", nn.MaxDim))
	}
	for _, share := range []struct {
		name string
		x    float64
	}{{"BC.Keep", c.BC.Keep}, {"BC.KeepChanged", c.BC.KeepChanged}, {"PPO.Keep", c.PPO.Keep}, {"PPO.CriticEnough", c.PPO.CriticEnough}} {
		if !(share.x > 0 && share.x <= 1) {
			bad(share.name, share.x, "> 0 and <= 1")
		}
	}
	if !(c.PPO.Sharpen > 0) || math.IsInf(c.PPO.Sharpen, 1) {
		bad("PPO.Sharpen", c.PPO.Sharpen, "finite and > 0")
	}
	if c.PPO.CriticEpochs < 1 {
		bad("PPO.CriticEpochs", c.PPO.CriticEpochs, ">= 1")
	}
	if c.BC.Episodes < 1 || c.PPO.Groups < 1 || c.PPO.PerGroup < 1 || c.PPO.ValidateEvery < 1 {
		bad("BC.Episodes, PPO.Groups, PPO.PerGroup, PPO.ValidateEvery", []int{c.BC.Episodes, c.PPO.Groups, c.PPO.PerGroup, c.PPO.ValidateEvery}, "all >= 1")
	}
	if c.ES.Episodes < 1 || c.ES.ValidateEvery < 1 {
		bad("ES.Episodes, ES.ValidateEvery", []int{c.ES.Episodes, c.ES.ValidateEvery}, "both >= 1")
	}
	return errors.Join(append(errs, c.Prior.validate(), c.BC.Validate(), c.ES.Validate(), c.PPO.Validate())...)
}
