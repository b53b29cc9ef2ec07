package neural

import (
	"context"
	"errors"
	"math"
	"reflect"
	"sync"
	"testing"

	"github.com/yardmaster/yardmaster/agent/heuristic"
	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/encode"
	"github.com/yardmaster/yardmaster/models"
	"github.com/yardmaster/yardmaster/models/nn"
)

func mustConfigurer(t testing.TB, m *models.Model, configs []env.Configuration) *Configurer {
	t.Helper()
	c, err := NewConfigurer(m, configs)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestConfigurerPicksTheBestRow(t *testing.T) {
	configs := heuristic.TiresiasConfigurations()
	chosen := make(map[string]bool)
	for seed := range uint64(5) {
		m := configurationModel(stream(seed))
		c := mustConfigurer(t, m, configs)
		for n, s := range randomStates(seed, 20) {
			var encoder encode.Configuration
			var o env.Observation
			encoder.Encode(&o, s, configs)
			want := configs[bestLegal(slowScores(m, &o), o.Mask)]
			for range 2 { // with fresh memory and with used
				got, err := c.Configure(context.Background(), s)
				if err != nil {
					t.Fatal(err)
				}
				if !got.Equal(want) {
					t.Fatalf("seed %d, state %d: got %v, want %v", seed, n, got, want)
				}
			}
			chosen[want.String()] = true
		}
	}
	if len(chosen) < 3 {
		t.Errorf("%d configurations were ever chosen: the test shows little", len(chosen))
	}
}

func TestConfigurerTakesTheFirstAmongEquals(t *testing.T) {
	m := configurationModel(stream(1))
	clear(m.Params.Flat)
	configs := heuristic.TiresiasConfigurations()
	c := mustConfigurer(t, m, configs)
	want := configs[0]
	configs[0] = env.Configuration{Scheduler: "changed"} // the configurer has its own
	got, err := c.Configure(context.Background(), randomStates(1, 2)[0])
	if err != nil || !got.Equal(want) {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
}

func TestNewConfigurerRefusesOtherModels(t *testing.T) {
	configs := heuristic.TiresiasConfigurations()
	if _, err := NewConfigurer(zeroModel(2), configs); !errors.Is(err, models.ErrIncompatible) {
		t.Errorf("model of strategies: got error %v, want ErrIncompatible", err)
	}
	other := configurationModel(stream(2))
	other.Manifest.Encoder.Version = "configuration/0"
	if _, err := NewConfigurer(other, configs); !errors.Is(err, models.ErrIncompatible) {
		t.Errorf("another encoder: got error %v, want ErrIncompatible", err)
	}
	if _, err := NewConfigurer(configurationModel(stream(2)), nil); err == nil {
		t.Error("no configurations: got no error")
	}
}

func TestConfigureReportsItsFailures(t *testing.T) {
	m := configurationModel(stream(3))
	m.Params.Tensors[nn.ScoreOutputWeight].Data[0] = float32(math.NaN())
	c := mustConfigurer(t, m, heuristic.TiresiasConfigurations())
	s := randomStates(3, 2)[0]
	if _, err := c.Configure(context.Background(), s); !errors.Is(err, ErrNonFinite) {
		t.Errorf("NaN: got error %v, want ErrNonFinite", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := c.Configure(ctx, s); !errors.Is(err, context.Canceled) {
		t.Errorf("ended context: got error %v, want context.Canceled", err)
	}
}

func TestConfigureConcurrently(t *testing.T) {
	c := mustConfigurer(t, configurationModel(stream(4)), heuristic.TiresiasConfigurations())
	states, before := randomStates(4, 16), randomStates(4, 16)
	want := make([]env.Configuration, len(states))
	for i, s := range states {
		var err error
		if want[i], err = c.Configure(context.Background(), s); err != nil {
			t.Fatal(err)
		}
	}
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for n := range states {
				i := (n + 5*g) % len(states)
				if got, err := c.Configure(context.Background(), states[i]); err != nil || !got.Equal(want[i]) {
					t.Errorf("state %d: got %v, %v, want %v", i, got, err, want[i])
				}
			}
		})
	}
	wg.Wait()
	if !reflect.DeepEqual(states, before) {
		t.Error("calling Configure modified a state")
	}
}
