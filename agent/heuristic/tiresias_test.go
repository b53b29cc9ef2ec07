package heuristic

import (
	"strings"
	"testing"
	"time"

	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/encode"
)

// TestKnobNames: the encoder reads knobs by the names that are used here.
func TestKnobNames(t *testing.T) {
	if thresholdsKnob != encode.KnobThresholds || promoteKnob != encode.KnobPromote {
		t.Errorf("knobs are %q and %q here, %q and %q to the encoder", thresholdsKnob, promoteKnob, encode.KnobThresholds, encode.KnobPromote)
	}
}

func newTiresias(t *testing.T, promote float64, thresholds ...float64) *Tiresias {
	t.Helper()
	p, err := NewTiresias(TiresiasConfig{Thresholds: thresholds, Promote: promote})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestTiresiasQueues(t *testing.T) {
	s := stateOf(
		served(running(4, 1, fast), 3600), // at the threshold: in the second queue
		served(running(4, 1, slow), 3599),
		served(waiting(4, 1), 100), // less service, but the same queue: behind job 2
	)
	t.Run("two queues", func(t *testing.T) { wantDecision(t, newTiresias(t, 0, 3600), s, idle, fast, slow) })
	t.Run("three queues", func(t *testing.T) { wantDecision(t, newTiresias(t, 0, 1000, 3600), s, idle, slow, fast) })
	t.Run("one queue is FIFO with preemption", func(t *testing.T) { wantDecision(t, newTiresias(t, 0), s, fast, slow, idle) })
}

func TestTiresiasPromotesTheStarving(t *testing.T) {
	state := func(waited time.Duration) *env.State {
		starving := served(waiting(4, 1), 7200)
		starving.Ran, starving.Waiting = 10*time.Minute, waited
		return stateOf(starving, served(running(4, 1, fast), 0), served(running(4, 1, slow), 0))
	}
	p := newTiresias(t, 2, 3600)
	wantDecision(t, p, state(20*time.Minute-time.Second), idle, fast, slow)
	wantDecision(t, p, state(20*time.Minute), fast, slow, idle)
	wantDecision(t, newTiresias(t, 0, 3600), state(40*time.Minute), idle, fast, slow)
}

func TestFromConfiguration(t *testing.T) {
	got, err := FromConfiguration(env.Configuration{Scheduler: "tiresias", Knobs: []env.Knob{{Name: "thresholds", Values: []float64{1000, 3600}}}})
	if err != nil {
		t.Fatal(err)
	}
	s := stateOf(served(running(4, 1, fast), 3600), served(running(4, 1, slow), 3599), served(waiting(4, 1), 100))
	wantDecision(t, got, s, idle, slow, fast)
}

func TestFromConfigurationErrors(t *testing.T) {
	for _, c := range []struct {
		name      string
		scheduler string
		knobs     []env.Knob
		want      []string
	}{
		{"unknown scheduler", "lottery", nil, []string{`unknown scheduler "lottery", want tiresias`}},
		{"unknown knob", "tiresias", []env.Knob{{Name: "colour"}}, []string{`unknown knob "colour"`}},
		{"everything at once", "tiresias", []env.Knob{
			{Name: "promote", Values: []float64{1, 2}},
			{Name: "thresholds", Values: []float64{7200, 3600}},
		}, []string{"promote has 2 values, want 1", "thresholds[1] is 3600 GPU-seconds, want finite and above 7200"}},
		{"negative", "tiresias", []env.Knob{
			{Name: "promote", Values: []float64{-1}},
			{Name: "thresholds", Values: []float64{-5}},
		}, []string{"promote is -1", "thresholds[0] is -5"}},
		{"order of knobs", "tiresias", []env.Knob{{Name: "thresholds"}, {Name: "promote"}}, []string{"ascending order"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := FromConfiguration(env.Configuration{Scheduler: c.scheduler, Knobs: c.knobs})
			for _, want := range c.want {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("got %v, want an error with %q", err, want)
				}
			}
		})
	}
}

func TestTiresiasConfigurations(t *testing.T) {
	list := TiresiasConfigurations()
	if len(list) != 24 {
		t.Errorf("got %d configurations, want 24", len(list))
	}
	if !list[0].Equal(TiresiasDefault()) {
		t.Errorf("the first is %v, want the default %v", list[0], TiresiasDefault())
	}
	queues := map[int]int{}
	for i, c := range list {
		if _, err := FromConfiguration(c); err != nil {
			t.Errorf("%v: %v", c, err)
		}
		for k := range i {
			if list[k].Equal(c) {
				t.Errorf("configurations %d and %d are both %v", k, i, c)
			}
		}
		thresholds, _ := c.Knob("thresholds")
		queues[len(thresholds)+1]++
		for _, x := range thresholds {
			if x < 300 || x > 1.3e6 {
				t.Errorf("%v: threshold %v is outside 300 to 1.3e6", c, x)
			}
		}
	}
	for k := 1; k <= 4; k++ {
		if queues[k] == 0 {
			t.Errorf("no configuration with %d queues", k)
		}
	}
}
