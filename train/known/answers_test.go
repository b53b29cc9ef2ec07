package known

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/yardmaster/yardmaster/models/nn"
	"github.com/yardmaster/yardmaster/train/cputime"
)

// seeds of every answer.
const seeds = 5

// answers reports whether YARDMASTER_KNOWN_ANSWERS asks for the whole of them:
// minutes of one processor.
func answers(t *testing.T) {
	t.Helper()
	if os.Getenv("YARDMASTER_KNOWN_ANSWERS") == "" {
		t.Skip("the whole takes minutes: make known-answers")
	}
}

// table is what `make known-answers` prints: a line for each seed, then the mean.
type table struct {
	lines []string
	sum   float64
	n     int
}

func (x *table) add(name string, seed int, value float64, spent time.Duration) {
	x.lines = append(x.lines, fmt.Sprintf("%-22s seed %d   %9.4f   %6.2f s CPU", name, seed, value, spent.Seconds()))
	x.sum += value
	x.n++
}

func (x *table) print(name, published string) {
	x.lines = append(x.lines, fmt.Sprintf("%-22s mean     %9.4f   %s", name, x.mean(), published))
	fmt.Println(strings.Join(x.lines, "\n"))
}

func (x *table) mean() float64 { return x.sum / float64(x.n) }

// RL Baselines3 Zoo reports 500 ± 0 for its settings: every seed balances until the
// limit in the end.
func TestAnswerCartPoleZoo(t *testing.T) {
	answers(t)
	var x table
	for seed := 1; seed <= seeds; seed++ {
		got := balance(t, &x, Zoo(), seed)
		if got < 499 {
			t.Errorf("seed %d: mean of the last 100 returns is %v, want 500 ± 1", seed, got)
		}
	}
	x.print("CartPole, zoo", "published 500.0 ± 0.0")
}

// CleanRL reports 490 ± 6 and 10.5 minutes for its settings.
func TestAnswerCartPoleCleanRL(t *testing.T) {
	answers(t)
	var x table
	for seed := 1; seed <= seeds; seed++ {
		balance(t, &x, CleanRL(), seed)
	}
	x.print("CartPole, CleanRL", "published 490.0 ± 6.1 in 630 s")
	if x.mean() < 490 {
		t.Errorf("mean over the seeds is %v, want at least 490", x.mean())
	}
}

// balance trains for one seed and adds it to x.
func balance(t *testing.T, x *table, s Settings, seed int) float64 {
	t.Helper()
	start := cputime.Spent()
	returns, err := Balance(context.Background(), s, uint64(seed))
	if err != nil {
		t.Fatal(err)
	}
	if len(returns) < 100 {
		t.Fatalf("%d episodes ended, want 100", len(returns))
	}
	got := LastMean(returns, 100)
	x.add("CartPole, "+s.Name, seed, got, cputime.Spent()-start)
	return got
}

// learn trains networks for the machines and holds each seed to a gap.
func learn(t *testing.T, name string, hidden int, most float64, train func(p *nn.Params, seed uint64) error) {
	t.Helper()
	answers(t)
	var x table
	for seed := 1; seed <= seeds; seed++ {
		start := cputime.Spent()
		p := NewMachinesParams(uint64(seed), hidden)
		if err := train(p, uint64(seed)); err != nil {
			t.Fatal(err)
		}
		spent := cputime.Spent() - start
		got := ratio(t, p)
		x.add("machines, "+name, seed, got, spent)
		if got > most {
			t.Errorf("%s, seed %d: %.4f of the optimum, want at most %.3f", name, seed, got, most)
		}
	}
	greedy, err := Ratio(held, Shortest)
	if err != nil {
		t.Fatal(err)
	}
	x.print("machines, "+name, fmt.Sprintf("shortest job first %.4f", greedy))
}

func ratio(t *testing.T, p *nn.Params) float64 {
	t.Helper()
	got, err := NetworkRatio(held, p)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestAnswerMachinesCloning(t *testing.T) {
	learn(t, "cloning", 32, 1.02, fullClone)
}

// fullClone clones 300 optimal instances.
func fullClone(p *nn.Params, seed uint64) error { return Clone(context.Background(), p, seed, 300, 20) }

func TestAnswerMachinesPPO(t *testing.T) {
	learn(t, "PPO", 32, 1.025, func(p *nn.Params, seed uint64) error {
		return Improve(context.Background(), p, seed, FromScratch())
	})
}

func TestAnswerMachinesEvolution(t *testing.T) {
	learn(t, "evolution", 4, 1.025, func(p *nn.Params, seed uint64) error {
		return Evolve(p, seed, Evolution(), 220, 24)
	})
}

// Reinforcement that takes over from cloning makes the policy worse by no more than
// 1 % at any time.
func TestAnswerMachinesHandover(t *testing.T) {
	answers(t)
	for seed := uint64(1); seed <= seeds; seed++ {
		start := cputime.Spent()
		p := NewMachinesParams(seed, 32)
		if err := fullClone(p, seed); err != nil {
			t.Fatal(err)
		}
		cloned, worst := ratio(t, p), 0.0
		s := FromClone()
		s.Each = func(_ int, p *nn.Params) error {
			worst = max(worst, ratio(t, p)/cloned-1)
			return nil
		}
		if err := Improve(context.Background(), p, seed, s); err != nil {
			t.Fatal(err)
		}
		fmt.Printf("%-22s seed %d   %9.4f   from %.4f, worst dip %.2f %%, %.2f s CPU with checks\n",
			"machines, handover", seed, ratio(t, p), cloned, 100*worst, (cputime.Spent() - start).Seconds())
		if worst > 0.01 {
			t.Errorf("seed %d: the policy got worse by %.2f %% on the way, want at most 1 %%", seed, 100*worst)
		}
	}
}
