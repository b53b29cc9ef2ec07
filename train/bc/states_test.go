package bc

import (
	"context"
	"encoding/json"
	"reflect"
	"testing"

	"github.com/yardmaster/yardmaster/agent"
	"github.com/yardmaster/yardmaster/env"
)

// witness is a teacher that keeps what it saw and said, as a log would.
type witness struct {
	agent.Policy
	states      []*env.State
	allocations []env.Allocation
}

func (w *witness) Decide(ctx context.Context, s *env.State) (env.Allocation, error) {
	a, err := w.Policy.Decide(ctx, s)
	if err != nil {
		return nil, err
	}
	raw, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	kept := new(env.State)
	if err := json.Unmarshal(raw, kept); err != nil {
		return nil, err
	}
	w.states, w.allocations = append(w.states, kept), append(w.allocations, a)
	return a, nil
}

// What was recorded as states and allocations teaches exactly what the teacher would
// have in the environment.
func TestFromStatesEqualsRecord(t *testing.T) {
	cfg := all(t, 5)
	w := &witness{Policy: cfg.Teacher}
	cfg.Teacher = w
	want := record(t, cfg)
	got, skipped, err := FromStates(w.states, w.allocations, cfg.Order)
	if err != nil {
		t.Fatal(err)
	}
	if skipped != len(w.states)-len(want) || len(got) != len(want) {
		t.Fatalf("got %d demonstrations and %d skipped of %d states, want %d", len(got), skipped, len(w.states), len(want))
	}
	for i := range want {
		if !reflect.DeepEqual(got[i], want[i]) {
			t.Fatalf("demonstration %d: got %+v, want %+v", i, got[i], want[i])
		}
	}
	w.allocations[0] = nil
	if _, again, err := FromStates(w.states, w.allocations, cfg.Order); err != nil || again != skipped+1 {
		t.Errorf("without an allocation: got %d skipped, %v, want %d", again, err, skipped+1)
	}
	w.allocations[1] = env.Allocation{99}
	if _, _, err := FromStates(w.states, w.allocations, cfg.Order); err == nil {
		t.Error("an allocation that does not fit: got no error")
	}
	if _, _, err := FromStates(w.states, nil, cfg.Order); err == nil {
		t.Error("other numbers: got no error")
	}
}
