package synth

import (
	"math"

	"github.com/yardmaster/yardmaster/datasets"
)

// JobType is a model and batch size that the generator draws.
type JobType struct {
	datasets.ModelChoice
	Distributed bool // may run on more than one GPU
}

// GavelTypes returns the 26 job types of Gavel's generator (Narayanan et al.,
// OSDI 2020, table 2; which of them are distributed is as in its job table).
// The batch sizes of A3C and CycleGAN, which Gavel leaves open, are those of
// the catalogue of env/perf.
func GavelTypes() []JobType {
	var types []JobType
	add := func(model string, distributed bool, batches ...int) {
		for _, b := range batches {
			types = append(types, JobType{datasets.ModelChoice{Model: model, Batch: b}, distributed})
		}
	}
	add("ResNet-18", true, 16, 32, 64, 128, 256)
	add("ResNet-50", true, 16, 32, 64, 128)
	add("Transformer", true, 16, 32, 64, 128, 256)
	add("LM", true, 5, 10, 20, 40, 80)
	add("Recommendation", false, 512, 1024, 2048, 4096, 8192)
	add("CycleGAN", false, 1)
	add("A3C", false, 4)
	return types
}

// gavelGPUs returns the number of GPUs at quantile u of Gavel's mix: 1, 2, 4, 8
// with probability 0.70, 0.10, 0.15, 0.05.
func gavelGPUs(u float64) int32 {
	switch {
	case u < 0.70:
		return 1
	case u < 0.80:
		return 2
	case u < 0.95:
		return 4
	}
	return 8
}

// Gavel's durations: 60·10^x seconds, where x is uniform on [1.5, 3) with
// probability 0.8 and on [3, 4) otherwise.
const (
	gavelLow, gavelKnee, gavelHigh = 1.5, 3.0, 4.0
	gavelShort                     = 0.8
)

// gavelSeconds returns the duration at quantile u of Gavel's distribution,
// conditioned on being at most longest seconds.
func gavelSeconds(u, longest float64) float64 {
	u *= gavelCDF(longest)
	if u < gavelShort {
		return 60 * math.Pow(10, gavelLow+(gavelKnee-gavelLow)*u/gavelShort)
	}
	return 60 * math.Pow(10, gavelKnee+(gavelHigh-gavelKnee)*(u-gavelShort)/(1-gavelShort))
}

// gavelCDF returns the probability of a duration of at most s seconds.
func gavelCDF(s float64) float64 {
	x := math.Log10(s / 60)
	switch {
	case x <= gavelLow:
		return 0
	case x < gavelKnee:
		return gavelShort * (x - gavelLow) / (gavelKnee - gavelLow)
	case x < gavelHigh:
		return gavelShort + (1-gavelShort)*(x-gavelKnee)/(gavelHigh-gavelKnee)
	}
	return 1
}

// gavelMinimum is the shortest duration, seconds.
var gavelMinimum = 60 * math.Pow(10, gavelLow)
