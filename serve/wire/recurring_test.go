package wire

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yardmaster/yardmaster/env"
)

// A state that is read again, or that shares arrays with others, is what it is
// when it is read for the first time; and one that only looks alike is not taken
// for it.
func TestRecurringArrays(t *testing.T) {
	text := committedState(t)
	first, err := DecodeState([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	again, err := DecodeState([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(first, again); diff != "" {
		t.Errorf("read again (-first +again):\n%s", diff)
	}
	strategies := again.State.Jobs[0].Strategies
	if cap(strategies) != len(strategies) {
		t.Errorf("got room for %d strategies beside the %d that are shared", cap(strategies)-len(strategies), len(strategies))
	}
	changed := *first
	changed.State.Jobs = slices.Clone(first.State.Jobs)
	changed.State.Jobs[0].Strategies = slices.Clone(strategies)
	changed.State.Jobs[0].Strategies[0].Throughput *= 2
	data, err := Encode(&changed)
	if err != nil {
		t.Fatal(err)
	}
	other, err := DecodeState(data)
	if err != nil {
		t.Fatal(err)
	}
	if cmp.Equal(first, other) {
		t.Error("another throughput was read as the one before")
	}
	for cut := range len(strings.TrimSpace(text)) {
		if _, err := DecodeState([]byte(text[:cut])); err == nil {
			t.Fatalf("cut after %d bytes, it was read", cut)
		}
	}
}

// What is remembered is bounded, whatever comes, and found by all goroutines.
func TestRecurringIsBounded(t *testing.T) {
	n := compile(reflect.TypeFor[[]env.Node]())
	var work sync.WaitGroup
	for g := range 4 {
		work.Go(func() {
			for i := range 500 {
				text := fmt.Sprintf(`[%s{"type":%d,"gpus":%d}]`, strings.Repeat(`{"type":0,"gpus":1},`, 500), g, i+1)
				v := reflect.New(reflect.TypeFor[[]env.Node]()).Elem()
				if err := decode([]byte(text), n, v); err != nil {
					t.Error(err)
					return
				}
				if last := v.Index(500).Field(1).Int(); last != int64(i+1) {
					t.Errorf("got %d GPUs, want %d", last, i+1)
				}
			}
		})
	}
	work.Wait()
	total := 0
	for text := range n.recurs.array {
		total += len(text)
	}
	if total != n.recurs.bytes || total > maxRecurringText || total == 0 {
		t.Errorf("got %d bytes of text, counted as %d, want 1 to %d", total, n.recurs.bytes, maxRecurringText)
	}
}
