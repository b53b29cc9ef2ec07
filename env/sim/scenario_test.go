package sim

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/encode"
	"github.com/yardmaster/yardmaster/env/metrics"
)

var rewrite = flag.Bool("rewrite", false, "rewrite the expected output in testdata")

// TestScenarios plays the scripts in testdata. A script is a list of blocks: a
// command and its input, a line "----", and what the command printed. After a
// change of behaviour run go test ./env/sim -rewrite and read the diff.
//
//	cluster [round=d] [window=d] [knowledge=k] [spread=x] [max-rounds=n] [free-restarts] [free-placement]
//	    [spread-placement] [checkpoint=d] [outages=NODE:FROM:TO,...] [sigma=x] [profiling=d] [objective=o] [penalty=d]
//	TYPE GPUS...                              one line per type: the GPUs of each node
//	quotas                                    before the jobs
//	AT TENANT TYPE|any GPUS                   one line per change
//	interference [alone=x]                    before the jobs
//	MODEL MODEL x                             the factor of the first beside the second
//	jobs [seed=n]
//	ID submit=d gpus=n work=x [weight=x] [model=m] [tenant=t] [deadline=d] [fails=x] [cancel=d]
//	                                          one line per job ...
//	  TYPE gpus=n speed=x [nodes=n] [restart=d] [share=n]     ... and per strategy
//	advance [rounds=n] [ID=TYPE:GPUS[/SHARE]]...
//	                                          one allocation; the other jobs wait;
//	                                          prints the last round
//	pick ID=TYPE:GPUS                         one action of JobStrategy-v0
//	stop                                      the same
//	recent                                    State.Recent
//	schedule                                  the finished jobs
func TestScenarios(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts in testdata (%v)", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := playScript(string(want))
			if *rewrite {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := gocmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// playScript returns script with the output of its commands filled in.
func playScript(script string) string {
	var out strings.Builder
	x := &player{}
	for block := range strings.SplitSeq(strings.TrimRight(script, "\n"), "\n\n") {
		input, _, _ := strings.Cut(block, "\n----")
		var commands []string
		for line := range strings.SplitSeq(input, "\n") {
			if !strings.HasPrefix(line, "#") {
				commands = append(commands, line)
			}
		}
		out.WriteString(input)
		if len(commands) > 0 {
			fmt.Fprintf(&out, "\n----\n%s", strings.TrimRight(x.do(commands), "\n"))
		}
		out.WriteString("\n\n")
	}
	return strings.TrimRight(out.String(), "\n") + "\n"
}

// player runs the commands of one script.
type player struct {
	cfg        Config
	jobs       []env.Job
	strategies map[int64][]env.Strategy
	env        *JobStrategy
}

// Strategies implements Candidates.
func (x *player) Strategies(j *env.Job, _ *env.Cluster) ([]env.Strategy, error) {
	return x.strategies[j.ID], nil
}

// args holds the name=value words of a line; flags have an empty value.
type args map[string]string

func (a args) number(name string, missing float64) float64 {
	if a[name] == "" {
		return missing
	}
	v, err := strconv.ParseFloat(a[name], 64)
	if err != nil {
		panic(err)
	}
	return v
}

func (a args) duration(name string) time.Duration {
	if a[name] == "" {
		return 0
	}
	v, err := time.ParseDuration(a[name])
	if err != nil {
		panic(err)
	}
	return v
}

func (a args) has(name string) bool {
	_, ok := a[name]
	return ok
}

func split(line string) (first string, rest args) {
	words := strings.Fields(line)
	rest = make(args)
	for _, w := range words[1:] {
		name, value, _ := strings.Cut(w, "=")
		rest[name] = value
	}
	return words[0], rest
}

func (x *player) do(lines []string) string {
	command, a := split(lines[0])
	switch command {
	case "cluster":
		return x.cluster(a, lines[1:])
	case "quotas":
		return x.quotas(lines[1:])
	case "interference":
		return x.interference(a, lines[1:])
	case "jobs":
		return x.start(a, lines[1:])
	case "advance":
		return x.advance(a, strings.Fields(lines[0])[1:])
	case "pick", "stop":
		return x.act(strings.Fields(lines[0]))
	case "recent":
		w := x.env.State().Recent
		return fmt.Sprintf("last %v: %d jobs arrived for %d GPUs, %d completed after %.6g GPU-s (squares %.6g); mean %.4f waiting, %.4f running, %.4f GPUs busy",
			w.Length, w.Arrivals, w.ArrivedGPUs, w.Completed, w.CompletedService, w.CompletedSquare, w.Queue, w.Running, w.BusyGPUs)
	case "schedule":
		return x.schedule()
	}
	return "unknown command " + command
}

func (x *player) cluster(a args, lines []string) string {
	x.cfg = Config{
		Round: a.duration("round"), SpreadSlowdown: a.number("spread", 0), MaxRounds: int64(a.number("max-rounds", 0)),
		FreeRestarts: a.has("free-restarts"), FreePlacement: a.has("free-placement"), Window: a.duration("window"),
	}
	x.switches(a)
	if k := a["knowledge"]; k != "" {
		if err := x.cfg.Knowledge.UnmarshalText([]byte(k)); err != nil {
			return err.Error()
		}
	}
	for t, line := range lines {
		words := strings.Fields(line)
		x.cfg.Cluster.Types = append(x.cfg.Cluster.Types, env.GPUType{Name: words[0], PricePerHour: 1})
		for _, w := range words[1:] {
			gpus, _ := strconv.Atoi(w)
			x.cfg.Cluster.Nodes = append(x.cfg.Cluster.Nodes, env.Node{Type: t, GPUs: gpus})
		}
	}
	return fmt.Sprintf("%d GPUs on %d nodes", x.cfg.Cluster.GPUs(), len(x.cfg.Cluster.Nodes))
}

// switches sets what is off by default.
func (x *player) switches(a args) {
	x.cfg.Checkpoint, x.cfg.Profiling, x.cfg.ThroughputSigma = a.duration("checkpoint"), a.duration("profiling"), a.number("sigma", 0)
	x.cfg.FairnessPenalty = a.duration("penalty")
	if a.has("spread-placement") {
		x.cfg.Placement = Spread
	}
	if err := x.cfg.Objective.UnmarshalText([]byte(cmp.Or(a["objective"], "jct"))); err != nil {
		panic(err)
	}
	for word := range strings.SplitSeq(a["outages"], ",") {
		var o Outage
		var from, to string
		if n, _ := fmt.Sscanf(strings.ReplaceAll(word, ":", " "), "%d %s %s", &o.Node, &from, &to); n == 3 {
			o.From, o.To = args{"t": from}.duration("t"), args{"t": to}.duration("t")
			x.cfg.Failures.Outages = append(x.cfg.Failures.Outages, o)
		}
	}
}

func (x *player) quotas(lines []string) string {
	for _, line := range lines {
		words := strings.Fields(line)
		gpus, _ := strconv.Atoi(words[3])
		x.cfg.Quotas = append(x.cfg.Quotas, QuotaChange{
			At:    args{"t": words[0]}.duration("t"),
			Quota: env.Quota{Tenant: words[1], Type: x.cfg.Cluster.TypeIndex(words[2]), GPUs: gpus}, // "any" is -1
		})
	}
	return fmt.Sprintf("%d changes", len(x.cfg.Quotas))
}

// table is an Interference by models.
type table struct {
	alone   float64
	factors map[string]float64
}

func (t *table) Alone(*env.Job, *env.Strategy) float64 { return t.alone }

func (t *table) Beside(a *env.Job, _ *env.Strategy, b *env.Job, _ *env.Strategy) float64 {
	return t.factors[a.Model+" "+b.Model]
}

func (x *player) interference(a args, lines []string) string {
	t := &table{alone: a.number("alone", 1), factors: make(map[string]float64)}
	for _, line := range lines {
		words := strings.Fields(line)
		t.factors[words[0]+" "+words[1]] = args{"x": words[2]}.number("x", 0)
	}
	x.cfg.Interference = t
	return fmt.Sprintf("%d pairs", len(t.factors))
}

func (x *player) start(a args, lines []string) string {
	x.jobs, x.strategies = nil, make(map[int64][]env.Strategy)
	for _, line := range lines {
		first, b := split(line)
		if !strings.HasPrefix(line, " ") {
			id, _ := strconv.ParseInt(first, 10, 64)
			x.jobs = append(x.jobs, env.Job{
				ID: id, Model: cmp.Or(b["model"], "m"), Batch: 1, GPUs: int(b.number("gpus", 1)), Work: b.number("work", 0),
				Submit: b.duration("submit"), Weight: b.number("weight", 1), Tenant: b["tenant"],
				Deadline: b.duration("deadline"), Fails: b.number("fails", 0), Cancel: b.duration("cancel"),
			})
			continue
		}
		id := x.jobs[len(x.jobs)-1].ID
		x.strategies[id] = append(x.strategies[id], env.Strategy{
			Type: x.cfg.Cluster.TypeIndex(first), GPUs: int(b.number("gpus", 1)), Nodes: int(b.number("nodes", 1)),
			Throughput: b.number("speed", 0), Restart: b.duration("restart"), Share: int(b.number("share", 0)),
		})
	}
	x.cfg.Candidates = x
	x.cfg.Workload = func(uint64) ([]env.Job, error) { return slices.Clone(x.jobs), nil }
	e, err := NewJobStrategy(x.cfg)
	if err != nil {
		return err.Error()
	}
	if _, err := e.Reset(uint64(a.number("seed", 0))); err != nil {
		return err.Error()
	}
	x.env = e
	return x.state()
}

// choose returns the job and strategy that a word such as 3=fast:4 names.
func (x *player) choose(word string) (job, strategy int) {
	id, name, _ := strings.Cut(word, "=")
	s := x.env.State()
	job = slices.IndexFunc(s.Jobs, func(j env.JobState) bool { return strconv.FormatInt(j.ID, 10) == id })
	if job < 0 {
		return -1, -1
	}
	return job, slices.IndexFunc(s.Jobs[job].Strategies, func(st env.Strategy) bool { return x.name(st) == name })
}

func (x *player) name(st env.Strategy) string {
	name := fmt.Sprintf("%s:%d", x.cfg.Cluster.Types[st.Type].Name, st.GPUs)
	if st.Share > 1 {
		name += fmt.Sprintf("/%d", st.Share)
	}
	return name
}

func (x *player) advance(a args, words []string) string {
	var out strings.Builder
	for range int(a.number("rounds", 1)) {
		s := x.env.State()
		choice := env.NewAllocation(len(s.Jobs))
		for _, w := range words {
			if strings.HasPrefix(w, "rounds=") {
				continue
			}
			if job, k := x.choose(w); job >= 0 {
				choice[job] = k
			}
		}
		before := len(x.env.sim.finished)
		o, err := x.env.sim.Advance(choice)
		if err != nil {
			return err.Error()
		}
		out.Reset()
		fmt.Fprintf(&out, "elapsed=%v reward=%.6f\n", o.Elapsed, o.Reward)
		for _, j := range x.env.sim.finished[before:] {
			verb := j.Outcome.String()
			if j.Outcome == metrics.Completed {
				verb = "finished"
			}
			fmt.Fprintf(&out, "job %d %s at %v\n", j.ID, verb, j.Finish)
		}
		out.WriteString(x.state())
		if x.env.sim.Done() {
			break
		}
	}
	return out.String()
}

// state prints the state as policies see it, and the nodes of each job.
func (x *player) state() string {
	var out strings.Builder
	s := x.env.State()
	fmt.Fprintf(&out, "t=%v round=%d", s.Now, s.Round)
	for _, n := range s.Down {
		fmt.Fprintf(&out, " node %d is down", n)
	}
	if x.env.sim.terminated {
		out.WriteString(" terminated")
	}
	if x.env.sim.truncated {
		out.WriteString(" truncated")
	}
	out.WriteByte('\n')
	for i := range s.Jobs {
		j := &s.Jobs[i]
		fmt.Fprintf(&out, "job %d ", j.ID)
		if j.Current == env.Idle {
			fmt.Fprintf(&out, "waits for %v", j.Waiting)
		} else {
			fmt.Fprintf(&out, "runs on %s%s", x.name(j.Strategies[j.Current]), x.nodes(i))
		}
		fmt.Fprintf(&out, ": done=%.6g left=%.6g ran=%v restarts=%d service=%.6g", j.Done, j.Remaining, j.Ran, j.Restarts, j.Service)
		for k := range j.Strategies {
			if x.cfg.ThroughputSigma > 0 {
				fmt.Fprintf(&out, " %s=%.4g/s", x.name(j.Strategies[k]), j.Strategies[k].Throughput)
			}
		}
		out.WriteByte('\n')
	}
	for _, q := range s.Quotas {
		of := "all types"
		if q.Type != env.AnyType {
			of = s.Cluster.Types[q.Type].Name
		}
		fmt.Fprintf(&out, "tenant %s has at most %d GPUs of %s\n", q.Tenant, q.GPUs, of)
	}
	return out.String()
}

// nodes prints which nodes job i holds, as in " (4 of node 0, 2 of node 1)".
func (x *player) nodes(i int) string {
	var parts []string
	for g := x.env.sim.active[i].segment; g != none; g = x.env.sim.placement.segments[g].next {
		piece := x.env.sim.placement.segments[g]
		if piece.slot != none {
			k := x.env.State().Jobs[i].Current
			parts = append(parts, fmt.Sprintf("1/%d of shared GPU %d of node %d", x.env.State().Jobs[i].Strategies[k].Share, piece.slot, piece.node))
			continue
		}
		parts = append(parts, fmt.Sprintf("%d of node %d", piece.gpus, piece.node))
	}
	if parts == nil {
		return ""
	}
	slices.Reverse(parts)
	return " (" + strings.Join(parts, ", ") + ")"
}

// act takes one action of the environment and prints what is legal next.
func (x *player) act(words []string) string {
	action := env.Action(0)
	if words[0] == "pick" {
		job, k := x.choose(words[1])
		action = env.Action(slices.IndexFunc(x.env.encoder.Candidates(), func(c encode.Candidate) bool {
			return int(c.Job) == job && int(c.Strategy) == k
		}))
	}
	step, err := x.env.Step(action)
	switch {
	case errors.Is(err, env.ErrInvalidAction):
		return "invalid action"
	case err != nil:
		return err.Error()
	}
	var out strings.Builder
	if step.Elapsed > 0 {
		fmt.Fprintf(&out, "elapsed=%v reward=%.6f\n%s", step.Elapsed, step.Reward, x.state())
	}
	out.WriteString("legal:")
	for row, legal := range step.Observation.Mask {
		switch c := x.env.encoder.Candidates()[row]; {
		case !legal:
		case row == 0:
			out.WriteString(" stop")
		default:
			j := &x.env.State().Jobs[c.Job]
			fmt.Fprintf(&out, " %d=%s", j.ID, x.name(j.Strategies[c.Strategy]))
		}
	}
	return out.String()
}

func (x *player) schedule() string {
	var out strings.Builder
	s := x.env.Schedule()
	for i := range s.Jobs {
		j := &s.Jobs[i]
		fmt.Fprintf(&out, "job %d: JCT=%v start=%v restarts=%d service=%.6g ideal=%v isolated=%v rho=%.4f\n",
			j.ID, j.JCT(), j.Start, j.Restarts, j.Service, j.Ideal, j.Isolated, j.Rho())
		if j.Outcome != metrics.Completed || j.Interruptions > 0 || j.Tardiness() > 0 {
			fmt.Fprintf(&out, "  %v, %d interruptions, %v late\n", j.Outcome, j.Interruptions, j.Tardiness())
		}
	}
	fmt.Fprintf(&out, "%d GPUs from %v to %v: %.6g GPU-s busy, cost %.4f, %d rounds", s.GPUs, s.Start, s.End, s.BusyGPUSeconds, s.Cost, s.Rounds)
	return out.String()
}
