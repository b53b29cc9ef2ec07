package train

import (
	"context"
	"math"
	"strings"
	"testing"
)

func TestConfigNamesEveryBadField(t *testing.T) {
	cfg := Config{Kind: "other", Network: Network{Hidden: -1}, Prior: Prior{Scale: -1, Weights: map[string]float64{"gpus": math.Inf(1)}}}
	cfg.BC.Keep, cfg.BC.KeepChanged, cfg.BC.Episodes, cfg.BC.Rate = 2, -1, -1, 7
	cfg.ES.Episodes, cfg.ES.ValidateEvery, cfg.ES.Pairs, cfg.ES.Sigma = -1, -1, -1, -1
	cfg.PPO.Groups, cfg.PPO.PerGroup, cfg.PPO.ValidateEvery, cfg.PPO.Keep, cfg.PPO.Clip = -1, -1, -1, math.NaN(), 2
	cfg.PPO.Sharpen, cfg.PPO.CriticEpochs, cfg.PPO.CriticEnough = -1, -1, math.NaN()
	_, err := Run(context.Background(), cfg)
	for _, field := range []string{
		"Dir", "NewEnv", "Validate", "TrainSeeds", "Kind", "Network", "Prior.Scale", "Prior.Weights[gpus]", "BC.Keep", "BC.KeepChanged", "BC.Episodes",
		"Rate", "ES.Episodes", "ES.ValidateEvery", "Pairs", "Sigma", "PPO.Groups", "PPO.PerGroup", "PPO.ValidateEvery", "PPO.Keep", "Clip",
		"PPO.Sharpen", "PPO.CriticEpochs", "PPO.CriticEnough",
	} {
		if err == nil || !strings.Contains(err.Error(), field) {
			t.Errorf("the error does not name %s:\n%v", field, err)
		}
	}
}

// The zero value of every field with a default is that default.
func TestDefaultsAreValid(t *testing.T) {
	cfg := Config{Dir: t.TempDir(), NewEnv: cluster, Validate: validate, TrainSeeds: []uint64{1}}
	cfg.fillDefaults()
	if err := cfg.validate(); err != nil {
		t.Errorf("defaults: %v", err)
	}
}
