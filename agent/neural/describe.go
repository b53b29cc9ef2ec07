package neural

import (
	"errors"
	"fmt"

	"github.com/yardmaster/yardmaster/agent/novelty"
	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/models"
)

// Describe keeps with m what it met: the statistics of observations, in the order
// in which they were made, by which a service tells states that are unlike these
// (models.Novelty), and golden inputs by which it tells that the model computes
// there what it computes here.
//
// Too few observations to tell anything leave m without statistics; that is no
// error.
func Describe(m *models.Model, observations []*env.Observation) error {
	m.Manifest.Novelty, m.Golden = nil, nil
	n, err := novelty.Measure(observations)
	switch {
	case err == nil:
		m.Manifest.Novelty = &n
	case !errors.Is(err, novelty.ErrFewStates):
		return fmt.Errorf("neural: describe: %w", err)
	}
	if len(observations) == 0 {
		return nil
	}
	golden, err := NewGolden(m, observations)
	if err != nil {
		return err
	}
	m.Golden = &golden
	return nil
}
