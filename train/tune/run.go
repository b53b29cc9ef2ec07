package tune

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"runtime"
	"slices"
	"strconv"
	"sync"

	"github.com/yardmaster/yardmaster/agent/neural"
	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/encode"
	"github.com/yardmaster/yardmaster/models"
	"github.com/yardmaster/yardmaster/train/bc"
	"github.com/yardmaster/yardmaster/train/eval"
)

// Config configures the training of a configuration policy. The zero value of
// every field but Setting is its default.
type Config struct {
	Setting
	// Episodes is the number of training episodes, Lessons the number of
	// searched windows taken from each. Defaults 10 and 100: the fit is as good
	// with three times as many.
	Episodes, Lessons int
	// Stride is the number of windows from one lesson to the next. Default 2:
	// the states of successive windows are much alike.
	Stride int
	// Explore is the probability of a random configuration in a window while
	// lessons are recorded. Default 0.15.
	Explore float64
	// Temperature of the soft labels, as a share of the mean relative cost of
	// the training lessons. Default 0.1; 0.05 to 0.5 give the same policy
	// within a percent.
	Temperature float64
	// Clone configures the fit. Defaults: those of bc.FitSoft but 40 epochs,
	// rate 2e-3 and 16 hidden units: larger steps or networks overfit.
	Clone bc.SoftConfig
	// TestSeeds are the held-out episodes of Test on which default, searched
	// and learned configuration are compared; none leaves the comparison out.
	TestSeeds []uint64
	// Dir is the run directory that results are saved in; "" saves nothing.
	Dir string
	// Provenance is kept in the model's manifest.
	Provenance map[string]string
	// Progress is told how many of the training episodes are searched.
	Progress func(done, total int)
}

// FillDefaults sets every field that is zero and has a default to it.
func (c *Config) FillDefaults() {
	c.Setting.fillDefaults()
	c.Episodes = cmp.Or(c.Episodes, 10)
	c.Lessons = cmp.Or(c.Lessons, 100)
	c.Stride = cmp.Or(c.Stride, 2)
	c.Explore = cmp.Or(c.Explore, 0.15)
	c.Temperature = cmp.Or(c.Temperature, 0.1)
	c.Clone.Epochs = cmp.Or(c.Clone.Epochs, 40)
	c.Clone.Rate = cmp.Or(c.Clone.Rate, 2e-3)
	c.Clone.Hidden = cmp.Or(c.Clone.Hidden, 16)
	c.Clone.Holdout = cmp.Or(c.Clone.Holdout, 0.2)
	c.Clone.Seed = cmp.Or(c.Clone.Seed, c.Seed)
	c.Clone.Kind = models.Configuration
	c.Clone.Encoder = neural.Encoder(encode.ConfigurationVersion, encode.ConfigurationSpace())
}

func (c *Config) validate() error {
	errs := []error{c.Setting.validate()}
	bad := func(field string, value any, want string) {
		errs = append(errs, fmt.Errorf("tune: config: %s is %v, want %s", field, value, want))
	}
	if c.Episodes < 2 {
		bad("Episodes", c.Episodes, ">= 2, so that some are held out")
	}
	if c.Lessons < 1 {
		bad("Lessons", c.Lessons, ">= 1")
	}
	if c.Stride < 1 {
		bad("Stride", c.Stride, ">= 1")
	}
	if !(c.Explore >= 0 && c.Explore <= 1) {
		bad("Explore", c.Explore, "0 to 1")
	}
	if !(c.Temperature > 0) || math.IsInf(c.Temperature, 1) {
		bad("Temperature", c.Temperature, "finite and > 0")
	}
	if len(c.TestSeeds) > 0 && c.Test.Workload == nil {
		bad("Test", "without a Workload", "one, as there are TestSeeds")
	}
	return errors.Join(errs...)
}

// Result is what Run found.
type Result struct {
	Model *models.Model
	// Configurations are those chosen among, the published one first.
	Configurations []env.Configuration
	Lessons        int
	Clone          bc.SoftResult
	// Regret compares on the lessons that chose the epoch.
	Regret Regret
	// Table has the rows default, searched and learned; nil without TestSeeds.
	Table *eval.Table
}

// Run searches configurations over many windows of training episodes, clones
// the search into a policy, compares it on held-out episodes and saves it. The
// result is a function of cfg, whatever the number of processors, except for the
// decision times of the table.
func Run(ctx context.Context, cfg Config) (*Result, error) {
	cfg.FillDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	episodes, err := cfg.record(ctx)
	if err != nil {
		return nil, err
	}
	result, err := cfg.clone(ctx, slices.Concat(episodes...))
	if err != nil {
		return nil, err
	}
	if len(cfg.TestSeeds) > 0 {
		rows, err := Contestants(cfg.Setting, result.Model)
		if err != nil {
			return nil, err
		}
		result.Table, err = eval.Compare(ctx, eval.Config{Contestants: rows, Seeds: cfg.TestSeeds, Reference: RowLearned})
		if err != nil {
			return nil, err
		}
	}
	if cfg.Dir != "" {
		return result, save(cfg.Dir, result, episodes)
	}
	return result, nil
}

// record returns the lessons of every training episode, shape [Episodes][..].
func (c *Config) record(ctx context.Context) ([][]Lesson, error) {
	before, err := c.past()
	if err != nil {
		return nil, err
	}
	setting := c.Setting
	setting.Engine.Tries = 0 // a lesson has to tell of all configurations
	t := &teacher{setting: &setting, past: before, stride: c.Stride, most: c.Lessons, explore: c.Explore}
	lessons := make([][]Lesson, c.Episodes)
	progress := counter(c.Progress, c.Episodes)
	err = each(ctx, runtime.GOMAXPROCS(0), c.Episodes, func(ctx context.Context, _, i int) error {
		var err error
		lessons[i], err = t.record(ctx, i)
		progress()
		return err
	})
	return lessons, err
}

// clone fits a policy to the lessons.
func (c *Config) clone(ctx context.Context, lessons []Lesson) (*Result, error) {
	if len(lessons) < 2 {
		return nil, fmt.Errorf("tune: %d lessons in %d episodes: on this workload configurations do not matter; try a higher load", len(lessons), c.Episodes)
	}
	temperature := c.Temperature * meanRelative(lessons)
	examples := make([]bc.Demonstration, len(lessons))
	for i := range lessons {
		var err error
		if examples[i], err = bc.NewExample(&lessons[i].Observation, lessons[i].target(temperature)); err != nil {
			return nil, fmt.Errorf("tune: lesson %d: %w", i, err)
		}
	}
	m, fit, err := bc.FitSoft(ctx, c.Clone, examples)
	if err != nil {
		return nil, fmt.Errorf("tune: clone: %w", err)
	}
	if err := c.describe(ctx, m); err != nil {
		return nil, err
	}
	r := &Result{Model: m, Configurations: c.Engine.Configurations, Lessons: len(lessons), Clone: fit}
	cut := len(lessons) - max(1, int(c.Clone.Holdout*float64(len(lessons))))
	r.Regret = compareRegret(m.Params, lessons[:cut], lessons[cut:])
	maps.Copy(m.Manifest.Provenance, c.Provenance)
	m.Manifest.Provenance["configuration_seed"] = strconv.FormatUint(c.Seed, 10)
	m.Manifest.Provenance["configuration_lessons"] = strconv.Itoa(len(lessons))
	maps.Copy(m.Manifest.Metrics, map[string]float64{
		"clone_loss": fit.Holdout.Loss, "regret_default": r.Regret.Default, "regret_constant": r.Regret.Constant,
		"regret_searched": r.Regret.Searched, "regret_learned": r.Regret.Learned,
	})
	return r, nil
}

// counter returns a function to call once for each of total steps, from any
// goroutine: it reports them to progress, which may be nil, one after another.
func counter(progress func(done, total int), total int) func() {
	var mu sync.Mutex
	done := 0
	return func() {
		mu.Lock()
		defer mu.Unlock()
		done++
		if progress != nil {
			progress(done, total)
		}
	}
}
