package train

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/yardmaster/yardmaster/train/checkpoint"
)

const nonFinitePattern = "nonfinite-*.state"

// failed returns the error of step i of g. Where a loss was not finite, the batch goes
// into a file of the run directory, for [checkpoint.ReadBatch], and the error names it.
func (r *run) failed(g *group, i int, err error) error {
	bad, ok := errors.AsType[*checkpoint.BatchError](err)
	if !ok {
		return err
	}
	stage, step, _ := g.label(i)
	path := filepath.Join(r.cfg.Dir, fmt.Sprintf("nonfinite-%s-%04d.state", stage, step))
	err = fmt.Errorf("%s %d: %w", stage, step, err)
	if failure := checkpoint.WriteBatch(path, &bad.Batch); failure != nil {
		return errors.Join(err, failure)
	}
	return fmt.Errorf("%w; the batch is in %s, the last good checkpoint is kept", err, path)
}
