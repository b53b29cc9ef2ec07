package heuristic

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/yardmaster/yardmaster/agent/agenttest"
	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/rng"
)

// FuzzFromConfiguration: configurations come from the network. What is refused
// is refused with an error; what is accepted decides validly.
func FuzzFromConfiguration(f *testing.F) {
	for _, c := range TiresiasConfigurations()[:5] {
		raw, err := json.Marshal(c)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
	}
	f.Add([]byte(`{"scheduler":"tiresias","knobs":[{"name":"promote","values":[1e308]},{"name":"thresholds","values":[5e-324,1]}]}`))
	f.Add([]byte(`{"scheduler":"tiresias","knobs":[{"name":"thresholds","values":[2,1]}]}`))
	state := agenttest.RandomState(rng.New(1, "fuzz"), agenttest.Options{Jobs: 20})
	f.Fuzz(func(t *testing.T, raw []byte) {
		var c env.Configuration
		if json.Unmarshal(raw, &c) != nil {
			return
		}
		p, err := FromConfiguration(c)
		if err != nil {
			return
		}
		a, err := p.Decide(context.Background(), state)
		if err != nil {
			t.Fatal(err)
		}
		if err := a.Validate(state); err != nil {
			t.Errorf("%v: %v", c, err)
		}
	})
}
