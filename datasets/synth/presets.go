package synth

import (
	"bytes"
	"embed"
	"fmt"
	"slices"
	"strings"
)

// Names of the presets that are workload files.
const (
	PresetPhilly = "philly-like" // many small jobs in bursts, after Microsoft's Philly cluster
	PresetLLM    = "llm"         // few large long jobs with 3D plans
)

//go:embed presets/*.yaml
var presetFiles embed.FS

// Presets returns the names of all presets, ascending.
func Presets() []string {
	names := []string{PresetGavel, PresetPhilly, PresetLLM}
	slices.Sort(names)
	return names
}

// PresetFile returns the workload file of a preset, with the sources of its
// figures in comments. The preset gavel has none: it is a rule, see [Generate].
func PresetFile(name string) ([]byte, error) {
	if name == PresetGavel {
		return nil, fmt.Errorf("synth: the preset %s is a rule and has no workload file", name)
	}
	if !slices.Contains(Presets(), name) {
		return nil, fmt.Errorf("synth: the preset is %q, want one of %s", name, strings.Join(Presets(), ", "))
	}
	return presetFiles.ReadFile("presets/" + name + ".yaml")
}

// PresetModel returns the model of a preset other than gavel.
func PresetModel(name string) (*Model, error) {
	data, err := PresetFile(name)
	if err != nil {
		return nil, err
	}
	return ReadModel(bytes.NewReader(data), "preset "+name)
}
