package synth

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yardmaster/yardmaster/datasets"
)

// The fit and what it generates do not depend on what is held out.
func TestFitHoldoutSeesNothingOfTheWindow(t *testing.T) {
	j := known(1, 60*day, map[string]process{"a": bursts(poisson(1), 5), "b": poisson(2)})
	cfg := HoldoutConfig{From: 50 * day, Seeds: 3}
	m, h, err := FitHoldout(j, cfg)
	if err != nil {
		t.Fatal(err)
	}
	other := &datasets.Jobs{Name: j.Name, Meta: j.Meta, Rows: slices.Clone(j.Rows)}
	for i := range other.Rows {
		if other.Rows[i].Submit >= 50*day {
			other.Rows[i].Duration, other.Rows[i].GPUs, other.Rows[i].Tenant = 1, 512, "c"
		}
	}
	m2, h2, err := FitHoldout(other, cfg)
	if err != nil {
		t.Fatal(err)
	}
	m.Source.Table, m2.Source.Table = "", ""
	if !bytes.Equal(m.Encode(), m2.Encode()) {
		t.Error("the model depends on what was held out")
	}
	if cmp.Equal(h, h2) {
		t.Error("the judgement does not depend on what was held out")
	}
}

// On a stationary workload the model is as close as the part before the window, or
// closer: it draws on more jobs.
func TestHoldoutOfAStationaryWorkload(t *testing.T) {
	j := known(2, 100*day, map[string]process{"a": bursts(poisson(1), 4), "b": poisson(4)})
	_, h, err := FitHoldout(j, HoldoutConfig{From: 70 * day, Seeds: 10})
	if err != nil {
		t.Fatal(err)
	}
	if len(h.Measures) != len(figures) {
		t.Fatalf("%d measures, want %d", len(h.Measures), len(figures))
	}
	for _, m := range h.Measures[:3] {
		if m.Mean > m.Naive+0.02 || m.Mean > 0.05 {
			t.Errorf("%s: %v, the baseline has %v; want it no worse by 0.02 and at most 0.05", m.Name, m.Mean, m.Naive)
		}
	}
	for _, m := range h.Measures {
		if m.Low > m.Mean || m.Mean > m.High || m.Better < 0 || m.Better > 10 {
			t.Errorf("%+v: want low <= mean <= high", m)
		}
	}
	text := h.String()
	for _, f := range figures {
		if !strings.Contains(text, f.name) {
			t.Errorf("the table lacks %s:\n%s", f.name, text)
		}
	}
	if _, err := json.Marshal(h); err != nil {
		t.Error(err)
	}
}

func TestFitHoldoutRefuses(t *testing.T) {
	j := known(3, 20*day, map[string]process{"a": poisson(2)})
	for name, cfg := range map[string]HoldoutConfig{
		"empty":               {From: 10 * day, To: 10 * day},
		"beyond the end":      {From: 21 * day},
		"fit overlaps":        {From: 10 * day, Model: ModelConfig{From: 0, To: 12 * day}},
		"baseline overlaps":   {From: 10 * day, NaiveFrom: 5 * day, NaiveTo: 11 * day},
		"nothing before":      {From: 0, To: 5 * day},
		"too many seeds":      {From: 10 * day, Seeds: 100_000},
		"fewer than no seeds": {From: 10 * day, Seeds: -1},
	} {
		if _, _, err := FitHoldout(j, cfg); err == nil {
			t.Errorf("%s: got no error", name)
		}
	}
}

func TestBetween(t *testing.T) {
	j := known(4, 10*day, map[string]process{"a": poisson(2)})
	part := Between(j, 3*day, 5*day)
	n := 0
	for _, r := range j.Rows {
		if r.Submit >= 3*day && r.Submit < 5*day {
			n++
		}
	}
	if len(part.Rows) != n || part.Rows[0].Submit < 3*day || part.Rows[n-1].Submit >= 5*day {
		t.Errorf("%d rows between days 3 and 5, want %d", len(part.Rows), n)
	}
	if got := Between(j, 5*day, 3*day); len(got.Rows) != 0 {
		t.Errorf("%d rows in a window that ends before it begins, want 0", len(got.Rows))
	}
}
