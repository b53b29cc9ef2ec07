package train

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/yardmaster/yardmaster/models/nn"
	"github.com/yardmaster/yardmaster/train/bc"
	"github.com/yardmaster/yardmaster/train/checkpoint"
)

// ErrNothingToResume is wrapped by the error of a run with Config.Resume where the
// directory holds no run that was interrupted after its first checkpoint.
var ErrNothingToResume = errors.New("train: nothing to resume")

// Sections of every checkpoint.
const (
	configSection = "config"
	runSection    = "run"
	paramsSection = "params"
	bestSection   = "best"
)

// progressed is the section of a run.
type progressed struct {
	At          position     `json:"at"`
	Seeds       int          `json:"seeds"` // training seeds used so far
	Done        int          `json:"done"`  // steps, as reported
	Idle        int          `json:"idle"`  // validations in a row that kept no model
	Metrics     int64        `json:"metrics"`
	Kept        *Validation  `json:"kept"`
	Validations []Validation `json:"validations"`
}

func (r *run) store() checkpoint.Store {
	return checkpoint.Store{Dir: filepath.Join(r.cfg.Dir, resumeDir), Keep: r.cfg.Checkpoints}
}

// save leaves a checkpoint after a step of w; nil before the first one.
func (r *run) save(w worker) error {
	if err := r.dir.metrics.Sync(); err != nil { // the checkpoint counts on its bytes
		return fmt.Errorf("train: %w", err)
	}
	s := make(checkpoint.Sections)
	p := progressed{At: r.at, Seeds: r.seeds, Done: r.done, Idle: r.idle, Metrics: r.dir.length, Validations: r.result.All}
	if len(r.result.All) > 0 {
		p.Kept = &r.result.Kept
	}
	if err := errors.Join(s.PutJSON(configSection, r.cfg.record(r.model.Manifest.Encoder.Version)), s.PutJSON(runSection, p)); err != nil {
		return err
	}
	s.PutFloat32(paramsSection, r.model.Params.Flat)
	s.PutFloat32(bestSection, r.best.Flat)
	if w != nil {
		if err := w.save(s); err != nil {
			return err
		}
	}
	store := r.store()
	if err := store.Save(r.saved, s); err != nil {
		return err
	}
	r.saved++
	return r.dropDemonstrations()
}

// dropDemonstrations removes those of cloning once no checkpoint needs them.
func (r *run) dropDemonstrations() error {
	cloned := slices.IndexFunc(r.groups, func(g group) bool { return g.name == StageBC })
	if cloned < 0 || r.at.Group == StageInit || r.at.Group == StageBC {
		return nil
	}
	store := r.store()
	numbers, err := store.Numbers()
	if err != nil || len(numbers) == 0 || numbers[len(numbers)-1] <= 1+r.groups[cloned].steps {
		return err
	}
	for pass := 1; pass <= r.groups[cloned].steps; pass++ {
		if err := os.Remove(r.dir.demonstrations(pass)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("train: %w", err)
		}
	}
	return nil
}

// start begins a run, whose first checkpoint is that nothing was done.
func (r *run) start() error {
	if err := r.dir.clear(); err != nil {
		return err
	}
	if err := r.dir.write(r.cfg, r.model.Manifest.Encoder.Version, nil); err != nil {
		return err
	}
	r.at.Group = r.groups[0].name
	return r.save(nil)
}

// resume makes r what it was at the last checkpoint that can be read.
func (r *run) resume() error {
	store := r.store()
	numbers, err := store.Numbers()
	if err != nil {
		return fmt.Errorf("train: resume: %w", err)
	}
	if len(numbers) == 0 {
		return fmt.Errorf("%w in %s: it has no checkpoint", ErrNothingToResume, r.cfg.Dir)
	}
	if err := r.dir.take(); err != nil {
		return err
	}
	refused := r.cfg.Warn
	err = store.Latest(r.restore, func(err error) {
		refused(fmt.Errorf("train: resume: %w; using the checkpoint before it", err))
	})
	if err != nil {
		return fmt.Errorf("train: resume: %w", err)
	}
	if err := errors.Join(store.Drop(r.saved-1), r.dir.clean()); err != nil {
		return fmt.Errorf("train: resume: %w", err)
	}
	if len(r.result.All) > 0 {
		// The process may have been killed while it replaced the model.
		kept := r.model.Clone()
		copy(kept.Params.Flat, r.best.Flat)
		r.describe(kept, r.result.Kept)
		if err := r.dir.best(kept); err != nil {
			return err
		}
	}
	return r.dir.write(r.cfg, r.model.Manifest.Encoder.Version, nil)
}

// restore makes r what it was at checkpoint number.
func (r *run) restore(number int, s checkpoint.Sections) error {
	var was any
	if err := s.JSON(configSection, &was); err != nil {
		return err
	}
	if err := r.compare(was); err != nil {
		return err
	}
	var p progressed
	params, best := nn.NewParams(r.model.Params.Dims), nn.NewParams(r.model.Params.Dims)
	if err := errors.Join(s.JSON(runSection, &p), s.Float32(paramsSection, params.Flat), s.Float32(bestSection, best.Flat)); err != nil {
		return err
	}
	if err := p.check(r.groups); err != nil {
		return err
	}
	var demos []bc.Demonstration
	if p.At.Group == StageBC && !p.At.Over {
		var err error
		if demos, err = r.dir.readDemonstrations(p.At.Done); err != nil {
			return err
		}
	}
	if err := r.dir.open(p.Metrics); err != nil {
		return err
	}
	copy(r.model.Params.Flat, params.Flat)
	r.best = best
	r.at, r.seeds, r.done, r.idle, r.saved = p.At, p.Seeds, p.Done, p.Idle, number+1
	r.result.All = p.Validations
	if p.Kept != nil {
		r.result.Kept = *p.Kept
	}
	r.restored, r.restoredDemos = s, demos
	return nil
}

// check refuses what no run of these groups saves.
func (p *progressed) check(groups []group) error {
	k := slices.IndexFunc(groups, func(g group) bool { return g.name == p.At.Group })
	none := k == 0 && p.At.Done == 0 // the only time when nothing was validated
	switch {
	case k < 0, p.At.Done < 0, p.At.Done > groups[k].steps, p.At.Done == groups[k].steps && !p.At.Over,
		p.Seeds < 0, p.Done < 0, p.Idle < 0, p.Metrics < 0,
		(p.Kept == nil) != none, (len(p.Validations) == 0) != none:
		return fmt.Errorf("%w: the run is at step %d of stage %q, %d validations", checkpoint.ErrDamaged, p.At.Done, p.At.Group, len(p.Validations))
	}
	return nil
}
