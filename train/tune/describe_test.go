package tune

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yardmaster/yardmaster/agent/neural"
	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/rng"
	"github.com/yardmaster/yardmaster/env/sim"
	"github.com/yardmaster/yardmaster/models"
	"github.com/yardmaster/yardmaster/models/nn"
)

// A policy that was played knows the windows of another episode, and the same each
// time.
func TestDescribe(t *testing.T) {
	cfg := Config{Setting: testSetting()}
	cfg.Engine.Configurations = nil // all of Tiresias
	cfg.FillDefaults()
	encoder := cfg.Clone.Encoder
	p := nn.NewParams(nn.Dims{Candidate: len(encoder.Candidate), Global: len(encoder.Global), Hidden: 8, Value: 4})
	p.Initialize(rng.New(1, "describe"))
	m := models.New(models.Configuration, encoder, p)
	if err := cfg.describe(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	again := m.Clone()
	if err := cfg.describe(t.Context(), again); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(m.Manifest.Novelty, again.Manifest.Novelty); diff != "" || m.Manifest.Novelty == nil || m.Golden == nil {
		t.Fatalf("described twice: golden %v, %s", m.Golden, diff)
	}
	learned, err := neural.NewConfigurer(m, cfg.Engine.Configurations)
	if err != nil {
		t.Fatal(err)
	}
	s, err := sim.New(cfg.Train)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Reset(99); err != nil {
		t.Fatal(err)
	}
	windows, unlike := 0, 0
	score := scoring{learned, func(x float64) {
		windows++
		if x > 1 {
			unlike++
		}
	}}
	if _, err := rollout(t.Context(), s, score, cfg.Window, cfg.Engine.Build); err != nil {
		t.Fatal(err)
	}
	if windows < 20 || unlike*10 > windows {
		t.Errorf("%d of %d windows are unlike training, want few of some dozens", unlike, windows)
	}
}

// scoring tells how novel the windows of a configurer are.
type scoring struct {
	*neural.Configurer
	tell func(float64)
}

func (s scoring) Configure(ctx context.Context, state *env.State) (env.Configuration, error) {
	c, x, err := s.ConfigureScored(ctx, state)
	s.tell(x)
	return c, err
}
