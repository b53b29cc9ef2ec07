package train

import (
	"fmt"

	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/encode"
	"github.com/yardmaster/yardmaster/models/nn"
)

// Prior is the policy that an untrained network is: a linear score, in nats,
//
//	Scale · (log density + BestType·best + Here·here − Moves·moves − Stop·stop)
//
// of columns of encode. The hidden layers begin with no say, so that the policy
// starts as the density greedy and can only be improved from there.
type Prior struct {
	// Scale turns log densities into logits: how sharply the policy samples while
	// it learns. Default 8.
	Scale float64 `json:"scale"`
	// BestType favours the GPU type that is fastest for the job. Default 0.1.
	BestType float64 `json:"best_type"`
	// Moves is taken off where a running job would have to move. Default 0.18,
	// ln(round / (round − restart)) for rounds of 360 s and restarts of 60 s.
	Moves float64 `json:"moves"`
	// Stop is taken off stop. Default 10, the lowest density there is.
	Stop float64 `json:"stop"`
}

func (p *Prior) fillDefaults() {
	for _, f := range []struct {
		field *float64
		value float64
	}{{&p.Scale, 8}, {&p.BestType, 0.1}, {&p.Moves, 0.18}, {&p.Stop, 10}} {
		if *f.field == 0 {
			*f.field = f.value
		}
	}
}

// apply writes the prior to the linear part of params, whose candidates have
// the columns of space.
func (p *Prior) apply(params *nn.Params, space env.Space) error {
	linear := params.Tensors[nn.ScoreLinearWeight].Data
	for _, c := range []struct {
		column string
		weight float64
	}{
		{encode.ColumnDensity, 1}, {encode.ColumnBestType, p.BestType},
		{encode.ColumnMoves, -p.Moves}, {encode.ColumnStop, -p.Stop},
	} {
		i := column(space.Candidate, c.column)
		if i < 0 {
			return fmt.Errorf("train: the prior needs column %s, which the environment's candidates lack", c.column)
		}
		linear[i] = float32(p.Scale * c.weight)
	}
	return nil
}

func column(features []env.Feature, name string) int {
	for i, f := range features {
		if f.Name == name {
			return i
		}
	}
	return -1
}
