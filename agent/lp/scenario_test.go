package lp

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/yardmaster/yardmaster/env"
)

var rewrite = flag.Bool("rewrite", false, "rewrite the expected output in testdata")

// TestScenarios plays the scripts in testdata. A script is a list of blocks: a
// command and its input, a line "----", and what the command printed. After a
// change of behaviour run go test ./agent/lp -rewrite and read the diff.
//
//	cluster [knowledge=k]
//	TYPE gpus=n                                        one line per type
//	jobs
//	ID gpus=n [weight=x] [left=x] [done=x] [age=d]     one line per job ...
//	  TYPE:GPUS speed=x [restart=d] [runs]             ... and per strategy
//	solve NAME                                         answer and allocation
//	rounds NAME n=x                                    n rounds without restarts:
//	                                                   steps per job, and rounds per strategy
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
			got := playScript(t, string(want))
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
func playScript(t *testing.T, script string) string {
	var out strings.Builder
	x := &player{t: t}
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
	t     *testing.T
	state env.State
}

func (x *player) do(lines []string) string {
	first, a := x.split(lines[0])
	switch first {
	case "cluster":
		x.cluster(a, lines[1:])
	case "jobs":
		x.jobs(lines[1:])
	case "solve":
		return x.solve(strings.Fields(lines[0])[1])
	case "rounds":
		return x.rounds(strings.Fields(lines[0])[1], int(a.number("n", 0)))
	default:
		x.t.Fatalf("no command %q", first)
	}
	if len(x.state.Jobs) > 0 {
		if err := x.state.Validate(); err != nil {
			return err.Error()
		}
	}
	return fmt.Sprintf("%d jobs on %d GPUs", len(x.state.Jobs), x.state.Cluster.GPUs())
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

func (x *player) split(line string) (first string, rest args) {
	words := strings.Fields(line)
	rest = make(args)
	for _, w := range words[1:] {
		name, value, _ := strings.Cut(w, "=")
		rest[name] = value
	}
	return words[0], rest
}

func (x *player) cluster(a args, lines []string) {
	x.state = env.State{Now: 100 * time.Hour, RoundLen: 360 * time.Second}
	if err := x.state.Knowledge.UnmarshalText([]byte(a["knowledge"])); a["knowledge"] != "" && err != nil {
		x.t.Fatal(err)
	}
	for t, line := range lines {
		name, a := x.split(line)
		x.state.Cluster.Types = append(x.state.Cluster.Types, env.GPUType{Name: name})
		x.state.Cluster.Nodes = append(x.state.Cluster.Nodes, env.Node{Type: t, GPUs: int(a.number("gpus", 1))})
	}
}

func (x *player) jobs(lines []string) {
	x.state.Jobs = nil
	for _, line := range lines {
		first, a := x.split(line)
		if strings.HasPrefix(line, "  ") {
			j := &x.state.Jobs[len(x.state.Jobs)-1]
			name, gpus, _ := strings.Cut(first, ":")
			n, err := strconv.Atoi(gpus)
			if err != nil {
				x.t.Fatal(err)
			}
			if _, runs := a["runs"]; runs {
				j.Current = len(j.Strategies)
			}
			j.Strategies = append(j.Strategies, env.Strategy{
				Type: x.state.Cluster.TypeIndex(name), GPUs: n, Nodes: 1,
				Throughput: a.number("speed", 0), Restart: a.duration("restart"),
			})
			continue
		}
		id, err := strconv.ParseInt(first, 10, 64)
		if err != nil {
			x.t.Fatal(err)
		}
		x.state.Jobs = append(x.state.Jobs, env.JobState{
			ID: id, Batch: 1, GPUs: int(a.number("gpus", 1)), Weight: a.number("weight", 1),
			Submit: x.state.Now - a.duration("age"), Done: a.number("done", 0),
			Remaining: a.number("left", env.Unknown), Current: env.Idle,
		})
	}
}

func (x *player) solve(name string) string {
	p, err := New(name, Config{})
	if err != nil {
		return err.Error()
	}
	s, err := p.Solve(x.t.Context(), &x.state)
	if err != nil {
		return err.Error()
	}
	if err := s.Allocation.Validate(&x.state); err != nil {
		return err.Error()
	}
	var out strings.Builder
	fmt.Fprintf(&out, "%v: %.4f\n", s.Status, s.Objective)
	for t, price := range s.Prices {
		fmt.Fprintf(&out, "one %s more: %+.4f\n", x.state.Cluster.Types[t].Name, price)
	}
	for i := range x.state.Jobs {
		fmt.Fprintf(&out, "job %d", x.state.Jobs[i].ID)
		for _, share := range s.Shares {
			if share.Job == i {
				fmt.Fprintf(&out, " %s %.4f", x.name(i, share.Strategy), share.Weight)
			}
		}
		fmt.Fprintf(&out, " -> %s\n", x.name(i, s.Allocation[i]))
	}
	return out.String()
}

func (x *player) rounds(name string, n int) string {
	p, err := New(name, Config{})
	if err != nil {
		return err.Error()
	}
	ran := make([][]int, len(x.state.Jobs))
	for i := range ran {
		ran[i] = make([]int, len(x.state.Jobs[i].Strategies))
	}
	before := make([]float64, len(ran))
	for i := range before {
		before[i] = x.state.Jobs[i].Done
	}
	for range n {
		a, err := p.Decide(x.t.Context(), &x.state)
		if err != nil {
			return err.Error()
		}
		x.advance(a, ran)
	}
	var out strings.Builder
	for i := range ran {
		fmt.Fprintf(&out, "job %d %.4f steps/s:", x.state.Jobs[i].ID, (x.state.Jobs[i].Done-before[i])/(float64(n)*x.state.RoundLen.Seconds()))
		for k, rounds := range ran[i] {
			fmt.Fprintf(&out, " %s %d", x.name(i, k), rounds)
		}
		out.WriteByte('\n')
	}
	return out.String()
}

// advance lets one round pass in which nothing else happens.
func (x *player) advance(a env.Allocation, ran [][]int) {
	x.state.Now += x.state.RoundLen
	for i, k := range a {
		j := &x.state.Jobs[i]
		if j.Current = k; k != env.Idle {
			j.Done += j.Strategies[k].Throughput * x.state.RoundLen.Seconds()
			ran[i][k]++
		}
	}
}

func (x *player) name(job, k int) string {
	if k == env.Idle {
		return "waits"
	}
	st := &x.state.Jobs[job].Strategies[k]
	return fmt.Sprintf("%s:%d", x.state.Cluster.Types[st.Type].Name, st.GPUs)
}
