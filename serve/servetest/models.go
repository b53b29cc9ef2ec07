package servetest

import (
	"math/rand/v2"
	"testing"

	"github.com/yardmaster/yardmaster/agent/heuristic"
	"github.com/yardmaster/yardmaster/agent/neural"
	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/encode"
	"github.com/yardmaster/yardmaster/models"
	"github.com/yardmaster/yardmaster/models/nn"
)

// Model returns a small learned policy with random parameters and golden inputs.
func Model(t testing.TB, seed uint64) *models.Model {
	t.Helper()
	space := encode.JobStrategySpace()
	m := random(models.JobStrategy, neural.Encoder(encode.JobStrategyVersion, space), seed)
	var e encode.JobStrategy
	var observations []*env.Observation
	s := Sim(t, seed, 20)
	for range 4 {
		o := new(env.Observation)
		e.Encode(o, s.State())
		observations = append(observations, o)
		a, err := heuristic.SRTF{}.Decide(t.Context(), s.State())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Advance(a); err != nil {
			t.Fatal(err)
		}
	}
	g, err := neural.NewGolden(m, observations)
	if err != nil {
		t.Fatal(err)
	}
	m.Golden = &g
	return m
}

// ConfigurationModel returns a small learned configurer with random parameters and
// no golden inputs.
func ConfigurationModel(seed uint64) *models.Model {
	return random(models.Configuration, neural.Encoder(encode.ConfigurationVersion, encode.ConfigurationSpace()), seed)
}

func random(kind models.Kind, encoder models.Encoder, seed uint64) *models.Model {
	p := nn.NewParams(nn.Dims{Candidate: len(encoder.Candidate), Global: len(encoder.Global), Hidden: 16, Value: 8})
	r := rand.New(rand.NewPCG(seed, 7))
	for i := range p.Flat {
		p.Flat[i] = float32(0.3 * r.NormFloat64())
	}
	return models.New(kind, encoder, p)
}

// Files returns the files of a model.
func Files(t testing.TB, m *models.Model) models.Files {
	t.Helper()
	f, err := models.Encode(m)
	if err != nil {
		t.Fatal(err)
	}
	return f
}
