package perf

import (
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yardmaster/yardmaster/env"
)

func TestDefaultNames(t *testing.T) {
	c := Default()
	gpus := []string{"A10", "A100-40", "A100-80", "A800", "B200", "H100", "H200", "K80", "L4", "MI300X", "P100", "RTX2080Ti", "RTX3090", "T4", "V100"}
	if diff := cmp.Diff(gpus, c.GPUNames()); diff != "" {
		t.Errorf("GPU types (-want +got):\n%s", diff)
	}
	models := []string{"A3C", "BERT-base", "BERT-large", "CycleGAN", "GPT-2", "LLaMA-7B", "LM", "Recommendation", "ResNet-18", "ResNet-50", "T5-large", "Transformer", "ViT-base"}
	if diff := cmp.Diff(models, c.ModelNames()); diff != "" {
		t.Errorf("models (-want +got):\n%s", diff)
	}
}

// Restarts of the whole catalogue stay in the range that Sia reports, the
// checkpoint's way to a slow network on top.
func TestDefaultRestart(t *testing.T) {
	c := Default()
	for _, name := range c.ModelNames() {
		m, _ := c.Model(name)
		g, _ := c.GPU("H100")
		if s := m.Restart(g).Seconds(); s < 25 || s > 350 {
			t.Errorf("%s restarts in %v s, want 25 to 350", name, s)
		}
	}
}

// Every entry of the embedded files stands below a comment that says where its
// figures come from.
func TestDefaultHasSources(t *testing.T) {
	for name, data := range map[string][]byte{"gpus.yaml": gpusYAML, "models.yaml": modelsYAML} {
		lines := strings.Split(string(data), "\n")
		entries := 0
		for i, line := range lines {
			if !strings.HasPrefix(line, "  - name:") {
				continue
			}
			entries++
			if !strings.HasPrefix(lines[i-1], "  #") {
				t.Errorf("%s:%d: %s has no source above it", name, i+1, strings.TrimSpace(line))
			}
		}
		if entries < 10 {
			t.Errorf("%s: found %d entries, want them all", name, entries)
		}
	}
}

func TestDefaultReturnsCopies(t *testing.T) {
	c := Default()
	if err := c.Extend(strings.NewReader(tinyGPU), "tiny.yaml"); err != nil {
		t.Fatal(err)
	}
	if _, ok := Default().GPU("Tiny"); ok {
		t.Error("extending one catalogue changed the next Default()")
	}
	g, _ := c.GPU("Tiny")
	g.MemoryGiB = 0
	if again, _ := c.GPU("Tiny"); again.MemoryGiB != 1 {
		t.Error("changing a GPU that was returned changed the catalogue")
	}
}

const tinyGPU = `
gpus:
  - name: Tiny
    memory_gib: 1
    peak_tflops: {fp32: 1}
    memory_gb_s: 10
    kernel_us: 100
    link_gb_s: 1
    network_gbit_s: 1
`

const tinyModel = `
models:
  - name: Perceptron
    forward_gflops: 0.001
    parameters_m: 0.1
    efficiency: 0.5
    batches: [1, 8]
`

func TestExtend(t *testing.T) {
	c := Default()
	if err := c.Extend(strings.NewReader(tinyGPU+tinyModel), "tiny.yaml"); err != nil {
		t.Fatal(err)
	}
	p, err := New(Config{Catalogue: c})
	if err != nil {
		t.Fatal(err)
	}
	// 8 samples × 3 × 1 MFLOP at half of 1 TFLOP/s: 48 µs; the optimizer moves
	// 100,000 × 12 bytes at 10 GB/s: 120 µs.
	got, err := p.Throughput("Perceptron", 8, "Tiny", 1, 1)
	if want := 1 / (48e-6 + 120e-6); err != nil || !near(got, want) {
		t.Errorf("got %v steps/s, %v, want %v", got, err, want)
	}
	replaced := strings.Replace(tinyGPU, "memory_gib: 1", "memory_gib: 2", 1)
	if err := c.Extend(strings.NewReader(replaced), "again.yaml"); err != nil {
		t.Fatal(err)
	}
	if g, _ := c.GPU("Tiny"); g.MemoryGiB != 2 {
		t.Errorf("a second entry left memory at %v GiB, want 2", g.MemoryGiB)
	}
}

func TestExtendRefuses(t *testing.T) {
	tests := []struct {
		name, text string
		want       []string // parts of the message
	}{
		{"unknown key", strings.Replace(tinyGPU, "kernel_us", "kernel_ms", 1), []string{"kernel_ms"}},
		{"unknown section", "gpu: []", []string{"gpu"}},
		{"wrong type", strings.Replace(tinyGPU, "memory_gib: 1", "memory_gib: much", 1), []string{"[4:17]"}},
		{"empty", "", []string{"empty"}},
		{"no entries", "gpus: []", []string{"no gpus"}},
		{"two documents", tinyGPU + "\n---\n" + tinyModel, []string{"more than one"}},
		{"not YAML", "gpus: [", nil},
		{"binary", "\x00\x01\x02", nil},
		{"twice", tinyModel + strings.TrimPrefix(tinyModel, "\nmodels:\n"), []string{`"Perceptron" occurs twice`}},
		{"no name", strings.Replace(tinyModel, "Perceptron", `""`, 1), []string{"name"}},
		{"all problems", strings.Replace(strings.Replace(tinyModel, "0.5", "1.5", 1), "[1, 8]", "[8, 1]", 1), []string{"efficiency is 1.5", "batches[1] is 1"}},
		{"not a number", strings.Replace(tinyGPU, "memory_gib: 1", "memory_gib: .nan", 1), []string{"memory_gib is NaN"}},
		{"infinite", strings.Replace(tinyGPU, "memory_gb_s: 10", "memory_gb_s: .inf", 1), []string{"memory_gb_s is +Inf"}},
		{"negative", strings.Replace(tinyGPU, "kernel_us: 100", "kernel_us: -1", 1), []string{"kernel_us is -1"}},
		{"price of nobody", tinyGPU + "    price_per_hour: 1\n", []string{"price_source"}},
		{"pipeline of unknown size", tinyModel + "    layers: 4\n    max_pipeline: 4\n", []string{"hidden and sequence"}},
		{"more stages than layers", tinyModel + "    max_pipeline: 4\n    hidden: 8\n    sequence: 8\n", []string{"max_pipeline is 4"}},
		{"unknown precision", tinyModel + "    precision: int8\n", []string{"int8"}},
		{"deep", "gpus: " + strings.Repeat("[", 1000), []string{"deeper than 16"}},
		{"too long", strings.Repeat("#", MaxFileSize+1), []string{"more than"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := Default()
			err := c.Extend(strings.NewReader(tt.text), "bad.yaml")
			if err == nil {
				t.Fatal("got no error")
			}
			for _, part := range append(tt.want, "perf: bad.yaml: ") {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("error %q does not mention %q", err, part)
				}
			}
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("error %q has more than one line", err)
			}
			if diff := cmp.Diff(Default().gpus, c.gpus); diff != "" {
				t.Errorf("the catalogue changed (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(Default().models, c.models); diff != "" {
				t.Errorf("the catalogue changed (-want +got):\n%s", diff)
			}
		})
	}
}

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, errors.New("disk on fire") }

func TestExtendReportsTheReader(t *testing.T) {
	err := Default().Extend(brokenReader{}, "x.yaml")
	if err == nil || !strings.Contains(err.Error(), "x.yaml: disk on fire") {
		t.Errorf("got %v, want it to name the file and the cause", err)
	}
}

// Whatever a file says, it is refused whole, or every answer from it is a
// valid strategy or a typed error.
func FuzzExtend(f *testing.F) {
	f.Add([]byte(tinyGPU + tinyModel))
	f.Add(gpusYAML)
	f.Add(modelsYAML)
	f.Add([]byte("gpus: [null]"))
	f.Add([]byte("gpus: &a [*a]"))
	f.Fuzz(func(t *testing.T, data []byte) {
		c := &Catalogue{}
		if err := c.Extend(strings.NewReader(string(data)), "fuzz"); err != nil {
			if len(c.gpus)+len(c.models) > 0 {
				t.Fatalf("refused, but %d GPU types and %d models stayed", len(c.gpus), len(c.models))
			}
			return
		}
		if err := errors.Join(extendOnce(c, tinyGPU), extendOnce(c, tinyModel)); err != nil {
			t.Fatal(err)
		}
		p, err := New(Config{Catalogue: c})
		if err != nil {
			t.Fatal(err)
		}
		for _, g := range c.GPUNames() {
			cluster := env.Cluster{Types: []env.GPUType{{Name: g}}, Nodes: []env.Node{{GPUs: 4}, {GPUs: 4}}}
			for _, m := range c.ModelNames() {
				s, err := p.Strategies(&env.Job{Model: m, Batch: 3, GPUs: 4}, &cluster)
				if err != nil && !errors.Is(err, ErrNoStrategy) {
					t.Fatalf("%s on %s: %v", m, g, err)
				}
				for i := range s {
					if err := s[i].Validate(&cluster); err != nil {
						t.Fatalf("%s on %s: %v", m, g, err)
					}
				}
			}
		}
	})
}

// extendOnce adds the entries of text unless their names are taken.
func extendOnce(c *Catalogue, text string) error {
	names := slices.Concat(c.GPUNames(), c.ModelNames())
	if slices.ContainsFunc(names, func(n string) bool { return strings.Contains(text, "name: "+n+"\n") }) {
		return nil
	}
	var r io.Reader = strings.NewReader(text)
	return c.Extend(r, "seed")
}

// near reports whether a and b agree to nine digits.
func near(a, b float64) bool { return a == b || (a-b)*(a-b) <= 1e-18*b*b }
