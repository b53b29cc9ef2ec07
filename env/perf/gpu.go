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
	// Achievable is the fraction of Peak that a large matrix product reaches;
	// 0 is 1. Models' own efficiencies come on top.
	Achievable float64 `yaml:"achievable"`
	MemoryGBs  float64 `yaml:"memory_gb_s"` // memory bandwidth
	KernelUS   float64 `yaml:"kernel_us"`   // least time of one kernel with its launch, µs
	// LinkGBs is what the link to the other GPUs of a node carries, per GPU and
	// direction, nominal; LinkEfficiency is the fraction that collectives reach.
	LinkGBs        float64 `yaml:"link_gb_s"`
	LinkEfficiency float64 `yaml:"link_efficiency"`
	NetworkGbits   float64 `yaml:"network_gbit_s"` // of a node, per direction, nominal
	PricePerHour   float64 `yaml:"price_per_hour"` // US dollars per GPU, on demand
	PriceSource    string  `yaml:"price_source"`   // who asked it, and when
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

// At returns the peak rate at precision p, TFLOP/s: that of the fastest unit
// the hardware has for a training run of this kind. Without bfloat16 units the
// run uses float16, without either float32.
func (k *Peak) At(p Precision) float64 {
	half := max(k.BF16, k.FP16, k.FP32)
	switch p {
	case TF32:
		return max(k.TF32, k.FP32)
	case FP16, BF16:
		return half
	case FP8:
		return max(k.FP8, half)
	}
	return k.FP32
}

// Type returns g as a GPU type of a cluster.
func (g *GPU) Type() env.GPUType {
	return env.GPUType{Name: g.Name, MemoryGiB: g.MemoryGiB, PricePerHour: g.PricePerHour}
}

func (g *GPU) fillDefaults() {
	if g.Achievable == 0 {
		g.Achievable = 1
	}
	if g.LinkEfficiency == 0 {
		g.LinkEfficiency = 0.7
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
	c.positive("memory_gb_s", g.MemoryGBs)
	c.positive("kernel_us", g.KernelUS)
	c.positive("link_gb_s", g.LinkGBs)
	c.fraction("link_efficiency", g.LinkEfficiency)
	c.positive("network_gbit_s", g.NetworkGbits)
	c.atLeastZero("price_per_hour", g.PricePerHour)
	if g.PricePerHour > 0 && g.PriceSource == "" {
		c.errs = append(c.errs, errors.New(`price_source is "", want who asked this price and when`))
	}
	return c.join(fmt.Sprintf("gpu %q", g.Name), g.Name)
}
