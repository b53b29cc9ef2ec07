package main

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/yardmaster/yardmaster/agent"
	"github.com/yardmaster/yardmaster/agent/lp"
	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/serve/wire"
)

// exampleState is a state to try the command with.
//
//go:embed testdata/state.json
var exampleState []byte

type solveFlags struct {
	state   string
	policy  string
	run     string
	jobs    []int64
	explain bool
	example bool
	json    bool
}

func newSolve() *cobra.Command {
	var flags solveFlags
	c := &cobra.Command{
		Use:   "solve --state state.json --policy NAME",
		Short: "Decide one state from a file and say why",
		Long: `Decide one snapshot of a cluster with any policy: which job runs on which GPUs
with which plan. The state is the JSON that clusters send over NATS, with or
without its envelope; - reads it from standard input.

  yardmaster solve --example > state.json
  yardmaster solve --state state.json --policy two-stage
  yardmaster solve --state state.json --policy lp:srpt --explain
  yardmaster solve --state state.json --policy lp:srpt --job 7

--explain adds what the decision rests on. For a linear program: what it
pursues, the objective with a proven bound and the gap between them, the price
of a GPU of each type, which constraints bind. For the greedy policies and the
learned one: the scores of the candidates. --job says for single jobs what each
candidate was worth, what its GPUs would have been worth to others, and why the
job got what it got; of policies that divide a job's time over many rounds, how
much of what it is due it has had so far.

yardmaster agents lists the policies; learned is that of --run, and NAME@FILE
takes the numbers of a file of yardmaster tune.`,
		Args: exactArgs(),
		RunE: func(c *cobra.Command, _ []string) error {
			if flags.example {
				_, err := c.OutOrStdout().Write(exampleState)
				return err
			}
			for _, name := range []string{"state", "policy"} {
				if err := requireFlag(c, name); err != nil {
					return err
				}
			}
			return solve(c.Context(), c.InOrStdin(), c.OutOrStdout(), flags)
		},
	}
	f := c.Flags()
	f.StringVar(&flags.state, "state", "", "file with the state; - is standard input")
	f.StringVar(&flags.policy, "policy", "", "policy that decides")
	f.StringVar(&flags.run, "run", "", "run directory that holds the policy learned")
	f.BoolVar(&flags.explain, "explain", false, "say what the decision rests on")
	f.Int64SliceVar(&flags.jobs, "job", nil, "ids of jobs to explain")
	f.BoolVar(&flags.example, "example", false, "print a state to start from, and nothing else")
	f.BoolVar(&flags.json, "json", false, "print JSON")
	return c
}

// maxState bounds what is read of a state: many times the largest message.
const maxState = 1 << 30

func solve(ctx context.Context, stdin io.Reader, stdout io.Writer, flags solveFlags) error {
	s, err := readState(flags.state, stdin)
	if err != nil {
		return err
	}
	for _, id := range flags.jobs {
		if indexOfJob(s, id) < 0 {
			return usageError{fmt.Errorf("--job %d: %s has no such job", id, flags.state)}
		}
	}
	p, err := newPolicy(flags.policy, flags.run)
	if err != nil {
		return err
	}
	d, err := decideOnce(ctx, s, p, flags)
	if err != nil {
		return err
	}
	if flags.json {
		return writeJSON(stdout, d.export())
	}
	return d.render(stdout)
}

// decision is what a policy made of a state.
type decision struct {
	state  *env.State
	policy string
	jobs   []int64 // to explain
	full   bool    // explain
	took   time.Duration

	allocation env.Allocation
	program    *lp.Explanation // of linear programs that are explained
	scores     [][]float64     // of greedy policies that are explained
}

// explainer is a policy that solves a linear program.
type explainer interface {
	Explain(ctx context.Context, s *env.State) (*lp.Explanation, error)
}

// scorer is a policy that goes by a score of each candidate.
type scorer interface {
	Scores(s *env.State) [][]float64
}

func decideOnce(ctx context.Context, s *env.State, p agent.Policy, flags solveFlags) (*decision, error) {
	d := &decision{state: s, policy: flags.policy, jobs: flags.jobs, full: flags.explain}
	explained := flags.explain || len(flags.jobs) > 0
	start := time.Now()
	var err error
	if e, can := p.(explainer); can && explained {
		if d.program, err = e.Explain(ctx, s); err == nil {
			d.allocation = d.program.Allocation
		}
	} else {
		d.allocation, err = p.Decide(ctx, s)
	}
	if err != nil {
		return nil, err
	}
	d.took = time.Since(start)
	if err := d.allocation.Validate(s); err != nil {
		return nil, fmt.Errorf("%s broke its contract: %w", flags.policy, err)
	}
	if p, can := p.(scorer); can && explained {
		d.scores = p.Scores(s)
	}
	return d, nil
}

func indexOfJob(s *env.State, id int64) int {
	for i := range s.Jobs {
		if s.Jobs[i].ID == id {
			return i
		}
	}
	return -1
}

// readState reads and validates a state: a message of clusters, or the state in
// it alone, which may be larger than a message.
func readState(path string, stdin io.Reader) (*env.State, error) {
	in := stdin
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		in = f
	}
	data, err := io.ReadAll(io.LimitReader(in, maxState+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if len(data) > maxState {
		return nil, fmt.Errorf("%s: more than %d bytes", path, maxState)
	}
	s, err := decodeState(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return s, nil
}

func decodeState(data []byte) (*env.State, error) {
	var envelope struct {
		Schema *string `json:"schema"`
	}
	if err := json.Unmarshal(data, &envelope); err == nil && envelope.Schema != nil {
		m, err := wire.DecodeState(data)
		if err != nil {
			return nil, err
		}
		return &m.State, nil
	}
	var s env.State
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&s); err != nil {
		return nil, fmt.Errorf("%w (want a state as in yardmaster solve --example)", lineOf(data, decoder, err))
	}
	if rest := bytes.TrimSpace(data[decoder.InputOffset():]); len(rest) > 0 {
		return nil, errors.New("more follows after the state, want one state")
	}
	return &s, s.Validate()
}

// lineOf adds the line of data at which decoder failed.
func lineOf(data []byte, decoder *json.Decoder, err error) error {
	at := decoder.InputOffset()
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		at = syntax.Offset
	} else if mismatch, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		at = mismatch.Offset
	}
	at = min(at, int64(len(data)))
	return fmt.Errorf("line %d: %w", 1+bytes.Count(data[:at], []byte{'\n'}), err)
}

// planOf describes the plan of a strategy: "data 2 × tensor 4, zero 1".
func planOf(p *env.Plan) string {
	var degrees []string
	for _, x := range []struct {
		name   string
		degree int
	}{{"data", p.Data}, {"tensor", p.Tensor}, {"pipeline", p.Pipeline}} {
		if x.degree > 1 {
			degrees = append(degrees, fmt.Sprintf("%s %d", x.name, x.degree))
		}
	}
	text := strings.Join(degrees, " × ")
	if text == "" {
		text = "single"
	}
	if p.ZeRO > 0 {
		text += fmt.Sprintf(", zero %d", p.ZeRO)
	}
	if p.Checkpoint {
		text += ", checkpoint"
	}
	if p.Offload {
		text += ", offload"
	}
	return text
}

// resources describes what a strategy takes: "2 × H100", "1/2 of 1 × A100".
func resources(s *env.State, st *env.Strategy) string {
	text := fmt.Sprintf("%d × %s", st.GPUs, printable(s.Cluster.Types[st.Type].Name))
	if st.Share > 1 {
		text = fmt.Sprintf("1/%d of %s", st.Share, text)
	}
	return text
}

// relativeSpeed returns the throughput of strategy k of j over that of its
// fastest.
func relativeSpeed(j *env.JobState, k int) float64 {
	best := 0.0
	for i := range j.Strategies {
		best = math.Max(best, j.Strategies[i].Throughput)
	}
	return j.Strategies[k].Throughput / best
}

// changeOf says what happens to a job under strategy k.
func changeOf(j *env.JobState, k int) string {
	switch {
	case k == env.Idle && j.Current == env.Idle:
		return "waits"
	case k == env.Idle:
		return "stops"
	case k == j.Current:
		return "goes on"
	case j.Current == env.Idle:
		return "starts"
	}
	return "moves"
}
