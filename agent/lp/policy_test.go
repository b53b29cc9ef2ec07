package lp

import (
	"testing"

	"github.com/yardmaster/yardmaster/agent"
	"github.com/yardmaster/yardmaster/agent/agenttest"
)

func registry() *agent.Registry {
	var r agent.Registry
	Register(&r)
	return &r
}

func TestContract(t *testing.T) {
	for _, e := range registry().Entries() {
		t.Run(e.Name, func(t *testing.T) {
			p, err := e.New()
			if err != nil {
				t.Fatal(err)
			}
			if err := agenttest.Check(p, []uint64{1, 2, 3, 4, 5}); err != nil {
				t.Error(err)
			}
		})
	}
}
