package main

import (
	"testing"

	"github.com/yardmaster/yardmaster/agent/heuristic"
)

// FuzzDecodeState: a state that is taken is one that policies can decide.
func FuzzDecodeState(f *testing.F) {
	f.Add(string(exampleState))
	f.Add(`{"cluster":{"types":[{"name":"V100"}],"nodes":[{"type":0,"gpus":1}]},"round_length_ns":1,"jobs":[]}`)
	f.Add(`{"schema":"yardmaster.state.v1"}`)
	f.Add(`{"schema":1}`)
	f.Fuzz(func(t *testing.T, text string) {
		s, err := decodeState([]byte(text))
		if err != nil {
			return
		}
		p, err := heuristic.NewTwoStage(heuristic.DensityConfig{})
		if err != nil {
			t.Fatal(err)
		}
		a, err := p.Decide(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		if err := a.Validate(s); err != nil {
			t.Error(err)
		}
	})
}
