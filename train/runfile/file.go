package runfile

import (
	"cmp"
	"time"

	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/train"
	"github.com/yardmaster/yardmaster/train/scenario"
	"github.com/yardmaster/yardmaster/train/tune"
)

// Name of the file in a run directory.
const Name = "run.yaml"

// Parts of a run that can be trained alone.
const (
	OnlyAllocation    = "allocation"
	OnlyConfiguration = "configuration"
)

// File is a training run. [Keys] documents its fields.
type File struct {
	Only        string              `json:"only"`
	Seed        uint64              `json:"seed"` // 0: that of the scenario
	Teacher     string              `json:"teacher"`
	Checkpoints int                 `json:"checkpoints"`
	Scenario    scenario.Scenario   `json:"scenario"`
	Training    Episodes            `json:"training"`
	Validation  Episodes            `json:"validation"`
	Network     train.Network       `json:"network"`
	Prior       train.Prior         `json:"prior"`
	BC          train.Cloning       `json:"bc"`
	ES          train.Evolution     `json:"es"`
	PPO         train.Reinforcement `json:"ppo"`
	Tune        Tune                `json:"tune"`
}

// Episodes are windows of a part of the trace.
type Episodes struct {
	Episodes int `json:"episodes"`
}

// Tune holds the settings of the policy that configures the scheduler; see
// tune.Config.
type Tune struct {
	Episodes    int           `json:"episodes"`
	Lessons     int           `json:"lessons"`
	Stride      int           `json:"stride"`
	Explore     float64       `json:"explore"`
	Temperature float64       `json:"temperature"`
	Window      time.Duration `json:"window_ns"`
	Futures     int           `json:"futures"`
	HeldOut     int           `json:"held_out"`
	Horizon     time.Duration `json:"horizon_ns"`
	Tries       int           `json:"tries"`
	Margin      float64       `json:"margin"`
	Hidden      int           `json:"hidden"`
	Holdout     float64       `json:"holdout"`
	Epochs      int           `json:"epochs"`
	Minibatch   int           `json:"minibatch"`
	Rate        float64       `json:"rate"`
	GradNorm    float64       `json:"grad_norm"`
	Decay       float64       `json:"decay"`
}

// Defaults returns the run that sets nothing. It lacks a trace only.
func Defaults() *File {
	f := &File{Teacher: "lp:throughput", Training: Episodes{1000}, Validation: Episodes{4}}
	f.Scenario.Knowledge = env.Estimate
	f.Scenario.FillDefaults()
	var c train.Config
	c.FillDefaults()
	f.Checkpoints, f.Network, f.Prior, f.BC, f.ES, f.PPO = c.Checkpoints, c.Network, c.Prior, c.BC, c.ES, c.PPO
	var t tune.Config
	t.FillDefaults()
	t.Engine.FillDefaults()
	t.Clone.FillDefaults()
	f.Tune = Tune{
		Episodes: t.Episodes, Lessons: t.Lessons, Stride: t.Stride, Explore: t.Explore, Temperature: t.Temperature, Window: t.Window,
		Futures: t.Engine.Futures, HeldOut: t.Engine.HeldOut, Horizon: t.Engine.Horizon, Margin: t.Engine.Margin,
		Hidden: t.Clone.Hidden, Holdout: t.Clone.Holdout, Epochs: t.Clone.Epochs, Minibatch: t.Clone.Minibatch,
		Rate: t.Clone.Rate, GradNorm: t.Clone.GradNorm, Decay: t.Clone.Decay,
	}
	return f
}

// Train sets what the file says of the policy that allocates GPUs, and leaves the
// rest of c alone.
func (f *File) Train(c *train.Config) {
	given := f.Clone()
	for _, field := range given.fields() {
		if k, ok := find(field.key); ok && k.Off && field.value.IsZero() {
			field.setNumber(-1) // in a train.Config 0 is the default
		}
	}
	c.Seed, c.Checkpoints = cmp.Or(given.Seed, given.Scenario.Seed), given.Checkpoints
	c.Network, c.Prior, c.BC, c.ES, c.PPO = given.Network, given.Prior, given.BC, given.ES, given.PPO
}

// Configure sets what the file says of the policy that configures the scheduler,
// and leaves the rest of c alone.
func (f *File) Configure(c *tune.Config) {
	t := &f.Tune
	c.Seed, c.Window = cmp.Or(f.Seed, f.Scenario.Seed), t.Window
	c.Episodes, c.Lessons, c.Stride, c.Explore, c.Temperature = t.Episodes, t.Lessons, t.Stride, t.Explore, t.Temperature
	c.Engine.Futures, c.Engine.HeldOut, c.Engine.Horizon, c.Engine.Tries, c.Engine.Margin = t.Futures, t.HeldOut, t.Horizon, t.Tries, t.Margin
	c.Clone.Hidden, c.Clone.Holdout, c.Clone.Epochs, c.Clone.Minibatch = t.Hidden, t.Holdout, t.Epochs, t.Minibatch
	c.Clone.Rate, c.Clone.GradNorm, c.Clone.Decay = t.Rate, t.GradNorm, t.Decay
}
