package soak

import (
	"encoding/json"
	"fmt"
	"strconv"
	"sync"

	"github.com/yardmaster/yardmaster/env"
)

// Judge checks every decision on the wire against the states that were sent.
// It is safe for concurrent use.
type Judge struct {
	mu        sync.Mutex
	sent      map[key]*sent
	order     []key // of sent, oldest first
	decisions map[key]string
	decided   []key // of decisions, oldest first
	counts    Counts
	problems  []string
}

// Counts says what the judge saw.
type Counts struct {
	Decisions int64 `json:"decisions"` // different ones
	Repeated  int64 `json:"repeated"`  // sent again, with the same content
	Invalid   int64 `json:"invalid"`   // break capacity, a quota or a gang, or answer no state
	Changed   int64 `json:"changed"`   // a second decision for the same state with other content
}

// key names a state.
type key struct {
	cluster string
	epoch   uint64
	seq     uint64
}

func (k key) String() string {
	return k.cluster + ":" + strconv.FormatUint(k.epoch, 10) + ":" + strconv.FormatUint(k.seq, 10)
}

// remembered bounds the states and decisions that are kept for comparison.
const remembered = 20_000

// sent is what the judge keeps of a state: GPUs are counted in eighths, so that
// parts of GPUs add up exactly.
type sent struct {
	capacity []int // by type
	quotas   []env.Quota
	jobs     map[int64]job
}

type job struct {
	tenant     string
	strategies []env.Strategy // shared with the state, which is never modified
}

// NewJudge returns a judge that saw nothing yet.
func NewJudge() *Judge {
	return &Judge{sent: make(map[key]*sent), decisions: make(map[key]string)}
}

// Expect notes a state before it is published.
func (j *Judge) Expect(cluster string, epoch, seq uint64, s *env.State) {
	k := key{cluster, epoch, seq}
	noted := note(s)
	j.mu.Lock()
	defer j.mu.Unlock()
	if _, again := j.sent[k]; !again {
		j.order = append(j.order, k)
	}
	j.sent[k] = noted
	if len(j.order) > remembered {
		delete(j.sent, j.order[0])
		j.order = j.order[1:]
	}
}

func note(s *env.State) *sent {
	n := &sent{capacity: make([]int, len(s.Cluster.Types)), jobs: make(map[int64]job, len(s.Jobs))}
	n.quotas = append(n.quotas, s.Quotas...)
	down := make(map[int]bool)
	for _, node := range s.Down {
		down[node] = true
	}
	for i, node := range s.Cluster.Nodes {
		if !down[i] {
			n.capacity[node.Type] += 8 * node.GPUs
		}
	}
	for i := range s.Jobs {
		n.jobs[s.Jobs[i].ID] = job{s.Jobs[i].Tenant, s.Jobs[i].Strategies}
	}
	return n
}

// decision is an allocation as it comes over the wire, apart from the types of
// the service.
type decision struct {
	Schema   string `json:"schema"`
	Cluster  string `json:"cluster"`
	Epoch    uint64 `json:"epoch"`
	StateSeq uint64 `json:"state_seq"`
	ID       string `json:"id"`
	Source   string `json:"source"`
	Picks    []struct {
		Job      int64 `json:"job"`
		Strategy int   `json:"strategy"`
	} `json:"allocation"`
}

// Decision checks a message on the subject of a cluster's allocations.
func (j *Judge) Decision(cluster string, data []byte) {
	var d decision
	if err := json.Unmarshal(data, &d); err != nil {
		j.invalid(fmt.Sprintf("%s: cannot be read: %v", cluster, err))
		return
	}
	k := key{d.Cluster, d.Epoch, d.StateSeq}
	if d.Cluster != cluster || d.ID != k.String()+":allocation" {
		j.invalid(fmt.Sprintf("%s: decision %q on the subject of %s", k, d.ID, cluster))
		return
	}
	content := fmt.Sprint(d.Picks)
	j.mu.Lock()
	s := j.sent[k]
	before, again := j.decisions[k]
	if !again {
		j.keep(k, content)
	}
	j.mu.Unlock()
	switch {
	case again && before != content:
		j.note(&j.counts.Changed, fmt.Sprintf("%s: decided %s, before %s", k, content, before))
	case again:
		j.note(&j.counts.Repeated, "")
	case s == nil:
		j.invalid(k.String() + ": answers a state that nobody sent")
	default:
		j.note(&j.counts.Decisions, "")
		if err := s.check(&d); err != nil {
			j.invalid(fmt.Sprintf("%s: by %s: %v", k, d.Source, err))
		}
	}
}

// keep remembers a decision; the caller holds the lock.
func (j *Judge) keep(k key, content string) {
	j.decisions[k] = content
	j.decided = append(j.decided, k)
	if len(j.decided) > remembered {
		delete(j.decisions, j.decided[0])
		j.decided = j.decided[1:]
	}
}

// check reports what of d cannot be applied in s.
func (s *sent) check(d *decision) error {
	used := make([]int, len(s.capacity))
	byQuota := make([]int, len(s.quotas))
	picked := make(map[int64]bool, len(d.Picks))
	for _, p := range d.Picks {
		of, ok := s.jobs[p.Job]
		switch {
		case !ok:
			return fmt.Errorf("job %d is not there", p.Job)
		case picked[p.Job]:
			return fmt.Errorf("job %d runs twice", p.Job)
		case p.Strategy < 0 || p.Strategy >= len(of.strategies):
			return fmt.Errorf("job %d has no strategy %d", p.Job, p.Strategy)
		}
		picked[p.Job] = true
		st := &of.strategies[p.Strategy]
		eighths := 8 * st.GPUs / max(1, st.Share)
		used[st.Type] += eighths
		for i, q := range s.quotas {
			if q.Tenant == of.tenant && (q.Type == st.Type || q.Type == env.AnyType) {
				byQuota[i] += eighths
			}
		}
	}
	for t := range used {
		if used[t] > s.capacity[t] {
			return fmt.Errorf("%d eighths of GPUs of type %d, of %d", used[t], t, s.capacity[t])
		}
	}
	for i, q := range s.quotas {
		if byQuota[i] > 8*q.GPUs {
			return fmt.Errorf("%d eighths of GPUs for tenant %s, of %d", byQuota[i], q.Tenant, 8*q.GPUs)
		}
	}
	return nil
}

func (j *Judge) invalid(problem string) { j.note(&j.counts.Invalid, problem) }

// maxProblems bounds the problems that are told in words.
const maxProblems = 20

func (j *Judge) note(count *int64, problem string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	*count++
	if problem != "" && len(j.problems) < maxProblems {
		j.problems = append(j.problems, problem)
	}
}

// Verdict returns what was seen, and the problems in words.
func (j *Judge) Verdict() (Counts, []string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.counts, append([]string(nil), j.problems...)
}
