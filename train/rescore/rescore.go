package rescore

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/yardmaster/yardmaster/agent"
	"github.com/yardmaster/yardmaster/env"
)

// Contestant is a policy, or what was recorded: then Answers holds its allocations,
// nil where there is none.
type Contestant struct {
	Name    string
	Policy  agent.Policy
	Answers []env.Allocation // [len(States)]
}

// Program is a linear program and its objective; agent/lp.Policy is one.
type Program interface {
	agent.Policy
	Values(s *env.State, allocations ...env.Allocation) []float64
}

// Config says what is compared.
type Config struct {
	States      []*env.State
	Contestants []Contestant
	Program     Program
	Reference   []env.Allocation      // what was published, to count agreement; nil counts none
	Progress    func(done, total int) // called from several goroutines; nil is not
}

// Score is what one contestant came to.
type Score struct {
	Policy  string  `json:"policy"`
	Answers int     `json:"answers"`           // states it has an answer to
	Failed  int     `json:"failed"`            // states it had an error on
	Mean    float64 `json:"regret"`            // mean regret
	Median  float64 `json:"median"`            // of the regrets
	P99     float64 `json:"p99"`               // of the regrets
	Worst   float64 `json:"worst"`             // greatest regret
	Agreed  int     `json:"agreed"`            // answers that are what was published
	Micros  float64 `json:"micros"`            // mean wall time of a decision; 0 of recorded answers
	Problem string  `json:"problem,omitempty"` // the first error
}

// answer is one contestant on one state.
type answer struct {
	ok      bool
	agreed  bool
	regret  float64
	took    time.Duration
	problem error
}

// Run asks every contestant about every state, on all cores. Scores are in the order
// of contestants and do not depend on the number of cores, but for Micros.
func Run(ctx context.Context, cfg Config) ([]Score, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	n := len(cfg.States)
	answers := make([][]answer, n) // [state][contestant]
	errs := make([]error, n)
	var next, done atomic.Int64
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), n) {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < n && ctx.Err() == nil; i = int(next.Add(1)) - 1 {
				answers[i], errs[i] = cfg.state(ctx, i)
				if d := done.Add(1); cfg.Progress != nil {
					cfg.Progress(int(d), n)
				}
			}
		})
	}
	wg.Wait()
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("rescore: %w", err)
	}
	for i, err := range errs {
		if err != nil {
			return nil, fmt.Errorf("rescore: state %d: %w", i, err)
		}
	}
	scores := make([]Score, len(cfg.Contestants))
	for c := range scores {
		scores[c] = cfg.score(c, answers)
	}
	return scores, nil
}

func (c *Config) validate() error {
	var errs []error
	if len(c.States) == 0 || len(c.Contestants) == 0 || c.Program == nil {
		errs = append(errs, errors.New("rescore: no states, no contestants or no program, want all three"))
	}
	for _, of := range c.Contestants {
		if (of.Policy == nil) == (of.Answers == nil) {
			errs = append(errs, fmt.Errorf("rescore: %s has a policy and answers, or neither: want one", of.Name))
		}
		if of.Answers != nil && len(of.Answers) != len(c.States) {
			errs = append(errs, fmt.Errorf("rescore: %s has %d answers for %d states", of.Name, len(of.Answers), len(c.States)))
		}
	}
	if c.Reference != nil && len(c.Reference) != len(c.States) {
		errs = append(errs, fmt.Errorf("rescore: %d reference answers for %d states", len(c.Reference), len(c.States)))
	}
	return errors.Join(errs...)
}

// state asks all contestants about one state.
func (c *Config) state(ctx context.Context, i int) ([]answer, error) {
	s := c.States[i]
	program, err := c.Program.Decide(ctx, s)
	if err != nil {
		return nil, fmt.Errorf("linear program: %w", err)
	}
	all := make([]answer, len(c.Contestants))
	allocations := []env.Allocation{program}
	var at []int
	for k := range c.Contestants {
		a := c.ask(ctx, k, i, &all[k])
		if a == nil {
			continue
		}
		all[k].ok = true
		all[k].agreed = c.Reference != nil && slices.Equal(a, c.Reference[i])
		allocations, at = append(allocations, a), append(at, k)
	}
	values := c.Program.Values(s, allocations...)
	for n, k := range at {
		if values[0] > 0 {
			all[k].regret = min(1, max(-1, (values[0]-values[n+1])/values[0]))
		}
	}
	return all, nil
}

// ask returns a contestant's allocation, nil where it has none.
func (c *Config) ask(ctx context.Context, k, i int, to *answer) env.Allocation {
	of := &c.Contestants[k]
	if of.Policy == nil {
		return of.Answers[i]
	}
	began := time.Now()
	a, err := of.Policy.Decide(ctx, c.States[i])
	to.took = time.Since(began)
	if err == nil {
		err = a.Validate(c.States[i])
	}
	if err != nil {
		to.problem = err
		return nil
	}
	return a
}

// score sums up one contestant, in the order of states.
func (c *Config) score(k int, answers [][]answer) Score {
	s := Score{Policy: c.Contestants[k].Name}
	var regrets []float64
	var took time.Duration
	sum := 0.0
	for i := range answers {
		a := &answers[i][k]
		took += a.took
		if a.problem != nil {
			if s.Failed++; s.Problem == "" {
				s.Problem = a.problem.Error()
			}
			continue
		}
		if !a.ok {
			continue
		}
		s.Answers++
		if a.agreed {
			s.Agreed++
		}
		sum += a.regret
		regrets = append(regrets, a.regret)
	}
	s.Micros = float64(took.Microseconds()) / float64(len(answers))
	if n := len(regrets); n > 0 {
		slices.Sort(regrets)
		s.Mean, s.Median, s.P99, s.Worst = sum/float64(n), regrets[n/2], regrets[(n-1)*99/100], regrets[n-1]
	}
	return s
}
