package env

import (
	"math"
	"strings"
	"testing"
)

func tiresias() Configuration {
	return Configuration{Scheduler: "tiresias", Knobs: []Knob{{"promote", []float64{8}}, {"thresholds", []float64{3600, 7200}}}}
}

func TestConfigurationReadsItsKnobs(t *testing.T) {
	c := tiresias()
	if err := c.Validate(); err != nil {
		t.Fatal(err)
	}
	if v, ok := c.Knob("thresholds"); !ok || len(v) != 2 || v[1] != 7200 {
		t.Errorf("thresholds: got %v, %v", v, ok)
	}
	if _, ok := c.Knob("lease"); ok {
		t.Error("lease: got a knob that is not there")
	}
	if got, want := c.String(), "tiresias(promote=8 thresholds=3600,7200)"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestConfigurationEqual(t *testing.T) {
	c, d := tiresias(), tiresias()
	if !c.Equal(d) {
		t.Error("equal configurations differ")
	}
	d.Knobs[1].Values = []float64{3600, 7201}
	if c.Equal(d) {
		t.Error("configurations with other thresholds are equal")
	}
}

func TestConfigurationValidate(t *testing.T) {
	tests := map[string]struct {
		spoil func(*Configuration)
		want  string
	}{
		"no scheduler":   {func(c *Configuration) { c.Scheduler = "" }, "scheduler is empty"},
		"knob twice":     {func(c *Configuration) { c.Knobs[1].Name = "promote" }, "ascending"},
		"not a number":   {func(c *Configuration) { c.Knobs[0].Values[0] = math.NaN() }, "NaN"},
		"endless vector": {func(c *Configuration) { c.Knobs[1].Values = make([]float64, 65) }, "65 values"},
		"endless knobs":  {func(c *Configuration) { c.Knobs = make([]Knob, 65) }, "65 knobs"},
	}
	for name, tt := range tests {
		c := tiresias()
		tt.spoil(&c)
		if err := c.Validate(); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got error %v, want one with %q", name, err, tt.want)
		}
	}
}
