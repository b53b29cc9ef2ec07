package runfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/perf"
	"github.com/yardmaster/yardmaster/env/sim"
	"github.com/yardmaster/yardmaster/train"
	"github.com/yardmaster/yardmaster/train/tune"
)

// Every field of the structs that make up a File is documented, in its place, and
// nothing else is.
func TestEveryFieldIsDocumented(t *testing.T) {
	var fields, documented []string
	for _, x := range Defaults().fields() {
		fields = append(fields, x.key)
	}
	for _, k := range Keys() {
		documented = append(documented, k.Name)
		if k.About == "" || k.Allow.text == "" || k.Allow.has == nil {
			t.Errorf("%s: says %q and allows %q, want both", k.Name, k.About, k.Allow)
		}
	}
	if diff := cmp.Diff(fields, documented); diff != "" {
		t.Errorf("keys.go and keys_learn.go have to list what the structs have, in their order (-structs +keys):\n%s", diff)
	}
	if len(fields) < 80 {
		t.Errorf("found %d settings: the test does not see them", len(fields))
	}
}

// The sections of the fields are documented, and no others are.
func TestEverySectionIsDocumented(t *testing.T) {
	found := map[string]bool{}
	for _, x := range Defaults().fields() {
		for s, _, ok := cutLast(x.key); ok; s, _, ok = cutLast(s) {
			found[s] = true
		}
	}
	for _, s := range Sections() {
		if !found[s.Name] || s.About == "" {
			t.Errorf("section %s has no settings or no text", s.Name)
		}
		delete(found, s.Name)
	}
	if len(found) > 0 {
		t.Errorf("sections without a text: %v", found)
	}
}

// A train.Config has no setting that a file could not hold.
func TestNothingOfConfigIsLeftOut(t *testing.T) {
	elsewhere := map[string]bool{ // what the command knows
		"Dir": true, "Resume": true, "Warn": true, "NewEnv": true, "TrainSeeds": true, "Teacher": true, "Validate": true, "Costs": true,
		"Kind": true, "Provenance": true, "Progress": true,
	}
	for x := range reflect.TypeFor[train.Config]().Fields() {
		if _, ok := reflect.TypeFor[File]().FieldByName(x.Name); !ok && !elsewhere[x.Name] {
			t.Errorf("train.Config.%s is not in File", x.Name)
		}
	}
}

// The defaults are allowed, and written and read again they are the defaults.
func TestDefaultsReadBack(t *testing.T) {
	f := Defaults()
	for _, x := range f.fields() {
		if k, _ := find(x.key); !k.Allow.has(x.value) {
			t.Errorf("%s is %s by default, which is not allowed: %s", x.key, show(x.value), k.Allow)
		}
	}
	got := Defaults()
	clear(got.Prior.Weights)
	got.PPO.Rate, got.Scenario.Jobs = 0.5, 7
	keys, err := got.decode(f.Encode(), "run.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(f, got); diff != "" {
		t.Errorf("what was read differs from what was written (-want +got):\n%s", diff)
	}
	if len(keys) != len(f.fields()) {
		t.Errorf("the file has %d settings, want all %d", len(keys), len(f.fields()))
	}
}

// Whatever a File holds, it is read as it was written.
func TestFilesReadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := Defaults()
		f.Scenario.Trace = rapid.String().Filter(func(s string) bool { return !strings.ContainsRune(s, 0xFFFD) }).Draw(t, "trace")
		f.Scenario.Round = time.Duration(rapid.Int64Range(int64(time.Second), 1<<50).Draw(t, "round"))
		f.Scenario.Knowledge = rapid.SampledFrom([]env.Knowledge{env.Oracle, env.Estimate, env.None}).Draw(t, "knowledge")
		f.Scenario.Models = rapid.SliceOf(rapid.SampledFrom([]string{"LM", "A3C", "ResNet-50"})).Draw(t, "models")
		f.Teacher = rapid.StringMatching(`[ -~]{0,12}`).Draw(t, "teacher")
		if len(f.Scenario.Models) == 0 {
			f.Scenario.Models = nil
		}
		f.Seed = rapid.Uint64().Draw(t, "seed")
		f.PPO.Rate = rapid.Float64Range(1e-300, 0.9).Draw(t, "rate")
		f.PPO.Falls = rapid.Bool().Draw(t, "falls")
		f.Prior.Weights["moves"] = rapid.Float64Range(-1e9, 1e9).Draw(t, "weight")
		got := Defaults()
		if _, err := got.decode(f.Encode(), "run.yaml"); err != nil {
			t.Fatalf("%v in\n%s", err, f.Encode())
		}
		if diff := cmp.Diff(f, got); diff != "" {
			t.Fatalf("(-want +got):\n%s", diff)
		}
	})
}

// In a file 0 means 0: where that is allowed, what is trained has it, and not the
// default that 0 stands for in a Config.
func TestZeroIsZero(t *testing.T) {
	zeros := 0
	for _, x := range Defaults().fields() {
		section, _, _ := cutLast(x.key)
		k, _ := find(x.key)
		trained := section == "bc" || section == "es" || section == "ppo" || section == "network" || x.key == "checkpoints" || x.key == "prior.scale"
		if !trained && section != "tune" || !(x.value.CanFloat() || x.value.CanInt()) || !k.Allow.has(reflect.Zero(x.value.Type())) {
			continue
		}
		zeros++
		f := Defaults()
		if err := f.Set(x.key + "=" + show(reflect.Zero(x.value.Type()))); err != nil {
			t.Fatal(err)
		}
		got := filled(f)
		if y, _ := got.at(x.key); number(y.value) > 0 {
			t.Errorf("%s: 0 in the file trains with %s", x.key, show(y.value))
		}
	}
	if zeros < 8 {
		t.Errorf("found %d settings that may be 0: the test does not see them", zeros)
	}
}

// filled returns the settings that f trains with.
func filled(f *File) *File {
	var c train.Config
	f.Train(&c)
	c.FillDefaults()
	var u tune.Config
	f.Configure(&u)
	u.FillDefaults()
	u.Clone.FillDefaults()
	out := Defaults()
	out.Checkpoints, out.Network, out.Prior, out.BC, out.ES, out.PPO = c.Checkpoints, c.Network, c.Prior, c.BC, c.ES, c.PPO
	out.Tune.Tries, out.Tune.Decay = u.Engine.Tries, u.Clone.Decay
	return out
}

// Every setting of the learned policies arrives where it is used.
func TestEverySettingArrives(t *testing.T) {
	var before, after train.Config
	var tuneBefore, tuneAfter tune.Config
	for _, x := range Defaults().fields() {
		section, _, _ := cutLast(x.key)
		if strings.HasPrefix(section, "scenario") || section == "training" || section == "validation" || x.key == "only" || x.key == "teacher" {
			continue // used by the command, not by these
		}
		f := Defaults()
		f.Train(&before)
		f.Configure(&tuneBefore)
		y, _ := f.at(x.key)
		change(y.value)
		f.Train(&after)
		f.Configure(&tuneAfter)
		if reflect.DeepEqual(before, after) && reflect.DeepEqual(tuneBefore, tuneAfter) {
			t.Errorf("%s changes nothing", x.key)
		}
	}
}

// change makes a setting another one.
func change(v reflect.Value) {
	switch {
	case v.Kind() == reflect.Bool:
		v.SetBool(!v.Bool())
	case v.CanFloat():
		v.SetFloat(v.Float() + 1)
	case v.CanInt():
		v.SetInt(v.Int() + 1)
	case v.CanUint():
		v.SetUint(v.Uint() + 7)
	case v.Kind() == reflect.String:
		v.SetString(v.String() + "x")
	case v.Kind() == reflect.Map:
		v.Set(reflect.ValueOf(map[string]float64{"moves": 3}))
	default:
		panic(v.Type())
	}
}

func TestMistakesAreNamed(t *testing.T) {
	for name, test := range map[string]struct{ text, want string }{
		"unknown key":      {"ppo:\n  rats: 1", "f.yaml:2: ppo.rats is no setting: perhaps ppo.rate"},
		"wrong section":    {"bc:\n  clip: 1", "f.yaml:2: bc.clip is no setting: perhaps ppo.clip"},
		"far from any":     {"es:\n  momentum: 1", "f.yaml:2: es.momentum is no setting, es has es.pairs, es.sigma"},
		"unknown section":  {"\n\nsac:\n  rate: 1", "f.yaml:3: sac is no setting"},
		"text for number":  {"ppo:\n  rate: fast", "f.yaml:2: ppo.rate is fast, want a number: more than 0, less than 1"},
		"quoted number":    {"ppo:\n  rate: \"3\"", `f.yaml:2: ppo.rate is "3", want a number`},
		"fraction":         {"ppo:\n  epochs: 1.5", "f.yaml:2: ppo.epochs is 1.5, want a whole number: 1 or more"},
		"out of range":     {"ppo:\n  clip: 2", "f.yaml:2: ppo.clip is 2, want a number: more than 0, less than 1"},
		"zero":             {"ppo:\n  lambda: 0", "f.yaml:2: ppo.lambda is 0, want a number: more than 0, at most 1"},
		"negative":         {"ppo:\n  iterations: -1", "f.yaml:2: ppo.iterations is -1, want a whole number: 0 or more"},
		"infinite":         {"ppo:\n  target_kl: inf", "f.yaml:2: ppo.target_kl is +Inf, want a number: more than 0"},
		"time":             {"ppo:\n  horizon: 6", "f.yaml:2: ppo.horizon is 6, want a time: a time of 1ns"},
		"long round":       {"scenario:\n  round: 8760h1s", "f.yaml:2: scenario.round is 8760h0m1s, want a time: a time of 1s to 8760h, as in 90s"},
		"short round":      {"scenario:\n  round: 999ms", "f.yaml:2: scenario.round is 999ms, want a time: a time of 1s to 8760h, as in 90s"},
		"switch":           {"ppo:\n  falls: yes", "f.yaml:2: ppo.falls is yes, want a switch: true or false"},
		"name":             {"scenario:\n  knowledge: some", "f.yaml:2: scenario.knowledge is some, want text: oracle, estimate or none"},
		"list":             {"scenario:\n  split: [0.5, 0.5]", "f.yaml:2: scenario.split is [0.5, 0.5], want a list: three shares"},
		"in a list":        {"scenario:\n  switches:\n    shares: [2, x]", "f.yaml:3: scenario.switches.shares is [2, x], want a list"},
		"mapping":          {"prior:\n  weights: 3", "f.yaml:2: prior.weights is 3, want a mapping"},
		"column":           {"prior:\n  weights: {luck: 3}", "f.yaml:2: prior.weights is {luck: 3}, want a mapping: finite numbers by column, of is_stop"},
		"cluster":          {"scenario:\n  cluster: V100", "f.yaml:2: scenario.cluster: perf: cluster \"V100\""},
		"model":            {"scenario:\n  models: [LM, \"\"]", "f.yaml:2: scenario.models is [LM, \"\"], want a list: of A3C"},
		"catalogue":        {"scenario:\n  catalogue: own.yaml", "f.yaml:2: scenario.catalogue is own.yaml, want a list: a list of paths"},
		"sum":              {"scenario:\n  split: [0.5, 0.5, 0.5]", "f.yaml:2: scenario.split is [0.5, 0.5, 0.5], want a list: three shares"},
		"part":             {"scenario:\n  switches: {shares: [3]}", "f.yaml:2: scenario.switches.shares is [3], want a list: of 2, 4 and 8"},
		"pair":             {"scenario:\n  vary: {nodes: [0, 2]}", "f.yaml:2: scenario.vary.nodes is [0, 2], want a list: two numbers from 0.01"},
		"nothing":          {"ppo:\n  rate:\n  clip: 0.1", "f.yaml:2: ppo.rate: nothing stands after the key"},
		"no section":       {"ppo: 3", "f.yaml:1: ppo is 3, want a section"},
		"section as value": {"ppo:\n  rate:\n    first: 1", "f.yaml:2: ppo.rate is first: 1, want a number"},
		"no settings":      {"- a\n- b", "f.yaml: no settings"},
		"no YAML":          {"ppo: [", "f.yaml: [1:"},
		"twice":            {"seed: 1\nseed: 2", `f.yaml: [2:1] mapping key "seed" already defined`},
		"alias":            {"seed: &a 1", "f.yaml: an anchor"},
		"too large":        {"seed: 99999999999999999999", "f.yaml:1: seed is 99999999999999999999, want a whole number"},
	} {
		f := Defaults()
		_, err := f.decode([]byte(test.text), "f.yaml")
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %q", name, err, test.want)
		}
	}
}

// What a file may say of a scenario is what a scenario may be.
func TestTheLongestRound(t *testing.T) {
	f := Defaults()
	if err := f.Set("scenario.round=8760h"); err != nil || f.Scenario.Round != sim.MaxRound {
		t.Errorf("got %v, %v, want the longest round", f.Scenario.Round, err)
	}
}

func TestAllMistakesAreReportedAtOnce(t *testing.T) {
	_, err := Defaults().decode([]byte("seed: x\nppo:\n  clip: 7\n  rat: 1\n"), "f.yaml")
	if err == nil || strings.Count(err.Error(), "\n") != 2 {
		t.Errorf("got %v, want three lines", err)
	}
}

// A file that is wrong changes nothing.
func TestMergeIsAllOrNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run.yaml")
	write(t, path, "ppo:\n  rate: 0.5\n  clip: 7\n")
	f := Defaults()
	if err := f.Merge(path); err == nil {
		t.Error("got no error")
	}
	if diff := cmp.Diff(Defaults(), f); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestSet(t *testing.T) {
	f := Defaults()
	for _, s := range []string{
		"ppo.rate=1e-4", "scenario.cluster=V100=4,K80=4", "scenario.models=[LM, A3C]", "prior.weights.moves=-3", "scenario.round=90s",
		"scenario.knowledge=none", "ppo.falls=true", "seed=7", "teacher=lp:srpt", "scenario.split=[0.5, 0.25, 0.25]", "bc.passes=0",
	} {
		if err := f.Set(s); err != nil {
			t.Error(err)
		}
	}
	want := Defaults()
	want.PPO.Rate, want.Scenario.Cluster, want.Scenario.Models, want.Prior.Weights["moves"] = 1e-4, "V100=4,K80=4", []string{"LM", "A3C"}, -3
	want.Scenario.Round, want.Scenario.Knowledge, want.PPO.Falls, want.Seed = 90*time.Second, env.None, true, 7
	want.Teacher, want.Scenario.Split, want.BC.Passes = "lp:srpt", [3]float64{0.5, 0.25, 0.25}, 0
	if diff := cmp.Diff(want, f); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for s, want := range map[string]string{
		"ppo.rate":               "want KEY=VALUE",
		"ppo.rate=":              "ppo.rate is empty, want a number",
		"ppo.rat=1":              "perhaps ppo.rate",
		"ppo.clip=2":             "ppo.clip is 2, want a number: more than 0, less than 1",
		"scenario.models=LM":     "scenario.models is LM, want a list",
		"scenario.split=[":       "scenario.split is [:",
		"prior.weights.luck=1":   "want a mapping: finite numbers by column",
		"prior.weights.moves=no": "prior.weights.moves is no, want a finite number",
		"ppo=1":                  "ppo is no setting",
	} {
		if err := f.Set(s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", s, err, want)
		}
	}
	if diff := cmp.Diff(want, f); diff != "" {
		t.Errorf("the mistakes changed something (-want +got):\n%s", diff)
	}
}

// Paths are relative to the file's folder, wherever the program runs, and go along
// when the file and what it names are moved.
func TestPathsAreRelativeToTheFile(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	f := Defaults()
	f.Scenario.Trace = "traces/jobs.parquet"
	f.Scenario.Switches.Quotas = "/etc/quotas.parquet"
	f.Scenario.Catalogue = []string{"traces/a.yaml", "b.yaml"}
	if err := os.Mkdir("run", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := f.Save("run/run.yaml"); err != nil {
		t.Fatal(err)
	}
	t.Chdir("run")
	got, err := Read("run.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if want := filepath.Join("..", "traces", "jobs.parquet"); got.Scenario.Trace != want || got.Scenario.Switches.Colocation != "" {
		t.Errorf("the trace is %q, want %q; the colocation table %q, want none", got.Scenario.Trace, want, got.Scenario.Switches.Colocation)
	}
	t.Chdir(filepath.Dir(dir))
	got, err = Read(filepath.Join(filepath.Base(dir), "run", "run.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if want := filepath.Join(filepath.Base(dir), "traces", "jobs.parquet"); got.Scenario.Trace != want {
		t.Errorf("the trace is %q, want %q", got.Scenario.Trace, want)
	}
	if diff := cmp.Diff([]string{filepath.Join(filepath.Base(dir), "traces", "a.yaml"), filepath.Join(filepath.Base(dir), "b.yaml")}, got.Scenario.Catalogue); diff != "" {
		t.Errorf("the catalogue (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"traces/a.yaml", "b.yaml"}, f.Scenario.Catalogue); diff != "" {
		t.Errorf("saving the file changed it (-want +got):\n%s", diff)
	}
}

// Whether a GPU type or a model is known depends on files that a later setting may name.
func TestNamesAreChecked(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	write(t, "own.yaml", "gpus:\n  - {name: Mine, memory_gib: 48, peak_tflops: {fp32: 40}, memory_gb_s: 900, kernel_us: 8, link_gb_s: 31.5, network_gbit_s: 25}\n"+
		"models:\n  - {name: Tiny, forward_gflops: 1, parameters_m: 1, efficiency: 0.5, batches: [8]}\n")
	write(t, "run.yaml", "scenario:\n  models: [Tiny, LM]\n  cluster: Mine=4,V100=4\n")
	f, err := Read("run.yaml")
	if err != nil {
		t.Fatal(err)
	}
	err = f.CheckNames()
	unknown, ok := errors.AsType[*NameError](err)
	if !ok || unknown.Key != "scenario.cluster" || !errors.Is(err, perf.ErrUnknownGPU) {
		t.Errorf("got %v, want that scenario.cluster has an unknown GPU type", err)
	}
	for key, want := range map[string]string{"scenario.cluster": "run.yaml:3", "scenario.models": "run.yaml:2", "scenario.load": "", "ppo.rate": "", "scenario.cluster.x": ""} {
		if got := Place("run.yaml", key); got != want {
			t.Errorf("%s is at %q, want %q", key, got, want)
		}
	}
	if err := f.Set("scenario.catalogue=[own.yaml]"); err != nil {
		t.Fatal(err)
	}
	if err := f.CheckNames(); err != nil {
		t.Error(err)
	}
	f.Scenario.Models = []string{"Tinny"}
	if err := f.CheckNames(); !errors.Is(err, perf.ErrUnknownModel) || !strings.Contains(err.Error(), "perhaps Tiny") {
		t.Errorf("got %v, want an unknown model that is perhaps Tiny", err)
	}
	f.Scenario.Catalogue = []string{"none.yaml"}
	if err := f.CheckNames(); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "scenario.catalogue: open none.yaml") {
		t.Errorf("got %v, want that scenario.catalogue names a file that is not there", err)
	}
}

func TestCompare(t *testing.T) {
	a, b := Defaults(), Defaults()
	b.PPO.Rate, b.Scenario.Trace = 0.5, "x"
	want := []Difference{{"scenario.trace", `""`, "x"}, {"ppo.rate", "0.0003", "0.5"}}
	if diff := cmp.Diff(want, Compare(a, b)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte("ppo:\n  rate: 0.1\n"))
	f.Add([]byte("scenario: {split: [1, 2, 3], models: [a]}\nprior: {weights: {moves: 1}}"))
	f.Add([]byte("ppo: {rate: !!float 3, clip: |\n  x\n}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		file := Defaults()
		if _, err := file.decode(data, "f.yaml"); err != nil {
			return
		}
		again := Defaults()
		if _, err := again.decode(file.Encode(), "f.yaml"); err != nil {
			t.Fatalf("%v in\n%s", err, file.Encode())
		}
		if d := Compare(file, again); d != nil {
			t.Errorf("%q: written and read again it differs in %v", data, d)
		}
	})
}
