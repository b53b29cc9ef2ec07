package heuristic

import (
	"cmp"
	"context"
	"slices"

	"github.com/yardmaster/yardmaster/agent/assignment"
	"github.com/yardmaster/yardmaster/env"
)

// AlloX gives free GPUs to the waiting jobs by a matching (Le et al., AlloX,
// EuroSys 2020, section 4): each job gets a GPU type and a place in the queue of
// one of its machines so that the sum of completion times is least, where the
// job that is q-th from the last delays q jobs, itself included, by its run time.
// The first jobs of the queues start; what runs is never preempted or moved.
//
// The paper's jobs take one GPU or one CPU. Here the free GPUs of a type are cut in
// machines of the mean number of GPUs that the waiting jobs take, at least one, and
// a job of more takes longer in proportion, which keeps the GPU-time of the queues:
// for jobs of one size it is the paper's matching. The firsts of a type start in
// the order of their places, longest queue first, as far as their GPUs are free,
// and then others that were matched to that type. A GPU type that no waiting job
// was matched to stays idle: waiting for a better one is shorter. Jobs are rigid.
// Where nothing is known about the remaining work it is taken to be the work done so
// far and one round at full speed.
//
// Of a long queue only the earliest submitted are matched, MaxJobs of them but
// at least as many as there are free GPUs, and no queue is longer than twice the
// mean and 2: a matching of m jobs takes time in m³. More than alloxBatch are matched
// in turns, each to what the jobs of the turns before have left.
type AlloX struct {
	MaxJobs int // 0 means 128
}

// alloxBatch is how many jobs are matched at once at most, beyond MaxJobs, and how
// many machines of a type count then: thousands of each would take gigabytes.
const alloxBatch = 256

// matching is the problem of one decision.
type matching struct {
	pool    *pool
	jobs    []int   // [m] waiting jobs
	gpus    float64 // of a machine
	types   []int   // [n] type of each machine
	places  int     // longest queue of a machine
	best    []int   // [m·T] the job's fastest rigid strategy on each type, or Idle
	columns []int32
}

// Decide implements agent.Policy.
func (a AlloX) Decide(ctx context.Context, s *env.State) (env.Allocation, error) {
	p, err := newPool(ctx, s)
	if err != nil {
		return nil, err
	}
	for i := range s.Jobs {
		j := &s.Jobs[i]
		if j.Current != env.Idle && p.fits(j, &j.Strategies[j.Current]) {
			p.give(i, j.Current)
		}
	}
	var solver assignment.Solver
	for list := a.waiting(p); len(list) > 0; {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		turn := list[:min(len(list), max(a.most(), alloxBatch))]
		list = list[len(turn):]
		m := p.survey(turn)
		if len(m.types) == 0 {
			break
		}
		if m.columns, err = solver.Solve(m.cost(), len(m.jobs), len(m.types)*m.places); err != nil {
			return nil, err
		}
		m.start()
	}
	return p.given, nil
}

func (a AlloX) most() int { return cmp.Or(a.MaxJobs, 128) }

// waiting lists the jobs that are matched, in the order of submission.
func (a AlloX) waiting(p *pool) []int {
	free := 0
	for t := range p.state.Cluster.Types {
		free += p.budget.Free(t)
	}
	limit := max(a.most(), free)
	var list []int
	for i, k := range p.given {
		if len(list) == limit {
			break
		}
		if k == env.Idle && p.rigidGPUs(&p.state.Jobs[i]) > 0 {
			list = append(list, i)
		}
	}
	return list
}

// survey lists the machines that there are for jobs.
func (p *pool) survey(jobs []int) *matching {
	s := p.state
	m := &matching{pool: p, jobs: jobs}
	gpus := 0
	for _, i := range jobs {
		gpus += p.rigidGPUs(&s.Jobs[i])
		m.best = append(m.best, p.rigidByType(i)...)
	}
	m.gpus = float64(gpus) / float64(max(1, len(m.jobs)))
	for t := range s.Cluster.Types {
		if free := p.budget.Free(t); free > 0 {
			for range min(max(1, int(float64(free)/max(1, m.gpus))), max(len(jobs), alloxBatch)) {
				m.types = append(m.types, t)
			}
		}
	}
	if n := len(m.types); n > 0 {
		m.places = min(len(m.jobs), 2*((len(m.jobs)+n-1)/n)+2)
	}
	return m
}

// rigidByType returns the fastest of a job's strategies with its rigid number of
// GPUs on each type, or Idle where it has none that the cluster could run.
func (p *pool) rigidByType(job int) []int {
	j := &p.state.Jobs[job]
	best := make([]int, len(p.state.Cluster.Types))
	for t := range best {
		best[t] = env.Idle
	}
	gpus := p.rigidGPUs(j)
	for k := range j.Strategies {
		st := &j.Strategies[k]
		if st.GPUs == gpus && p.possible(j, st) && (best[st.Type] == env.Idle || st.Throughput > j.Strategies[best[st.Type]].Throughput) {
			best[st.Type] = k
		}
	}
	return best
}

// cost returns the delay that each job causes at each place of each machine's queue,
// in seconds, shape [m, places·n]; the waiting so far is the same everywhere and
// left out.
func (m *matching) cost() []float64 {
	s := m.pool.state
	const never = 1e100 // far above any other cost, far below what sums of it break
	cost := make([]float64, 0, len(m.jobs)*len(m.types)*m.places)
	for row, i := range m.jobs {
		j := &s.Jobs[i]
		left := remaining(s, j, fastest(j))
		for q := range m.places {
			for _, t := range m.types {
				delay := never
				if k := m.strategy(row, t); k != env.Idle {
					st := &j.Strategies[k]
					delay = min(float64(q+1)*(left/st.Throughput+st.Restart.Seconds())*float64(st.GPUs)/m.gpus, never)
				}
				cost = append(cost, delay)
			}
		}
	}
	return cost
}

// strategy returns the strategy of the row-th job on type t, or Idle.
func (m *matching) strategy(row, t int) int {
	return m.best[row*len(m.pool.state.Cluster.Types)+t]
}

// queued is a job's place: column = (from the last) · n + machine.
type queued struct {
	first bool // of its machine
	place int  // from the last
	time  float64
	id    int64
	row   int
}

// start gives the free GPUs of each type to the jobs matched to it.
func (m *matching) start() {
	s, n := m.pool.state, len(m.types)
	longest := make([]int, n) // place of the first job of each machine's queue
	for w := range longest {
		longest[w] = -1
	}
	for _, c := range m.columns {
		longest[int(c)%n] = max(longest[int(c)%n], int(c)/n)
	}
	var list []queued
	for row, c := range m.columns {
		w, place := int(c)%n, int(c)/n
		k := m.strategy(row, m.types[w])
		if k == env.Idle {
			continue
		}
		j := &s.Jobs[m.jobs[row]]
		list = append(list, queued{place == longest[w], place, remaining(s, j, fastest(j)) / j.Strategies[k].Throughput, j.ID, row})
	}
	slices.SortFunc(list, func(a, b queued) int {
		switch {
		case a.first != b.first && a.first:
			return -1
		case a.first != b.first:
			return 1
		}
		return cmp.Or(cmp.Compare(b.place, a.place), cmp.Compare(a.time, b.time), cmp.Compare(a.id, b.id))
	})
	for _, x := range list {
		i := m.jobs[x.row]
		k := m.strategy(x.row, m.types[int(m.columns[x.row])%n])
		if m.pool.fits(&s.Jobs[i], &s.Jobs[i].Strategies[k]) {
			m.pool.give(i, k)
		}
	}
}
