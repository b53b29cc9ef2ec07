package sim

import (
	"math"
	"time"

	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/rng"
)

// sharingElastic is elastic with strategies on halves and quarters of GPUs.
type sharingElastic struct{ elastic }

func (e *sharingElastic) Strategies(j *env.Job, c *env.Cluster) ([]env.Strategy, error) {
	out, err := e.elastic.Strategies(j, c)
	for k := range out {
		if st := out[k]; st.GPUs == j.GPUs {
			for _, share := range []int{2, 4} {
				st.Share = share
				st.Throughput = out[k].Throughput * 0.8 / math.Sqrt(float64(share))
				out = append(out[:len(out):len(out)], st)
			}
		}
	}
	return out, err
}

// jealous is a fake Interference that depends on who shares: pairs of jobs of
// even requests get on well.
type jealous struct{}

func (jealous) Alone(*env.Job, *env.Strategy) float64 { return 1.25 }

func (jealous) Beside(a *env.Job, st *env.Strategy, b *env.Job, with *env.Strategy) float64 {
	factor := 0.9 - 0.3/float64(with.Share)
	if a.GPUs%2 == 0 && b.GPUs%2 == 0 {
		factor += 0.1
	}
	return factor + 0.01*float64(st.Share)
}

// eventful makes jobs of a workload fail, be withdrawn and belong to tenants.
func eventful(w Workload) Workload {
	return func(seed uint64) ([]env.Job, error) {
		jobs, err := w(seed)
		r := rng.New(seed, "events")
		for i := range jobs {
			j := &jobs[i]
			j.Tenant = []string{"a", "b", "c"}[r.IntN(3)]
			u, v, w := r.IntN(5), r.Float64(), r.ExpFloat64()
			switch u {
			case 0:
				j.Fails = v * j.Work
			case 1:
				j.Cancel = j.Submit + 1 + time.Duration(w*float64(2*time.Hour))
			}
		}
		return jobs, err
	}
}

// quotas limits tenant a to 6 GPUs, later to 2 of type A and none of B, then to
// 3 in all, and b, from the beginning on, to one of type C. After ten hours there
// are no limits, so that every job gets to run.
func quotas() []QuotaChange {
	return []QuotaChange{
		{0, env.Quota{Tenant: "a", Type: env.AnyType, GPUs: 6}},
		{0, env.Quota{Tenant: "b", Type: 2, GPUs: 1}},
		{90 * time.Minute, env.Quota{Tenant: "a", Type: 0, GPUs: 2}},
		{90 * time.Minute, env.Quota{Tenant: "a", Type: 1, GPUs: 0}},
		{4 * time.Hour, env.Quota{Tenant: "a", Type: env.AnyType, GPUs: 3}},
		{4 * time.Hour, env.Quota{Tenant: "a", Type: 1, GPUs: Unlimited}},
		{10 * time.Hour, env.Quota{Tenant: "a", Type: env.AnyType, GPUs: Unlimited}},
		{10 * time.Hour, env.Quota{Tenant: "a", Type: 0, GPUs: Unlimited}},
		{10 * time.Hour, env.Quota{Tenant: "b", Type: 2, GPUs: Unlimited}},
	}
}

// allOn is a configuration with every switch on.
func allOn() Config {
	cfg := smallConfig()
	cfg.Workload = eventful(cfg.Workload)
	cfg.Candidates = &sharingElastic{elastic{perNode: 4, restart: 45 * time.Second}}
	cfg.Knowledge = env.Estimate
	cfg.ThroughputSigma, cfg.Profiling = 0.5, 10*time.Minute
	cfg.Interference = jealous{}
	cfg.Failures = Failures{MTBF: 6 * time.Hour, MTTR: 40 * time.Minute}
	cfg.Checkpoint = 13 * time.Minute
	cfg.Quotas = quotas()
	return cfg
}

// switched are configurations with single switches on, and with all of them.
func switched() map[string]Config {
	out := map[string]Config{"all on": allOn()}
	add := func(name string, change func(*Config)) {
		cfg := smallConfig()
		change(&cfg)
		out[name] = cfg
	}
	add("spread", func(c *Config) { c.Placement = Spread })
	add("failures", func(c *Config) { c.Failures.MTBF, c.Failures.MTTR = 4*time.Hour, time.Hour })
	add("noise", func(c *Config) { c.ThroughputSigma, c.Profiling = 1, 20*time.Minute })
	add("events", func(c *Config) { c.Workload = eventful(c.Workload) })
	add("events and bursts", func(c *Config) { c.Workload = eventful(poisson(60, 10*time.Second)) })
	add("withdrawn soon", func(c *Config) {
		w := poisson(30, 4*time.Hour)
		c.Workload = func(seed uint64) ([]env.Job, error) {
			jobs, err := w(seed)
			for i := range jobs {
				if i > 0 && i%3 > 0 {
					jobs[i].Cancel = jobs[i].Submit + time.Duration(1+100*i%700)*time.Second
				}
			}
			return jobs, err
		}
	})
	add("quotas", func(c *Config) { c.Workload, c.Quotas = eventful(c.Workload), quotas() })
	add("sharing", func(c *Config) {
		c.Candidates = &sharingElastic{elastic{perNode: 4, restart: 45 * time.Second}}
	})
	add("sharing spread", func(c *Config) {
		c.Candidates = &sharingElastic{elastic{perNode: 4, restart: 45 * time.Second}}
		c.Interference, c.Placement = jealous{}, Spread
	})
	add("free sharing", func(c *Config) {
		c.Candidates = &sharingElastic{elastic{perNode: 4}}
		c.FreePlacement, c.FreeRestarts = true, true
	})
	return out
}

// outagesOf scripts outages of all nodes of c for a week: gaps of up to twice
// mean and lengths of up to an hour, some on round starts.
func outagesOf(c *Config, mean time.Duration) []Outage {
	var out []Outage
	r := rng.New(uint64(mean), "outages")
	for n := range c.Cluster.Nodes {
		at := time.Duration(0)
		for at < 7*24*time.Hour {
			at += 1 + time.Duration(r.Int64N(int64(2*mean)))
			if r.IntN(4) == 0 {
				at = at.Truncate(DefaultRound) + DefaultRound
			}
			o := Outage{Node: n, From: at, To: at + 1 + time.Duration(r.Int64N(int64(time.Hour)))}
			if r.IntN(4) == 0 {
				o.To = o.To.Truncate(DefaultRound) + DefaultRound
			}
			out = append(out, o)
			at = o.To
		}
	}
	return out
}
