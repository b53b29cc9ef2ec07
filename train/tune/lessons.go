package tune

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/encode"
	"github.com/yardmaster/yardmaster/env/rng"
	"github.com/yardmaster/yardmaster/env/sim"
)

// Lesson is one searched window: what a configurer could see at its start and
// what the search found.
type Lesson struct {
	Observation env.Observation // of encode.Configuration, one row per configuration
	// Relative is how much each configuration costs more than the best one, in
	// weighted job-hours, shape [C]; see Scores.
	Relative []float64
	Choice   int // what the search put in force
}

// teacher records lessons from episodes of a training workload.
type teacher struct {
	setting *Setting
	past    past
	stride  int // windows from one lesson to the next
	most    int // lessons per episode
	explore float64
}

// record plays the episode with this number under the searched configurations,
// mixed with random ones so that the lessons also cover what a learner's own
// choices may lead to, and returns its lessons. Windows in which all
// configurations cost the same teach nothing and are left out.
func (t *teacher) record(ctx context.Context, episode int) ([]Lesson, error) {
	name := "tune/episode/" + strconv.Itoa(episode)
	seed := rng.Seed(t.setting.Seed, name)
	jobs, err := t.setting.Train.Workload(seed)
	if err != nil {
		return nil, fmt.Errorf("tune: episode %d: %w", episode, err)
	}
	searched, err := t.setting.searched(t.setting.Train, t.past, jobs, seed)
	if err != nil {
		return nil, err
	}
	s, err := sim.New(t.setting.Train)
	if err != nil {
		return nil, err
	}
	if err := s.Reset(seed); err != nil {
		return nil, err
	}
	r := &recorder{Searched: searched, explore: t.explore, most: t.most, random: rng.New(seed, "tune/explore")}
	_, err = rollout(ctx, s, r, time.Duration(t.stride)*t.setting.Window, t.setting.Engine.Build)
	if err != nil && !errors.Is(err, errFull) {
		return nil, fmt.Errorf("tune: episode %d: %w", episode, err)
	}
	return r.lessons, nil
}

// recorder is a configurer that keeps what the search finds.
type recorder struct {
	*Searched
	explore float64
	most    int
	random  *rand.Rand
	encoder encode.Configuration
	obs     env.Observation
	lessons []Lesson
}

// errFull ends an episode that has given its lessons.
var errFull = errors.New("tune: enough lessons")

// Configure implements agent.Configurer.
func (r *recorder) Configure(ctx context.Context, s *env.State) (env.Configuration, error) {
	if len(r.lessons) >= r.most {
		return env.Configuration{}, errFull
	}
	c, err := r.Searched.Configure(ctx, s)
	if err != nil {
		return c, err
	}
	configurations := r.cfg.Engine.Configurations()
	if r.Scores.spread() > 0 {
		r.encoder.Encode(&r.obs, s, configurations)
		l := Lesson{Relative: r.Scores.Relative, Choice: r.Scores.Choice}
		r.obs.CopyTo(&l.Observation)
		r.lessons = append(r.lessons, l)
	}
	if r.random.Float64() < r.explore {
		r.incumbent = r.random.IntN(len(configurations))
	}
	return configurations[r.incumbent], nil
}

// target returns the soft labels of a lesson, shape [C]:
//
//	p[c] ∝ exp(−relative[c] / temperature)
//
// A temperature in job-hours, the same for all windows, lets those teach most
// in which the choice matters most: where it hardly does the labels are nearly
// uniform.
func (l *Lesson) target(temperature float64) []float64 {
	p := make([]float64, len(l.Relative))
	sum, low := 0.0, minimum(l.Relative)
	for c, x := range l.Relative {
		p[c] = math.Exp(-(x - low) / temperature)
		sum += p[c]
	}
	for c := range p {
		p[c] /= sum
	}
	return p
}
