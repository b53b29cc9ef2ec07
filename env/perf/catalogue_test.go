package perf

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yardmaster/yardmaster/env"
)

func TestDefaultNames(t *testing.T) {
	c := Default()
	gpus := []string{
		"A10", "A100-40", "A100-80", "A800", "B200", "GH200", "H100", "H200", "K80", "L4", "MI300X", "P100",
		"QuadroRTX5000", "RTX2080", "RTX2080Ti", "RTX3090", "T4", "TitanRTX", "V100", "V100-32",
	}
	if diff := cmp.Diff(gpus, c.GPUNames()); diff != "" {
		t.Errorf("GPU types (-want +got):\n%s", diff)
	}
	models := []string{
		"A3C", "BERT-base", "BERT-base-128", "BERT-large", "CycleGAN", "DeepSpeech2", "GPT-2", "GPT-2-small", "GPT-Neo-2.7B", "Inception-v3", "LLaMA-3-8B", "LLaMA-30B", "LLaMA-7B",
		"LM", "NCF", "OPT-30B", "OPT-350M", "Recommendation", "ResNet-18", "ResNet-50", "ResNet-50-CIFAR", "T5-1.2B", "T5-3B", "T5-large", "Transformer",
		"VGG16", "ViT-base", "ViT-large", "YOLOv3",
	}
	if diff := cmp.Diff(models, c.ModelNames()); diff != "" {
		t.Errorf("models (-want +got):\n%s", diff)
	}
}

// Restarts of the whole catalogue stay in the range that Sia reports, the
// checkpoint's way through the file system on top.
func TestDefaultRestart(t *testing.T) {
	c := Default()
	for _, name := range c.ModelNames() {
		m, _ := c.Model(name)
		g, _ := c.GPU("H100")
		if m.RestartS < 25 || m.RestartS > 250 {
			t.Errorf("%s sets up in %v s, want 25 to 250", name, m.RestartS)
		}
		way := 2 * m.CheckpointBytes() / 2e9 // written and read
		if s := m.Restart(g).Seconds(); math.Abs(s-m.RestartS-way) > 1e-3 {
			t.Errorf("%s restarts in %v s, want %v and the checkpoint's %v", name, s, m.RestartS, way)
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
		{"two documents", tinyGPU + "\n---\n" + tinyModel, []string{"2 YAML documents"}},
		{"not YAML", "gpus: [", nil},
		{"binary", "\x00\x01\x02", nil},
		{"twice", tinyModel + strings.TrimPrefix(tinyModel, "\nmodels:\n"), []string{`"Perceptron" occurs twice`}},
		{"no name", strings.Replace(tinyModel, "Perceptron", `""`, 1), []string{"name"}},
		{"a name of two", strings.Replace(tinyModel, "Perceptron", `"A,B"`, 1), []string{`model "A,B": name is "A,B", want 1 to 256 bytes without , and =`}},
		{"a name with a number", strings.Replace(tinyModel, "Perceptron", `A=4`, 1), []string{`name is "A=4"`}},
		{"a name with space", strings.Replace(tinyModel, "Perceptron", `"A "`, 1), []string{`name is "A "`}},
		{"a long name", strings.Replace(tinyModel, "Perceptron", strings.Repeat("A", 257), 1), []string{`name is "AAAA`}},
		{"all problems", strings.Replace(strings.Replace(tinyModel, "0.5", "1.5", 1), "[1, 8]", "[8, 1]", 1), []string{"efficiency is 1.5", "batches[1] is 1"}},
		{"not a number", strings.Replace(tinyGPU, "memory_gib: 1", "memory_gib: .nan", 1), []string{"memory_gib is NaN"}},
		{"infinite", strings.Replace(tinyGPU, "memory_gb_s: 10", "memory_gb_s: .inf", 1), []string{"memory_gb_s is +Inf"}},
		{"negative", strings.Replace(tinyGPU, "kernel_us: 100", "kernel_us: -1", 1), []string{"kernel_us is -1"}},
		{"price of nobody", tinyGPU + "    price_per_hour: 1\n", []string{"price_source"}},
		{"pipeline of unknown size", tinyModel + "    layers: 4\n    max_pipeline: 4\n", []string{"hidden and sequence"}},
		{"more stages than layers", tinyModel + "    max_pipeline: 4\n    hidden: 8\n    sequence: 8\n", []string{"max_pipeline is 4"}},
		{"unknown precision", tinyModel + "    precision: int8\n", []string{"int8"}},
		{"prior beyond a fraction", strings.Replace(tinyModel, "    batches", "    prior: {efficiency: 2}\n    batches", 1), []string{"prior.efficiency is 2"}},
		{"prior of a GPU", tinyGPU + "    prior: {link_efficiency: .nan, kernel_us: -1}\n", []string{"prior.link_efficiency is NaN", "prior.kernel_us is -1"}},
		{"unknown prior", tinyGPU + "    prior: {price: 1}\n", []string{"price"}},
		{"host of nothing", tinyGPU + "    host_gib: -1\n    host_link_gb_s: .inf\n", []string{"host_gib is -1", "host_link_gb_s is +Inf"}},
		{"network beyond its rate", tinyGPU + "    network_efficiency: 1.1\n", []string{"network_efficiency is 1.1"}},
		{"gradients of no size", tinyModel + "    gradient_bytes: -4\n", []string{"gradient_bytes is -4"}},
		{"number out of range", strings.Replace(tinyModel, "0.5", "1e999", 1), nil},
		{"alias bomb", "a: &a [x, x, x, x, x, x, x, x, x]\n" + bomb('a', 'i'), nil},
		{"merge key of itself", "gpus:\n  - &a {name: x, <<: *a}\n", nil},
		{"deep", "gpus: " + strings.Repeat("[", 1000), []string{"deeper than 8"}},
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

// bomb nests anchors: each is nine of the one before.
func bomb(first, last byte) string {
	var b strings.Builder
	for c := first + 1; c <= last; c++ {
		fmt.Fprintf(&b, "%c: &%c [%s]\n", c, c, strings.TrimSuffix(strings.Repeat("*"+string(rune(c-1))+", ", 9), ", "))
	}
	return b.String()
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

// What was fitted to measurements is forgotten, the rest stays.
func TestUnfitted(t *testing.T) {
	c := Default()
	u := c.Unfitted()
	for name, want := range map[string]float64{"ResNet-50": 0.5, "LLaMA-7B": 0.55, "VGG16": 0.5} {
		if m, _ := u.Model(name); m.Efficiency != want {
			t.Errorf("%s has efficiency %v, want %v", name, m.Efficiency, want)
		}
	}
	if m, _ := u.Model("A3C"); m.InputRate != 0 || m.HostMS != 5 {
		t.Errorf("A3C has input rate %v and %v ms on the host, want no limit and 5", m.InputRate, m.HostMS)
	}
	if g, _ := u.GPU("K80"); g.KernelUS != 12 || g.LinkEfficiency != 0.35 || g.Achievable != 0.8 || g.MemoryGBs != 240 {
		t.Errorf("got %+v", *g)
	}
	if g, _ := c.GPU("K80"); g.KernelUS != 27 {
		t.Errorf("the catalogue itself forgot: kernel_us is %v", g.KernelUS)
	}
	if diff := cmp.Diff(u.gpus, u.Unfitted().gpus); diff != "" {
		t.Errorf("forgetting twice (-once +twice):\n%s", diff)
	}
}

// Every figure that the comments of the catalogue mark as fitted has a prior.
func TestFittedFiguresHavePriors(t *testing.T) {
	for name, data := range map[string][]byte{"gpus.yaml": gpusYAML, "models.yaml": modelsYAML} {
		entries := strings.Split(string(data), "  - name: ")
		for _, e := range entries[1:] {
			fitted := strings.Contains(e, "# [fit]") || strings.Contains(e, "# [titan]") || strings.Contains(e, "# [rubick]")
			if has := strings.Contains(e, "\n    prior: {"); fitted && !has {
				t.Errorf("%s: %s is fitted and has no prior", name, e[:strings.Index(e, "\n")])
			}
		}
	}
}
