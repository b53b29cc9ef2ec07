package tiny

import (
	"testing"

	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/envtest"
	"github.com/yardmaster/yardmaster/env/sim"
)

func TestEnvContract(t *testing.T) {
	for name, newEnv := range map[string]func() (env.Env, error){
		"bandit":   func() (env.Env, error) { return NewBandit(), nil },
		"identity": func() (env.Env, error) { return NewIdentity(), nil },
		"knapsack": func() (env.Env, error) { return NewKnapsack(), nil },
		"cluster":  func() (env.Env, error) { return sim.NewJobStrategy(Cluster(5)) },
	} {
		if err := envtest.Check(newEnv, []uint64{1, 2, 3}, 1000); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
