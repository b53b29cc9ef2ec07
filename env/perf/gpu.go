package perf

import (
	"errors"
	"fmt"

	"github.com/yardmaster/yardmaster/env"
)

// GPU is a GPU type and the host and network it usually sits in.
type GPU struct {
	Name      string  `yaml:"name"`
	MemoryGiB float64 `yaml:"memory_gib"` // usable by programs
	Peak      Peak    `yaml:"peak_tflops"`
	// Achievable is the fraction of Peak.FP32, and AchievableTensor of the other
	// peaks, that large matrix products reach; 0 is 1, and Achievable. Models'
	// own efficiencies come on top.
	Achievable       float64 `yaml:"achievable"`
	AchievableTensor float64 `yaml:"achievable_tensor"`
	MemoryGBs        float64 `yaml:"memory_gb_s"` // memory bandwidth
	KernelUS         float64 `yaml:"kernel_us"`   // least time of one kernel with its launch, µs
	// LinkGBs is what the link to the other GPUs of a node carries, per GPU and
	// direction, nominal; LinkEfficiency is the fraction that collectives reach.
	LinkGBs        float64 `yaml:"link_gb_s"`
	LinkEfficiency float64 `yaml:"link_efficiency"`
	NetworkGbits   float64 `yaml:"network_gbit_s"` // of a node, per direction, nominal
	// Adapters share the network's bandwidth, each beside some GPUs of the node:
	// a job alone on one GPU has one of them. 0 is 1.
	Adapters int `yaml:"adapters"`
	// NetworkEfficiency is the fraction of the network's nominal bandwidth that
	// collectives reach; 0 is 0.8.
	NetworkEfficiency float64 `yaml:"network_efficiency"`
	// The host, per GPU: the link to its memory and that memory's bandwidth and
	// size. 0 is a PCIe 3.0 x16 link that reaches 12 GB/s, 25 GB/s and 64 GiB.
	HostLinkGBs   float64 `yaml:"host_link_gb_s"`
	HostMemoryGBs float64 `yaml:"host_memory_gb_s"`
	HostGiB       float64 `yaml:"host_gib"`
	PricePerHour  float64 `yaml:"price_per_hour"` // US dollars per GPU, on demand
	PriceSource   string  `yaml:"price_source"`   // who asked it, and when
	// Prior is what is believed of the figures above that were fitted to
	// measurements, without those.
	Prior GPUPrior `yaml:"prior"`
}

// GPUPrior holds figures of a [GPU] as they were before they were fitted to
// measurements; 0 where one was not fitted.
type GPUPrior struct {
	Achievable       float64 `yaml:"achievable"`
	AchievableTensor float64 `yaml:"achievable_tensor"`
	KernelUS         float64 `yaml:"kernel_us"`
	LinkEfficiency   float64 `yaml:"link_efficiency"`
}

// unfitted returns g with its fitted figures as they were before.
func (g GPU) unfitted() GPU {
	p := &g.Prior
	for _, f := range [...]struct {
		x     *float64
		prior float64
	}{
		{&g.Achievable, p.Achievable},
		{&g.AchievableTensor, p.AchievableTensor},
		{&g.KernelUS, p.KernelUS},
		{&g.LinkEfficiency, p.LinkEfficiency},
	} {
		if f.prior != 0 {
			*f.x = f.prior
		}
	}
	return g
}

func (p *GPUPrior) validate(c *checks) {
	for _, f := range [...]struct {
		field string
		x     float64
	}{
		{"prior.achievable", p.Achievable}, {"prior.achievable_tensor", p.AchievableTensor}, {"prior.link_efficiency", p.LinkEfficiency},
	} {
		if f.x != 0 {
			c.fraction(f.field, f.x)
		}
	}
	c.atLeastZero("prior.kernel_us", p.KernelUS)
}

// Peak is the peak rate of dense arithmetic by precision, TFLOP/s; 0 where the
// hardware has no unit for it.
type Peak struct {
	FP32 float64 `yaml:"fp32"`
	TF32 float64 `yaml:"tf32"`
	FP16 float64 `yaml:"fp16"`
	BF16 float64 `yaml:"bf16"`
	FP8  float64 `yaml:"fp8"`
}

// tensor returns the peak rate of the units that serve a training run in
// precision p, TFLOP/s, 0 where there are none. Without bfloat16 units a run
// uses float16, without FP8 units 16 bits.
func (k *Peak) tensor(p Precision) float64 {
	switch half := max(k.BF16, k.FP16); p {
	case TF32:
		return k.TF32
	case FP16, BF16:
		return half
	case FP8:
		return max(k.FP8, half)
	}
	return 0
}

// rate returns the FLOP/s that large matrix products reach in a training run
// in precision p, in float32 where nothing faster serves.
func (g *GPU) rate(p Precision) float64 {
	return 1e12 * max(g.Achievable*g.Peak.FP32, g.AchievableTensor*g.Peak.tensor(p))
}

// Type returns g as a GPU type of a cluster.
func (g *GPU) Type() env.GPUType {
	return env.GPUType{Name: g.Name, MemoryGiB: g.MemoryGiB, PricePerHour: g.PricePerHour}
}

func (g *GPU) fillDefaults() {
	if g.Achievable == 0 {
		g.Achievable = 1
	}
	if g.AchievableTensor == 0 {
		g.AchievableTensor = g.Achievable
	}
	if g.LinkEfficiency == 0 {
		g.LinkEfficiency = 0.7
	}
	g.Adapters = max(g.Adapters, 1)
	for _, d := range [...]struct {
		x     *float64
		value float64
	}{{&g.NetworkEfficiency, 0.8}, {&g.HostLinkGBs, 12}, {&g.HostMemoryGBs, 25}, {&g.HostGiB, 64}} {
		if *d.x == 0 {
			*d.x = d.value
		}
	}
}

func (g *GPU) validate() error {
	var c checks
	c.positive("memory_gib", g.MemoryGiB)
	c.positive("peak_tflops.fp32", g.Peak.FP32)
	c.atLeastZero("peak_tflops.tf32", g.Peak.TF32)
	c.atLeastZero("peak_tflops.fp16", g.Peak.FP16)
	c.atLeastZero("peak_tflops.bf16", g.Peak.BF16)
	c.atLeastZero("peak_tflops.fp8", g.Peak.FP8)
	c.fraction("achievable", g.Achievable)
	c.fraction("achievable_tensor", g.AchievableTensor)
	c.positive("memory_gb_s", g.MemoryGBs)
	c.positive("kernel_us", g.KernelUS)
	c.positive("link_gb_s", g.LinkGBs)
	c.fraction("link_efficiency", g.LinkEfficiency)
	c.positive("network_gbit_s", g.NetworkGbits)
	c.whole("adapters", g.Adapters, 1)
	c.fraction("network_efficiency", g.NetworkEfficiency)
	c.positive("host_link_gb_s", g.HostLinkGBs)
	c.positive("host_memory_gb_s", g.HostMemoryGBs)
	c.positive("host_gib", g.HostGiB)
	g.Prior.validate(&c)
	c.atLeastZero("price_per_hour", g.PricePerHour)
	if g.PricePerHour > 0 && g.PriceSource == "" {
		c.errs = append(c.errs, errors.New(`price_source is "", want who asked this price and when`))
	}
	return c.join(fmt.Sprintf("gpu %q", g.Name), g.Name)
}
