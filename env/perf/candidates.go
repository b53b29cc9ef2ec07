package perf

import "github.com/yardmaster/yardmaster/env"

// Candidate is a strategy of a job with what a reader wants to know of it.
type Candidate struct {
	env.Strategy
	GPU              string  // name of the type
	SamplesPerSecond float64 // of all workers
	MemoryGiB        float64 // that the plan needs on the fullest GPU, as modelled
	PricePerHour     float64 // US dollars, of the GPUs held
	Measured         bool    // its throughput was measured, not modelled
}

// Candidates returns the strategies of j on c as Strategies does, described.
// The caller owns the result.
func (p *Performance) Candidates(j *env.Job, c *env.Cluster) ([]Candidate, error) {
	strategies, err := p.Strategies(j, c)
	if err != nil {
		return nil, err
	}
	m, _ := p.cfg.Catalogue.Model(j.Model)
	out := make([]Candidate, len(strategies))
	for i := range strategies {
		s := &strategies[i]
		t := &c.Types[s.Type]
		g, _ := p.cfg.Catalogue.GPU(t.Name)
		q := &query{m: m, g: g, gpus: s.GPUs, nodes: s.Nodes, global: j.Batch * j.GPUs, share: s.Share}
		price := t.PricePerHour
		if price == 0 { // what the cluster says of itself wins
			price = g.PricePerHour
		}
		out[i] = Candidate{
			Strategy: *s, GPU: t.Name, SamplesPerSecond: s.Throughput * float64(j.Batch),
			MemoryGiB: q.bytes(&s.Plan) / gib, PricePerHour: price * s.Held(),
			Measured: at(p.measured[place{m.Name, g.Name}], q) != nil,
		}
	}
	return out, nil
}
