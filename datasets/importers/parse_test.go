package importers

import (
	"testing"
	"time"

	"github.com/yardmaster/yardmaster/env/perf"
)

func TestParseSeconds(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"0": 0, "66": 66 * time.Second, "66.0": 66 * time.Second, "0.25": 250 * time.Millisecond, "1e3": 1000 * time.Second,
		"3153600000": 100 * 365 * 24 * time.Hour,
	} {
		if got, ok := ParseSeconds(text); !ok || got != want {
			t.Errorf("%s: got %v, %t, want %v", text, got, ok, want)
		}
	}
	for _, text := range []string{"", "-1", "NaN", "Inf", "1e300", "3153600001", "1:00", "x"} {
		if got, ok := ParseSeconds(text); ok {
			t.Errorf("%q was read as %v", text, got)
		}
	}
}

func TestParseGPUs(t *testing.T) {
	for text, want := range map[string]int32{"0": 0, "8": 8, "8.0": 8, "1000000": 1_000_000} {
		if got, ok := ParseGPUs(text); !ok || got != want {
			t.Errorf("%s: got %d, %t, want %d", text, got, ok, want)
		}
	}
	for _, text := range []string{"", "-1", "0.5", "NaN", "1000001", "1e9", "four"} {
		if got, ok := ParseGPUs(text); ok {
			t.Errorf("%q was read as %d", text, got)
		}
	}
	if got, ok := ParseShare("0.5"); !ok || got != 0.5 {
		t.Errorf("got %g, %t, want half a GPU", got, ok)
	}
}

// A name that the catalogue does not know would make a table that cannot be
// resolved.
func TestGPUTypesAreThoseOfTheCatalogue(t *testing.T) {
	catalogue := perf.Default()
	for from, to := range gpuTypes {
		if _, ok := catalogue.GPU(to); !ok {
			t.Errorf("%s becomes %s, which is not in the catalogue", from, to)
		}
	}
	for _, own := range catalogue.GPUNames() {
		if got, ok := GPUType(own); !ok || got != own {
			t.Errorf("the catalogue's %s becomes %q", own, got)
		}
	}
	for from, want := range map[string]string{"V100M16": "V100", "V100M32": "V100-32", "tesla": "", "a100": "", "MISC": "", "G2": "", "nvidia_geforce_rtx_3090": "RTX3090", "": ""} {
		if got, _ := GPUType(from); got != want {
			t.Errorf("%q becomes %q, want %q", from, got, want)
		}
	}
}
