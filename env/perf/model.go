package perf

import (
	"fmt"
	"time"
)

// Precision is the arithmetic of a training run. Runs in 16 bits and below
// keep weights in 16 bits and a master copy of them, like gradients, in 32.
type Precision string

// The precisions a catalogue may name. The zero value means FP32.
const (
	FP32 Precision = "fp32"
	TF32 Precision = "tf32" // float32 data, products in 19 bits where the hardware can
	FP16 Precision = "fp16"
	BF16 Precision = "bf16"
	FP8  Precision = "fp8"
)

// bytes returns the size of a weight and of an activation.
func (p Precision) bytes() float64 {
	if p == FP32 || p == TF32 {
		return 4
	}
	return 2
}

// master returns the size of the float32 copy of a weight, where p needs one.
func (p Precision) master() float64 {
	if p == FP32 || p == TF32 {
		return 0
	}
	return 4
}

func (p Precision) valid() bool {
	switch p {
	case FP32, TF32, FP16, BF16, FP8:
		return true
	}
	return false
}

// Model is a neural network and the way it is trained. A sample is what its
// batch size counts: an image, a sentence pair, a sequence of tokens, a user.
type Model struct {
	Name          string  `yaml:"name"`
	ForwardGFLOPs float64 `yaml:"forward_gflops"` // per sample; the backward pass costs twice that
	ParametersM   float64 `yaml:"parameters_m"`   // millions
	ActivationMiB float64 `yaml:"activation_mib"` // per sample, kept for the backward pass
	TrafficMiB    float64 `yaml:"traffic_mib"`    // per sample, moved to and from GPU memory, forward and backward
	Kernels       float64 `yaml:"kernels"`        // launched one after the other in a forward and backward pass
	// HostMS is the time of the host's own work in an iteration, ms, the same
	// beside every GPU: interpreter, collation of the batch, simulated worlds.
	HostMS float64 `yaml:"host_ms"`
	Layers int     `yaml:"layers"` // that can be cut into pipeline stages; 0 is 1
	// Hidden and Sequence size the activations between layers: what tensor and
	// pipeline parallelism send, and what checkpointing keeps. 0 where the model
	// knows neither.
	Hidden      int       `yaml:"hidden"`
	Sequence    int       `yaml:"sequence"`
	MaxTensor   int       `yaml:"max_tensor"`   // largest tensor-parallel degree; 0 is 1
	MaxPipeline int       `yaml:"max_pipeline"` // most pipeline stages; 0 is 1
	MaxGPUs     int       `yaml:"max_gpus"`     // most GPUs it can use; 0 is no limit
	Precision   Precision `yaml:"precision"`    // "" is fp32
	// OptimizerBytes is the optimizer's state per parameter without the master
	// copy: Adam 8, SGD with momentum 4, plain SGD 0.
	OptimizerBytes float64 `yaml:"optimizer_bytes"`
	// GradientBytes is the size of a gradient in memory and on the wire. 0 is 4:
	// also most runs in 16 bits add gradients up in float32, as automatic mixed
	// precision and Megatron-LM do.
	GradientBytes float64 `yaml:"gradient_bytes"`
	Efficiency    float64 `yaml:"efficiency"` // fraction of the GPU's achievable peak reached at large batches
	// Overlap is γ of Pollux: how much of the gradient exchange hides behind
	// computation, from 1 (nothing) up; 0 is 1.5.
	Overlap float64 `yaml:"overlap"`
	// InputRate is how many samples per second the host can load and prepare
	// for one worker; 0 is no limit.
	InputRate float64 `yaml:"input_rate"`
	RestartS  float64 `yaml:"restart_s"` // time to stop, start and set up again, without moving the checkpoint
	Batches   []int   `yaml:"batches"`   // usual batch sizes per worker, ascending
	// Prior is what is believed of the figures above that were fitted to
	// measurements, without those.
	Prior ModelPrior `yaml:"prior"`
}

// ModelPrior holds figures of a [Model] as they were before they were fitted to
// measurements; 0 where one was not fitted.
type ModelPrior struct {
	Efficiency    float64 `yaml:"efficiency"`
	Kernels       float64 `yaml:"kernels"`
	HostMS        float64 `yaml:"host_ms"`
	Overlap       float64 `yaml:"overlap"`
	ActivationMiB float64 `yaml:"activation_mib"`
	TrafficMiB    float64 `yaml:"traffic_mib"`
	InputRate     float64 `yaml:"input_rate"` // -1 is no limit
}

// unfitted returns m with its fitted figures as they were before.
func (m Model) unfitted() Model {
	p := &m.Prior
	for _, f := range [...]struct {
		x     *float64
		prior float64
	}{
		{&m.Efficiency, p.Efficiency},
		{&m.Kernels, p.Kernels},
		{&m.HostMS, p.HostMS},
		{&m.Overlap, p.Overlap},
		{&m.ActivationMiB, p.ActivationMiB},
		{&m.TrafficMiB, p.TrafficMiB},
		{&m.InputRate, p.InputRate},
	} {
		if f.prior != 0 {
			*f.x = max(f.prior, 0)
		}
	}
	return m
}

// CheckpointBytes returns the size of a checkpoint: weights, master copy and
// optimizer state.
func (m *Model) CheckpointBytes() float64 {
	return m.ParametersM * 1e6 * (m.Precision.bytes() + m.Precision.master() + m.OptimizerBytes)
}

// maxOverlap bounds Model.Overlap: beyond, nothing more is hidden.
const maxOverlap = 10

const (
	// storageBandwidth is what one job gets out of a cluster's file system,
	// bytes/s (estimate; a few Lustre or NVMe servers give one client as much).
	storageBandwidth = 2e9
	// longestRestart bounds Restart, whatever a catalogue says.
	longestRestart = 30 * 24 * time.Hour
)

// Restart returns the time lost when a job of m starts or moves on GPUs of
// type g: its fixed part, and the checkpoint written once and read once
// through one network adapter and the cluster's file system.
func (m *Model) Restart(g *GPU) time.Duration {
	s := m.RestartS + 2*m.CheckpointBytes()/min(networkBandwidth(g, 1), storageBandwidth)
	s = min(s, longestRestart.Seconds())
	return time.Duration(s * float64(time.Second)).Round(time.Millisecond)
}

func (m *Model) fillDefaults() {
	if m.Precision == "" {
		m.Precision = FP32
	}
	if m.Overlap == 0 {
		m.Overlap = 1.5
	}
	if m.GradientBytes == 0 {
		m.GradientBytes = 4
	}
	m.Layers = max(m.Layers, 1)
	m.MaxTensor = max(m.MaxTensor, 1)
	m.MaxPipeline = max(m.MaxPipeline, 1)
}

func (m *Model) validate() error {
	var c checks
	c.positive("forward_gflops", m.ForwardGFLOPs)
	c.positive("parameters_m", m.ParametersM)
	c.atLeastZero("activation_mib", m.ActivationMiB)
	c.atLeastZero("traffic_mib", m.TrafficMiB)
	c.atLeastZero("kernels", m.Kernels)
	c.atLeastZero("host_ms", m.HostMS)
	c.fraction("efficiency", m.Efficiency)
	c.atLeastZero("optimizer_bytes", m.OptimizerBytes)
	c.positive("gradient_bytes", m.GradientBytes)
	c.atLeastZero("input_rate", m.InputRate)
	c.atLeastZero("restart_s", m.RestartS)
	c.whole("layers", m.Layers, 1)
	c.whole("hidden", m.Hidden, 0)
	c.whole("sequence", m.Sequence, 0)
	c.whole("max_tensor", m.MaxTensor, 1)
	c.whole("max_pipeline", m.MaxPipeline, 1)
	c.whole("max_gpus", m.MaxGPUs, 0)
	if !m.Precision.valid() {
		c.add("precision", m.Precision, "fp32, tf32, fp16, bf16 or fp8")
	}
	if !(m.Overlap >= 1 && m.Overlap <= maxOverlap) {
		c.add("overlap", m.Overlap, "1 to 10")
	}
	if m.MaxPipeline > m.Layers {
		c.add("max_pipeline", m.MaxPipeline, fmt.Sprintf("at most layers (%d)", m.Layers))
	}
	if (m.MaxTensor > 1 || m.MaxPipeline > 1) && (m.Hidden == 0 || m.Sequence == 0) {
		c.add("max_tensor or max_pipeline", "> 1", "hidden and sequence too, to size what is sent")
	}
	m.Prior.validate(&c)
	if len(m.Batches) == 0 {
		c.add("batches", "empty", "usual batch sizes")
	}
	for i, b := range m.Batches {
		c.whole(fmt.Sprintf("batches[%d]", i), b, 1)
		if i > 0 && b <= m.Batches[i-1] {
			c.add(fmt.Sprintf("batches[%d]", i), b, "ascending order")
		}
	}
	return c.join(fmt.Sprintf("model %q", m.Name), m.Name)
}

func (p *ModelPrior) validate(c *checks) {
	c.atLeastZero("prior.kernels", p.Kernels)
	c.atLeastZero("prior.host_ms", p.HostMS)
	c.atLeastZero("prior.activation_mib", p.ActivationMiB)
	c.atLeastZero("prior.traffic_mib", p.TrafficMiB)
	if p.InputRate != -1 {
		c.atLeastZero("prior.input_rate", p.InputRate)
	}
	if p.Efficiency != 0 {
		c.fraction("prior.efficiency", p.Efficiency)
	}
	if p.Overlap != 0 && !(p.Overlap >= 1 && p.Overlap <= maxOverlap) {
		c.add("prior.overlap", p.Overlap, "0 or 1 to 10")
	}
}
