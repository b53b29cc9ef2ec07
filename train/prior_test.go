package train

import (
	"math"
	"strings"
	"testing"

	"github.com/yardmaster/yardmaster/env/encode"
	"github.com/yardmaster/yardmaster/models/nn"
)

func TestPriorsWeighColumnsOfTheEncoder(t *testing.T) {
	space := encode.JobStrategySpace()
	for name, weights := range map[string]map[string]float64{"density": DensityPrior(), "default": DefaultPrior()} {
		p := Prior{Weights: weights}
		p.fillDefaults()
		params := nn.NewParams(nn.Dims{Candidate: len(space.Candidate), Global: len(space.Global), Hidden: 4, Value: 4})
		if err := p.apply(params, space); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		linear := params.Tensors[nn.ScoreLinearWeight].Data
		for i, f := range space.Candidate {
			if got, want := linear[i], float32(8*weights[f.Name]); got != want {
				t.Errorf("%s: column %s weighs %v, want %v", name, f.Name, got, want)
			}
		}
	}
}

func TestPriorNamesTheColumnThatIsNotThere(t *testing.T) {
	space := encode.JobStrategySpace()
	params := nn.NewParams(nn.Dims{Candidate: len(space.Candidate), Global: len(space.Global), Hidden: 4, Value: 4})
	p := Prior{Scale: 1, Weights: map[string]float64{"colour": 1}}
	if err := p.apply(params, space); err == nil || !strings.Contains(err.Error(), "colour") {
		t.Errorf("got %v, want an error that names the column", err)
	}
	p.Weights = map[string]float64{"gpus": math.NaN()}
	if err := p.validate(); err == nil || !strings.Contains(err.Error(), "gpus") {
		t.Errorf("got %v, want an error that names the weight", err)
	}
}
