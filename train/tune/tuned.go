package tune

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/yardmaster/yardmaster/agent"
	"github.com/yardmaster/yardmaster/agent/heuristic"
	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/strictyaml"
)

// Tuned is a file of tuned heuristics.
type Tuned struct {
	Provenance Provenance    `yaml:"provenance"`
	Policies   []TunedPolicy `yaml:"policies"`
}

// Provenance says what the numbers were tuned on.
type Provenance struct {
	Trace       string   `yaml:"trace"`
	TraceHash   string   `yaml:"trace_hash"`
	Catalogue   string   `yaml:"catalogue_hash,omitempty"` // of the user's own GPU types and models
	Cluster     string   `yaml:"cluster"`
	GPUsPerNode int      `yaml:"gpus_per_node"`
	Load        float64  `yaml:"load"`
	Jobs        int      `yaml:"jobs"`                 // of an episode
	Models      []string `yaml:"models,omitempty"`     // that jobs were given in place of the trace's
	Strategies  string   `yaml:"strategies,omitempty"` // what the scheduler could choose among
	Round       string   `yaml:"round"`
	Knowledge   string   `yaml:"knowledge"`
	Part        string   `yaml:"part"` // of the trace
	Episodes    int      `yaml:"episodes"`
	Objective   string   `yaml:"objective"`
	Seed        uint64   `yaml:"seed"`
	Version     string   `yaml:"version"`            // of the program
	Revision    string   `yaml:"revision,omitempty"` // of its source
}

// TunedPolicy is a heuristic with its numbers.
type TunedPolicy struct {
	Scheduler   string      `yaml:"scheduler"`
	Knobs       []TunedKnob `yaml:"knobs"`
	Ratio       float64     `yaml:"ratio_to_default"` // of the objective, on the episodes
	Evaluations int         `yaml:"evaluations"`
}

// TunedKnob is one number.
type TunedKnob struct {
	Name  string  `yaml:"name"`
	Value float64 `yaml:"value"`
}

// Add appends f.
func (t *Tuned) Add(f *Fitted) {
	p := TunedPolicy{Scheduler: f.Configuration.Scheduler, Ratio: f.Ratio(), Evaluations: f.Evaluations}
	for _, k := range f.Configuration.Knobs {
		p.Knobs = append(p.Knobs, TunedKnob{k.Name, k.Values[0]})
	}
	t.Policies = append(t.Policies, p)
}

// Names lists the policies of t.
func (t *Tuned) Names() []string {
	names := make([]string, len(t.Policies))
	for i := range t.Policies {
		names[i] = t.Policies[i].Scheduler
	}
	return names
}

// Policy returns the policy with this name and its numbers.
func (t *Tuned) Policy(name string) (agent.Policy, error) {
	for i := range t.Policies {
		if t.Policies[i].Scheduler == name {
			return heuristic.FromConfiguration(t.Policies[i].Configuration())
		}
	}
	return nil, fmt.Errorf("tune: no tuned policy %q, have %s", name, strings.Join(t.Names(), ", "))
}

// Configuration returns p in the form that the scheduler takes.
func (p *TunedPolicy) Configuration() env.Configuration {
	c := env.Configuration{Scheduler: p.Scheduler}
	for _, k := range p.Knobs {
		c.Knobs = append(c.Knobs, env.Knob{Name: k.Name, Values: []float64{k.Value}})
	}
	slices.SortFunc(c.Knobs, func(a, b env.Knob) int { return strings.Compare(a.Name, b.Name) })
	return c
}

// Write writes t as YAML.
func (t *Tuned) Write(w io.Writer) error {
	data, err := yaml.Marshal(t)
	if err != nil {
		return fmt.Errorf("tune: write tuned policies: %w", err)
	}
	_, err = fmt.Fprintf(w, "# Written by yardmaster tune; bench, simulate and solve take it as NAME@FILE.\n%s", data)
	return err
}

// maxTuned bounds what is read of a file of tuned policies.
const maxTuned = 1 << 20

// ReadTuned reads what Write wrote, or was written by hand after it. Unknown keys,
// policies named twice, and numbers that a policy refuses are errors.
func ReadTuned(r io.Reader) (*Tuned, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxTuned+1))
	if err != nil {
		return nil, fmt.Errorf("tune: read tuned policies: %w", err)
	}
	if len(data) > maxTuned {
		return nil, fmt.Errorf("tune: more than %d bytes, want a file of yardmaster tune", maxTuned)
	}
	var t Tuned
	if err := strictyaml.Decode(data, &t); err != nil {
		return nil, fmt.Errorf("tune: read tuned policies: %w", err)
	}
	if len(t.Policies) == 0 {
		return nil, errors.New("tune: the file has no policies, want a file of yardmaster tune")
	}
	var errs []error
	for i := range t.Policies {
		p := &t.Policies[i]
		if slices.Contains(t.Names()[:i], p.Scheduler) {
			errs = append(errs, fmt.Errorf("tune: policies[%d]: %s is there twice", i, p.Scheduler))
		}
		if _, err := heuristic.FromConfiguration(p.Configuration()); err != nil {
			errs = append(errs, fmt.Errorf("tune: policies[%d]: %w", i, err))
		}
	}
	return &t, errors.Join(errs...)
}
