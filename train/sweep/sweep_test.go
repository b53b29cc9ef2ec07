package sweep

import (
	"bytes"
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/yardmaster/yardmaster/train/runfile"
)

func trialsOf(t testing.TB, s Space) []Trial {
	t.Helper()
	trials, err := s.List(runfile.Defaults())
	if err != nil {
		t.Fatal(err)
	}
	return trials
}

// values lists the settings of trials, without their keys.
func values(trials []Trial) (all []string) {
	for _, t := range trials {
		var v []string
		for _, s := range t.Settings {
			v = append(v, s.Value)
		}
		all = append(all, strings.Join(v, " "))
	}
	return all
}

func TestGridHasEveryCombination(t *testing.T) {
	s := Space{Grid: []Axis{{"ppo.rate", []string{"1e-4", "3e-4"}}, {"network.hidden", []string{"8", "16", "32"}}}}
	trials := trialsOf(t, s)
	want := []string{"1e-4 8", "1e-4 16", "1e-4 32", "3e-4 8", "3e-4 16", "3e-4 32"}
	if diff := cmp.Diff(want, values(trials)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if f := trials[4].File; f.PPO.Rate != 3e-4 || f.Network.Hidden != 16 || f.PPO.Clip != 0.2 {
		t.Errorf("trial 5 has rate %g, width %d, clip %g, want 3e-4, 16 and the default 0.2", f.PPO.Rate, f.Network.Hidden, f.PPO.Clip)
	}
	s.Trials = 4
	if diff := cmp.Diff(want[:4], values(trialsOf(t, s))); diff != "" {
		t.Errorf("with 4 trials (-want +got):\n%s", diff)
	}
}

// Draws stay in their range, a longer sweep begins with the trials of a shorter
// one, and another setting does not shift them.
func TestDraws(t *testing.T) {
	s := Space{Trials: 40, Random: []Draw{{Key: "ppo.rate", Low: 1e-5, High: 1e-2, Log: true}, {Key: "ppo.epochs", Low: 1, High: 6}}}
	trials := trialsOf(t, s)
	below := 0
	epochs := make(map[int]bool)
	for _, x := range trials {
		if r := x.File.PPO.Rate; r < 1e-5 || r > 1e-2 {
			t.Errorf("rate %g, want 1e-5 to 1e-2", r)
		} else if r < math.Sqrt(1e-5*1e-2) {
			below++
		}
		epochs[x.File.PPO.Epochs] = true
	}
	if below < 10 || below > 30 {
		t.Errorf("%d of 40 rates are below the middle of the logarithms, want about half", below)
	}
	if len(epochs) != 6 {
		t.Errorf("drew %d numbers of epochs, want all of 1 to 6", len(epochs))
	}
	s.Trials = 10
	if got := values(trialsOf(t, s)); !slices.Equal(got, values(trials)[:10]) {
		t.Errorf("10 trials are %v, want the first of 40", got)
	}
	s.Random = append([]Draw{{Key: "ppo.clip", Values: []string{"0.1", "0.2"}}}, s.Random...)
	for i, x := range trialsOf(t, s) {
		if x.File.PPO.Rate != trials[i].File.PPO.Rate {
			t.Errorf("trial %d: another setting shifted the draws", i)
		}
	}
	s.Seed = 2
	if trialsOf(t, s)[0].File.PPO.Rate == trials[0].File.PPO.Rate {
		t.Error("another seed draws the same")
	}
}

// Trials that are drawn twice are trained once, however their values are written.
func TestListHasNoDoubles(t *testing.T) {
	if got := len(trialsOf(t, Space{Trials: 50, Random: []Draw{{Key: "ppo.falls", Values: []string{"true", "false"}}}})); got != 2 {
		t.Errorf("got %d trials, want 2", got)
	}
	if got := len(trialsOf(t, Space{Grid: []Axis{{"ppo.rate", []string{"1e-4", "0.0001", "3e-4"}}}})); got != 2 {
		t.Errorf("got %d trials of two rates, one of them written twice, want 2", got)
	}
}

func TestListRefuses(t *testing.T) {
	for name, test := range map[string]struct {
		space Space
		want  string
	}{
		"nothing":   {Space{}, "nothing to search"},
		"unknown":   {Space{Grid: []Axis{{"ppo.rat", []string{"1"}}}}, "perhaps ppo.rate"},
		"all wrong": {Space{Grid: []Axis{{"ppo.clip", []string{"7", "8"}}}}, "ppo.clip is 7, want a number: more than 0, less than 1\nsweep: ppo.clip is 8"},
		"range":     {Space{Trials: 1, Random: []Draw{{Key: "ppo.clip", Low: 0, High: 0.2}}}, "ppo.clip is 0, want"},
		"no range":  {Space{Trials: 1, Random: []Draw{{Key: "teacher", Low: 0, High: 1}, {Key: "ppo.falls", Low: 0, High: 1}}}, "ppo.falls is 0, want"},
		"empty":     {Space{Grid: []Axis{{"ppo.clip", nil}}}, "ppo.clip has no values"},
		"huge":      {Space{Grid: []Axis{{"ppo.clip", make([]string, 200)}, {"ppo.rate", make([]string, 200)}}}, "more than 10000"},
		"trials":    {Space{Trials: -1, Grid: []Axis{{"ppo.clip", []string{"0.1"}}}}, "-1 trials"},
	} {
		if _, err := test.space.List(runfile.Defaults()); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %q", name, err, test.want)
		}
	}
}

func TestExampleIsRead(t *testing.T) {
	f, err := decode([]byte(Example), "sweep.yaml")
	if err != nil {
		t.Fatal(err)
	}
	want := &File{Run: "run.yaml", Set: []Setting{{"ppo.iterations", "20"}}, Space: Space{
		Grid: []Axis{{"ppo.rate", []string{"1e-4", "3e-4"}}},
		Random: []Draw{
			{Key: "ppo.clip", Low: 0.1, High: 0.3},
			{Key: "es.rate", Low: 0.01, High: 0.3, Log: true},
			{Key: "network.hidden", Values: []string{"16", "32", "64"}},
		},
		Trials: 12, Seeds: 3, Seed: 1,
	}}
	if diff := cmp.Diff(want, f); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if trials := trialsOf(t, f.Space); len(trials) != 12 {
		t.Errorf("got %d trials, want 12", len(trials))
	}
}

// What is written reads back.
func TestFilesReadBack(t *testing.T) {
	text := rapid.StringMatching(`[ -~]{1,12}`)
	rapid.Check(t, func(t *rapid.T) {
		f := &File{Run: text.Draw(t, "run")}
		for i := range rapid.IntRange(0, 3).Draw(t, "set") {
			f.Set = append(f.Set, Setting{"s" + strconv.Itoa(i), text.Draw(t, "value")})
		}
		for i := range rapid.IntRange(0, 3).Draw(t, "grid") {
			f.Space.Grid = append(f.Space.Grid, Axis{"g" + strconv.Itoa(i), rapid.SliceOfN(text, 1, 3).Draw(t, "values")})
		}
		for i := range rapid.IntRange(0, 3).Draw(t, "random") {
			low := rapid.Float64Range(1e-9, 1).Draw(t, "low")
			d := Draw{Key: "r" + strconv.Itoa(i), Low: low, High: low * 2, Log: rapid.Bool().Draw(t, "log")}
			if rapid.Bool().Draw(t, "list") {
				d = Draw{Key: d.Key, Values: rapid.SliceOfN(text, 1, 3).Draw(t, "values")}
			}
			f.Space.Random = append(f.Space.Random, d)
		}
		f.Space.Trials, f.Space.Seeds, f.Space.Seed = rapid.IntRange(0, 9).Draw(t, "trials"), rapid.IntRange(0, 9).Draw(t, "seeds"), rapid.Uint64Range(0, 9).Draw(t, "seed")
		got, err := decode(f.Encode(), "f")
		if err != nil {
			t.Fatalf("%v in\n%s", err, f.Encode())
		}
		if diff := cmp.Diff(f, got); diff != "" {
			t.Fatalf("(-want +got):\n%s\n%s", diff, f.Encode())
		}
	})
}

func TestMistakesInFiles(t *testing.T) {
	for name, test := range map[string]struct{ text, want string }{
		"entry":    {"seed: 1\ntries: 3", "f:2: tries is no entry of a sweep"},
		"no list":  {"grid:\n  ppo.rate: 3", "f:1: grid: ppo.rate is 3, want a list"},
		"no range": {"random:\n  ppo.rate: log:3", `f:1: random: ppo.rate is drawn from "log:3"`},
		"backward": {"random:\n  ppo.rate: 3..1", "LOW below HIGH"},
		"no count": {"trials: many", "f:1: trials is many, want a whole number"},
		"zero":     {"seeds: 0", "f:1: seeds is 0, want"},
		"no run":   {"run:", "f:1: run: nothing stands after the key"},
		"no file":  {"- 1", "f: no sweep"},
		"settings": {"set: 3", "f:1: set is 3, want settings"},
	} {
		if _, err := decode([]byte(test.text), "f"); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %q", name, err, test.want)
		}
	}
}

// trainer trains nothing: a run's score is its rate.
type trainer struct {
	calls atomic.Int64
	stop  int64 // after so many runs
	end   context.CancelFunc
}

var errFailed = errors.New("loss is not finite")

func (x *trainer) train(ctx context.Context, _ int, dir string, f *runfile.File) (float64, error) {
	if ctx.Err() != nil {
		return 0, ctx.Err()
	}
	if n := x.calls.Add(1); n == x.stop {
		x.end()
	}
	if f.PPO.Rate > 0.5 {
		return 0, errFailed
	}
	return f.PPO.Rate + float64(f.Seed)/100, os.MkdirAll(dir, 0o755)
}

func config(t *testing.T, dir string, x *trainer) Config {
	t.Helper()
	return Config{
		Dir: dir, Seeds: 2, Train: x.train,
		Trials: trialsOf(t, Space{Grid: []Axis{{"ppo.rate", []string{"0.3", "0.9", "0.1", "0.2"}}}}),
	}
}

func TestRunKeepsWhatIsFinished(t *testing.T) {
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(context.Background())
	x := &trainer{stop: 3, end: cancel}
	if _, err := Run(ctx, config(t, dir, x)); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v, want context.Canceled", err)
	}
	if x.calls.Load() != 3 {
		t.Fatalf("%d runs began, want 3", x.calls.Load())
	}
	x = new(trainer)
	cfg := config(t, dir, x)
	var seen []int
	cfg.Finished = func(p Progress) { seen = append(seen, p.Done) }
	outcomes, err := Run(context.Background(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	if x.calls.Load() != 6 { // of 8, 2 were finished; the one that failed is tried again
		t.Errorf("%d runs were trained, want 6", x.calls.Load())
	}
	if !slices.Equal(seen, []int{1, 2, 3, 4, 5, 6, 7, 8}) {
		t.Errorf("reported %v", seen)
	}
	rows := Rank(cfg.Trials, outcomes)
	var order []string
	for _, r := range rows {
		order = append(order, r.Settings[0].Value)
	}
	if !slices.Equal(order, []string{"0.1", "0.2", "0.3", "0.9"}) {
		t.Errorf("ranked %v, want the lowest first and what failed last", order)
	}
	if math.Abs(rows[0].Mean-0.115) > 1e-12 || rows[3].Error != "seed 1: loss is not finite" {
		t.Errorf("got %+v", rows)
	}
	var b bytes.Buffer
	if err := Render(&b, rows, func(x float64) string { return strconv.FormatFloat(x, 'f', 3, 64) }); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"rank  ppo.rate  mean    ± 95 %  seeds  run\n", "1     0.1       0.115   0.064   2      trials/", "failed", "trial 2 failed: seed 1: loss"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("got\n%swant %q in it", b.String(), want)
		}
	}
}

// Any number of runs at the same time comes to the same.
func TestRunInParallel(t *testing.T) {
	var want [][]Outcome
	for _, parallel := range []int{1, 3, 20} {
		cfg := config(t, t.TempDir(), new(trainer))
		cfg.Parallel = parallel
		got, err := Run(context.Background(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		for i := range got {
			for k := range got[i] {
				got[i][k].Seconds = 0
			}
		}
		if want == nil {
			want = got
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%d at the same time (-one +got):\n%s", parallel, diff)
		}
	}
}

// A run is known by what it depends on.
func TestHash(t *testing.T) {
	cfg := Config{Data: "x"}
	base := cfg.hash(runfile.Defaults())
	for name, change := range map[string]func(f *runfile.File){
		"rate": func(f *runfile.File) { f.PPO.Rate *= 2 }, "seed": func(f *runfile.File) { f.Seed++ }, "prior": func(f *runfile.File) { f.Prior.Weights["moves"]++ },
	} {
		f := runfile.Defaults()
		change(f)
		if cfg.hash(f) == base {
			t.Errorf("another %s has the same hash", name)
		}
	}
	f := runfile.Defaults()
	f.Scenario.Trace = "a/jobs.parquet"
	g := f.Clone()
	g.Scenario.Trace, g.Checkpoints = "/b/jobs.parquet", 9
	if cfg.hash(f) != cfg.hash(g) {
		t.Error("where files are changes the hash")
	}
	if (&Config{Data: "y"}).hash(f) == cfg.hash(f) {
		t.Error("other data have the same hash")
	}
}

// Student's t, from the table of any textbook: 12.706 with one degree of freedom,
// 2.776 with four.
func TestInterval(t *testing.T) {
	mean, half := interval([]float64{1, 3})
	if mean != 2 || math.Abs(half-12.706) > 1e-3 {
		t.Errorf("got %g ± %g, want 2 ± 12.706", mean, half)
	}
	mean, half = interval([]float64{1, 2, 3, 4, 5})
	if want := 2.776 * math.Sqrt(2.5) / math.Sqrt(5); mean != 3 || math.Abs(half-want) > 1e-3 {
		t.Errorf("got %g ± %g, want 3 ± %g", mean, half, want)
	}
	if mean, half = interval([]float64{7}); mean != 7 || half != 0 {
		t.Errorf("got %g ± %g, want 7 ± 0", mean, half)
	}
}

func TestADamagedOutcomeIsNamed(t *testing.T) {
	dir := t.TempDir()
	cfg := config(t, dir, new(trainer))
	outcomes, err := Run(context.Background(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, outcomes[0][0].Dir, resultFile)
	if err := os.WriteFile(path, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	outcomes, err = Run(context.Background(), cfg)
	if err != nil || !strings.Contains(outcomes[0][0].Error, path) {
		t.Errorf("got %+v, %v, want an outcome that names %s", outcomes[0][0], err, path)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(Example))
	f.Add([]byte("grid: {a: [1, [2, 3]]}\nrandom: {b: log:1..2}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := decode(data, "f")
		if err != nil {
			return
		}
		if _, err := decode(file.Encode(), "f"); err != nil && len(data) < 1<<16 {
			t.Errorf("%v in\n%s", err, file.Encode())
		}
	})
}
