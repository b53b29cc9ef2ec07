package perf

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/yardmaster/yardmaster/env"
)

// class is what jobs with the same strategies share.
type class struct {
	model       string
	batch, gpus int
}

// Strategies returns the strategies of j on c: for every GPU type half, once
// and twice the requested number of GPUs, as far as the type has them, each
// with its best plan, tightly placed, and the shares of one GPU that Config
// names. Within a type a strategy that holds more is there only if it is faster.
// Ordered by (type, GPUs held). At least one, or an
// error: it wraps ErrNoStrategy where nothing fits, ErrUnknownModel and
// ErrUnknownGPU. The result is shared between the jobs of a class: immutable.
func (p *Performance) Strategies(j *env.Job, c *env.Cluster) ([]env.Strategy, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	h, err := p.cache.hardware(c, p.cfg.Catalogue)
	if err != nil {
		return nil, fmt.Errorf("job %d: %w", j.ID, err)
	}
	k := class{j.Model, j.Batch, j.GPUs}
	if s, ok := h.strategies[k]; ok {
		return s, nil
	}
	s, err := p.enumerate(k, h)
	if err != nil {
		return nil, fmt.Errorf("job %d: %w", j.ID, err)
	}
	h.strategies[k] = s
	return s, nil
}

// enumerate lists the strategies of class k on hardware h.
func (p *Performance) enumerate(k class, h *hardware) ([]env.Strategy, error) {
	m, ok := p.cfg.Catalogue.Model(k.model)
	if !ok {
		return nil, p.cfg.Catalogue.UnknownModel(k.model)
	}
	if k.batch < 1 || k.gpus < 1 || k.batch > maxGlobal/k.gpus {
		return nil, fmt.Errorf("perf: batch %d on %d GPUs, want both >= 1 and at most %d samples per iteration", k.batch, k.gpus, maxGlobal)
	}
	var all []env.Strategy
	for t := range h.types {
		all = append(all, p.ofType(k, m, h, t)...)
	}
	if len(all) == 0 {
		return nil, noStrategy(k, m, h)
	}
	return fastest(all, p.cfg.MaxStrategies), nil
}

// ofType lists the strategies of class k on GPU type t, dominated ones left out.
func (p *Performance) ofType(k class, m *Model, h *hardware, t int) []env.Strategy {
	g := &h.types[t]
	restart := m.Restart(&g.GPU)
	var kept []env.Strategy
	for _, n := range p.sizes(k.gpus) {
		if n.gpus > g.capacity {
			continue
		}
		q := &query{
			m: m, g: &g.GPU, memory: g.memory / float64(max(1, n.share)),
			gpus: n.gpus, nodes: g.nodesFor(n.gpus), global: k.batch * k.gpus, share: n.share,
		}
		plan, samples, ok := p.predict(q)
		speed := samples / float64(k.batch)
		if !ok || len(kept) > 0 && speed <= kept[len(kept)-1].Throughput {
			continue
		}
		kept = append(kept, env.Strategy{Type: t, GPUs: n.gpus, Nodes: q.nodes, Plan: plan, Throughput: speed, Restart: restart, Share: n.share})
	}
	return kept
}

// size is how much of a GPU type a strategy holds.
type size struct {
	gpus, share int // share as in env.Strategy
}

// sizes returns what is offered to a job that asked for g GPUs, ascending.
func (p *Performance) sizes(g int) []size {
	var all []size
	if g == 1 {
		for _, s := range p.cfg.Shares {
			all = append(all, size{1, s})
		}
	}
	for _, n := range p.counts(g) {
		all = append(all, size{gpus: n})
	}
	return all
}

// counts returns the GPU counts offered to a job that asked for g, ascending.
func (p *Performance) counts(g int) []int {
	if p.cfg.Rigid {
		return []int{g}
	}
	if g == 1 {
		return []int{1, 2}
	}
	if g > maxGlobal { // twice as many would overflow; no cluster has them
		return []int{g / 2}
	}
	return []int{g / 2, g, 2 * g}
}

// fastest returns the n fastest of s in the order of s.
func fastest(s []env.Strategy, n int) []env.Strategy {
	if len(s) <= n {
		return slices.Clip(s)
	}
	order := func(a, b env.Strategy) int {
		return cmp.Or(cmp.Compare(a.Type, b.Type), cmp.Compare(a.Held(), b.Held()))
	}
	slices.SortStableFunc(s, func(a, b env.Strategy) int {
		return cmp.Or(cmp.Compare(b.Throughput, a.Throughput), order(a, b))
	})
	s = slices.Clone(s[:n])
	slices.SortFunc(s, order)
	return s
}

func noStrategy(k class, m *Model, h *hardware) error {
	err := fmt.Errorf("%w for %s with batch %d on %d GPUs", ErrNoStrategy, k.model, k.batch, k.gpus)
	most := 0
	for t := range h.types {
		most = max(most, h.types[t].capacity)
	}
	switch least := max(1, k.gpus/2); {
	case m.MaxGPUs > 0 && least > m.MaxGPUs:
		return fmt.Errorf("%w: the model uses at most %d", err, m.MaxGPUs)
	case least > most:
		return fmt.Errorf("%w: the largest GPU type has %d", err, most)
	}
	return fmt.Errorf("%w: no plan fits the memory of any GPU type", err)
}
