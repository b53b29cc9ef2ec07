package wire

import (
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/yardmaster/yardmaster/env"
)

// The independent checker and the contract's own agree on every allocation.
func TestCheckAgreesWithValidate(t *testing.T) {
	valid, invalid := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		s := drawState(t)
		a := env.NewAllocation(len(s.State.Jobs))
		for i := range a {
			a[i] = rapid.IntRange(env.Idle, len(s.State.Jobs[i].Strategies)).Draw(t, "strategy")
		}
		m := NewAllocation(s, a)
		want := a.Validate(&s.State)
		got := m.Check(s.Key(), &s.State)
		if (got == nil) != (want == nil) {
			t.Fatalf("Check: %v, Validate: %v, for %v in %+v", got, want, a, s.State)
		}
		if want != nil {
			invalid++
			return
		}
		valid++
		if diff := cmp.Diff(a, m.Allocation(&s.State)); diff != "" {
			t.Fatalf("message to allocation (-want +got):\n%s", diff)
		}
		slices.Reverse(m.Picks)
		if diff := cmp.Diff(a, m.Allocation(&s.State)); diff != "" {
			t.Fatalf("picks in another order (-want +got):\n%s", diff)
		}
	})
	if valid == 0 || invalid == 0 {
		t.Errorf("drew %d valid and %d invalid allocations, want both", valid, invalid)
	}
}

func TestCheckRefuses(t *testing.T) {
	s, err := DecodeState([]byte(committedState(t)))
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name   string
		change func(*Allocation)
		code   Code
		path   string
	}{
		{"unknown job", func(a *Allocation) { a.Picks[0].Job = 99 }, CodeInvalid, "allocation[0]"},
		{"job twice", func(a *Allocation) { a.Picks = append(a.Picks, a.Picks[0]) }, CodeInvalid, "allocation[2]"},
		{"no such strategy", func(a *Allocation) { a.Picks[1].Strategy = 2 }, CodeInvalid, "allocation[1]"},
		{"negative strategy", func(a *Allocation) { a.Picks[1].Strategy = -1 }, CodeInvalid, "allocation[1]"},
		{"over capacity", func(a *Allocation) { a.Picks[1].Strategy = 0 }, CodeInvalid, "allocation"},
		{"another cluster", func(a *Allocation) { a.Cluster = "other" }, CodeConflict, "id"},
		{"another epoch", func(a *Allocation) { a.Epoch++ }, CodeConflict, "id"},
		{"another state", func(a *Allocation) { a.StateSeq-- }, CodeConflict, "id"},
		{"another id", func(a *Allocation) { a.ID = "x" }, CodeConflict, "id"},
	}
	for _, test := range tests {
		a := NewAllocation(s, env.Allocation{0, 1})
		if err := a.Check(s.Key(), &s.State); err != nil {
			t.Fatal(err)
		}
		test.change(a)
		err := a.Check(s.Key(), &s.State)
		if refusal, ok := errors.AsType[*Error](err); !ok || refusal.Code != test.code || refusal.Path != test.path {
			t.Errorf("%s: got %v, want %v at %q", test.name, err, test.code, test.path)
		}
	}
}

func BenchmarkState(b *testing.B) {
	s, err := DecodeState([]byte(committedState(b)))
	if err != nil {
		b.Fatal(err)
	}
	job := s.State.Jobs[0]
	for len(job.Strategies) < 9 {
		job.Strategies = append(job.Strategies, job.Strategies[0])
	}
	s.State.Jobs = nil
	for i := range 50 {
		job.ID = int64(i)
		s.State.Jobs = append(s.State.Jobs, job)
	}
	data, err := Encode(s)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("encode", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		b.ReportAllocs()
		for b.Loop() {
			if _, err := Encode(s); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("decode", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		b.ReportAllocs()
		for b.Loop() {
			if _, err := DecodeState(data); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("peek", func(b *testing.B) {
		for b.Loop() {
			if _, err := PeekState(data); err != nil {
				b.Fatal(err)
			}
		}
	})
}
