package train

import (
	"context"
	"fmt"

	"github.com/yardmaster/yardmaster/train/checkpoint"
)

// group is stages of a run that share a state.
type group struct {
	name  Stage // of the last of them
	what  string
	steps int
	make  func() worker
	// patience is how many validations in a row that keep no model end it; 0: none do.
	patience int
}

// worker does the steps of a group. After any step, save, and a restore in another
// process, which replaces begin, the next steps are the same, bit for bit.
type worker interface {
	begin(ctx context.Context) error
	// step does step i, from 1, and logs it.
	step(ctx context.Context, i int) error
	save(s checkpoint.Sections) error
	restore(s checkpoint.Sections) error
}

// plan returns the groups of the run.
func (r *run) plan() []group {
	c := r.cfg
	groups := []group{{StageInit, "validation of the prior", 1, func() worker { return initial{r} }, 0}}
	if c.Teacher != nil && c.BC.Passes > 0 {
		groups = append(groups, group{StageBC, "behaviour cloning", c.BC.Passes, func() worker { return &cloning{run: r} }, 0})
	}
	if c.evolves() {
		groups = append(groups, group{StageES, "evolution", c.ES.Generations, func() worker { return &evolution{run: r} }, c.ES.Patience})
	}
	if c.PPO.Iterations > 0 {
		groups = append(groups, group{StagePPO, "ppo", 1 + c.PPO.Iterations, func() worker { return &reinforcement{run: r} }, c.PPO.Patience})
	}
	return groups
}

// label returns what step i of the group is called, and how many there are of its
// stage.
func (g *group) label(i int) (stage Stage, step, steps int) {
	switch {
	case g.name == StageInit:
		return g.name, 0, 0
	case g.name != StagePPO:
		return g.name, i, g.steps
	case i == 1:
		return StageCritic, 1, 1
	}
	return g.name, i - 1, g.steps - 1
}

// position is how far a run is.
type position struct {
	Group Stage `json:"group"` // in progress
	Done  int   `json:"done"`  // steps of it
	Over  bool  `json:"over"`  // no more are needed
}

// stages does what is left of the run, group by group.
func (r *run) stages(ctx context.Context) error {
	for k := range r.groups {
		if g := &r.groups[k]; r.at.Group == g.name {
			if err := r.finish(ctx, g); err != nil {
				return fmt.Errorf("train: %s: %w", g.what, err)
			}
			if k+1 < len(r.groups) {
				r.at = position{Group: r.groups[k+1].name}
				r.idle = 0
			}
		}
	}
	return nil
}

// finish does what is left of g, leaving a checkpoint after each step.
func (r *run) finish(ctx context.Context, g *group) error {
	if r.at.Over {
		return nil
	}
	w := g.make()
	if r.at.Done > 0 {
		if err := w.restore(r.restored); err != nil {
			return err
		}
	} else if err := w.begin(ctx); err != nil {
		return err
	}
	r.restored = nil
	for !r.at.Over {
		i := r.at.Done + 1
		if err := w.step(ctx, i); err != nil {
			return r.failed(g, i, err)
		}
		r.at.Done, r.at.Over = i, i == g.steps || g.patience > 0 && r.idle >= g.patience
		r.count(g)
		if err := r.save(w); err != nil {
			return err
		}
		r.progress(g)
	}
	return nil
}

// count counts the step that was done; the last one counts for those that were not
// needed, too.
func (r *run) count(g *group) {
	switch {
	case g.name == StageInit:
	case r.at.Over:
		r.done += g.steps - r.at.Done + 1
	default:
		r.done++
	}
}

// progress reports the step that was done.
func (r *run) progress(g *group) {
	if r.cfg.Progress == nil || g.name == StageInit {
		return
	}
	total := 0
	for k := range r.groups[1:] {
		total += r.groups[1+k].steps
	}
	p := ProgressInfo{Done: r.done, Total: total, Score: r.result.All[len(r.result.All)-1].Score, Best: r.result.Kept.Score}
	p.Stage, p.Step, p.Steps = g.label(r.at.Done)
	r.cfg.Progress(p)
}

// initial validates the network as it is at first.
type initial struct{ *run }

func (initial) begin(context.Context) error { return nil }

func (w initial) step(ctx context.Context, _ int) error { return w.validate(ctx, StageInit, 0, nil) }

func (initial) save(checkpoint.Sections) error { return nil }

func (initial) restore(checkpoint.Sections) error { return nil }
