package main

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/yardmaster/yardmaster/models"
	"github.com/yardmaster/yardmaster/train/eval"
	"github.com/yardmaster/yardmaster/train/scenario"
	"github.com/yardmaster/yardmaster/train/tune"
)

// configurationRows are the rows of the benchmark in which Tiresias runs the
// cluster and something else configures it.
var configurationRows = []string{tune.RowDefault, tune.RowSearched, tune.RowLearned}

// tuneSetting returns where configurations are searched and compared.
func tuneSetting(l *scenario.Loaded) tune.Setting {
	return tune.Setting{Train: l.Sim(scenario.Train), Test: l.Sim(scenario.Test), Seed: l.Scenario.Seed}
}

func configurationContestant(name, run string, l *scenario.Loaded) (eval.Contestant, error) {
	var m *models.Model
	if name == tune.RowLearned {
		var err error
		m, err = models.Load(filepath.Join(run, tune.ModelDir))
		if errors.Is(err, fs.ErrNotExist) {
			return eval.Contestant{}, fmt.Errorf("%s holds no configuration policy yet (finish yardmaster train --out %s, or leave %s out of --policies): %w", run, run, name, err)
		}
		if err != nil {
			return eval.Contestant{}, err
		}
	}
	rows, err := tune.Contestants(tuneSetting(l), m)
	if err != nil {
		return eval.Contestant{}, err
	}
	for _, row := range rows {
		if row.Name == name {
			return row, nil
		}
	}
	return eval.Contestant{}, fmt.Errorf("no contestant %s", name)
}
