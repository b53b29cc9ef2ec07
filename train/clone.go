package train

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/yardmaster/yardmaster/agent/neural"
	"github.com/yardmaster/yardmaster/env/rng"
	"github.com/yardmaster/yardmaster/train/bc"
	"github.com/yardmaster/yardmaster/train/checkpoint"
)

// cloned are the metrics of a pass of cloning.
type cloned struct {
	bc.Metrics
	Demonstrations int `json:"demonstrations"` // all that were fitted to
}

// cloning is the stage of behaviour cloning.
type cloning struct {
	*run
	order *rand.PCG
	demos []bc.Demonstration
}

const orderSection = "bc.order"

func (w *cloning) begin(context.Context) error {
	w.order = rng.Source(w.cfg.Seed, "train/bc")
	return nil
}

// save keeps the state of the stream; demonstrations are in files of their own, one
// for each pass, since they are large and do not change.
func (w *cloning) save(s checkpoint.Sections) error { return s.Put(orderSection, w.order) }

func (w *cloning) restore(s checkpoint.Sections) error {
	w.order = rng.Source(w.cfg.Seed, "train/bc")
	w.demos = w.restoredDemos
	w.restoredDemos = nil
	return s.Restore(orderSection, w.order)
}

// step is one pass: recording, then fitting to all that was recorded so far.
func (w *cloning) step(ctx context.Context, pass int) error {
	cfg := &w.cfg.BC
	record := bc.RecordConfig{
		NewEnv: w.cfg.NewEnv, Teacher: w.cfg.Teacher, Seeds: w.nextSeeds(cfg.Episodes), Keep: cfg.Keep, KeepChanged: cfg.KeepChanged,
		Seed: w.cfg.Seed, Stream: "pass" + strconv.Itoa(pass), Order: w.prior,
	}
	if pass > 1 {
		student, err := neural.NewPolicy(w.model)
		if err != nil {
			return err
		}
		record.Student, record.Mix = student, 1
	}
	more, err := bc.Record(ctx, record)
	if err != nil {
		return err
	}
	if err := bc.Save(w.dir.demonstrations(pass), more); err != nil {
		return err
	}
	w.demos = slices.Concat(w.demos, more)
	if len(w.demos) == 0 {
		return errors.New("no demonstrations: the teacher idles, or Keep and KeepChanged are too small for the episodes")
	}
	m, err := w.fit(ctx)
	if err != nil {
		return err
	}
	return w.validate(ctx, StageBC, pass, cloned{m, len(w.demos)})
}

// fit passes over the demonstrations with a fresh optimizer and returns the
// metrics of the last pass.
func (w *cloning) fit(ctx context.Context) (m bc.Metrics, err error) {
	fitter, err := bc.NewFitter(w.cfg.BC.Config, w.model.Params)
	if err != nil {
		return m, err
	}
	order := rand.New(w.order)
	for range w.cfg.BC.Epochs {
		if m, err = fitter.Epoch(ctx, w.demos, order); err != nil {
			return m, err
		}
	}
	return m, nil
}

// demonstrations returns the file of those of a pass.
func (d *directory) demonstrations(pass int) string {
	return filepath.Join(d.path, resumeDir, fmt.Sprintf("demonstrations-%04d", pass))
}

// readDemonstrations reads those of the first passes.
func (d *directory) readDemonstrations(passes int) (all []bc.Demonstration, err error) {
	for pass := 1; pass <= passes; pass++ {
		demos, err := bc.Load(d.demonstrations(pass))
		if errors.Is(err, os.ErrNotExist) {
			err = fmt.Errorf("%w: %w", checkpoint.ErrDamaged, err) // of the checkpoint that needs it
		}
		if err != nil {
			return nil, err
		}
		all = append(all, demos...)
	}
	return all, nil
}
