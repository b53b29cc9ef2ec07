package settings

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/yardmaster/yardmaster/serve"
	"github.com/yardmaster/yardmaster/serve/schematest"
)

// Every line of the table is whole: names that are unique and of one form, a
// meaning, a default within its bounds, sections in one piece.
func TestTable(t *testing.T) {
	key := regexp.MustCompile(`^([a-z_]+\.)?[a-z][a-z_]*[a-z]$`)
	seen := map[string]bool{}
	var order []string
	for _, s := range All() {
		if !key.MatchString(s.Key) {
			t.Errorf("%s: want section.name in lower case", s.Key)
		}
		if len(s.Doc) < 10 || strings.HasSuffix(s.Doc, ".") || strings.ContainsAny(s.Doc, "|\n") {
			t.Errorf("%s: documented as %q, want a phrase without a final stop that fits in a table", s.Key, s.Doc)
		}
		for _, name := range []string{s.Key, s.Env(), "--" + s.FlagName()} {
			if seen[name] {
				t.Errorf("%s: %s is taken", s.Key, name)
			}
			seen[name] = true
		}
		if section := s.Section(); len(order) == 0 || order[len(order)-1] != section {
			if slices.Contains(order, section) {
				t.Errorf("%s: section %q stands in two places", s.Key, section)
			}
			order = append(order, section)
		}
		p := s.at(new(Config))
		if s.Default != "" {
			if err := set(p, s.Default); err != nil {
				t.Fatalf("%s: default: %v", s.Key, err)
			}
			if got := show(p); got != s.Default {
				t.Errorf("%s: default %s is written %s", s.Key, s.Default, got)
			}
		}
		if err := s.check(p); err != nil {
			t.Errorf("%s: default: %v", s.Key, err)
		}
	}
}

// notSettings are the fields of serve.Config that no text can say.
var notSettings = map[string]string{
	"Guard.Policy":         "the model of run",
	"Guard.Fallback":       "fallback",
	"Guard.Greedy":         "one heuristic for all",
	"Guard.Configurer":     "the model of run",
	"Guard.ModelName":      "of the model",
	"Guard.ConfigurerName": "of the model",
	"Guard.NonFinite":      "a sentinel error",
	"Guard.Logger":         "log.level and log.format",
	"Guard.Memory":         "made by the service",
	"Guard.Stages":         "made by the service",
	"Guard.OnEvent":        "a callback",
	"Guard.OnComparison":   "a callback",
	"Broker.Logger":        "log.level and log.format",
	"Logger":               "log.level and log.format",
	"Options":              "nats.*",
	"Version":              "of the program",
	"Tracer":               "tracing.*",
	"Models.Log.Create":    "the file format of datasets",
	"Models.Log.Suffix":    "of the file format",
	"Models.Log.Logger":    "log.level and log.format",
}

// A field that others add to the service's configuration becomes a setting, or
// says here why it is none.
func TestEveryFieldIsASetting(t *testing.T) {
	c := new(Config)
	settable := map[any]bool{}
	for _, s := range All() {
		settable[s.at(c)] = true
	}
	left := maps.Clone(notSettings)
	var walk func(v reflect.Value, path string)
	walk = func(v reflect.Value, path string) {
		for i := range v.NumField() {
			field, name := v.Field(i), strings.TrimPrefix(path+"."+v.Type().Field(i).Name, ".")
			delete(left, name)
			switch {
			case !v.Type().Field(i).IsExported(), settable[field.Addr().Interface()], notSettings[name] != "":
			case field.Kind() == reflect.Struct:
				walk(field, name)
			default:
				t.Errorf("serve.Config.%s (%v) has no setting: add a line to table.go, or a reason to notSettings", name, field.Type())
			}
		}
	}
	walk(reflect.ValueOf(&c.Serve).Elem(), "")
	for name := range left {
		t.Errorf("serve.Config has no field %s", name)
	}
}

// The defaults written here are those of the service: an empty configuration
// and no configuration are the same.
func TestDefaultsAreTheServices(t *testing.T) {
	r, err := Load(Input{})
	if err != nil {
		t.Fatal(err)
	}
	filled := Config{Serve: serve.Config{}.WithDefaults()}
	for _, v := range r.Values {
		got := show(v.Setting.at(&filled))
		if settles(v.Setting, &filled) && got != v.Text && madeUp[v.Setting.Key] == "" {
			t.Errorf("%s: default is %q, the service's own %q", v.Setting.Key, v.Text, got)
		}
	}
}

// madeUp are the settings whose default the service makes from others.
var madeUp = map[string]string{"stream": "from prefix", "lease": "from nats.url", "id": "at random"}

// settles reports whether the field of s is of the service's configuration and
// filled in by it.
func settles(s *Setting, filled *Config) bool {
	var empty Config
	return show(s.at(&empty)) != show(s.at(filled))
}

func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "y.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// A flag wins over a variable, that over the file, that over the default, and
// each value says where it is from.
func TestPrecedence(t *testing.T) {
	path := write(t, "run: r\nguard:\n  deadline: 1s\n  hedge: 0.5\n  reserve: 0.2\nlog: {level: debug}\n")
	r, err := Load(Input{
		Env:   []string{"YM_CONFIG=" + path, "YM_GUARD_DEADLINE=2s", "YM_GUARD_HEDGE=0.3", "HOME=/", "YM_GUARD_HEGDE=1"},
		Flags: map[string]string{"deadline": "3s"},
	})
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{
		"guard.deadline": "3s flag (--deadline)", "guard.hedge": "0.3 env (YM_GUARD_HEDGE)", "guard.reserve": "0.2 file (" + path + ":5)",
		"log.level": "debug file (" + path + ":6)", "run": "r file (" + path + ":1)", "window": "1h default",
	} {
		v := r.Value(key)
		if got := v.Text + " " + v.Origin(); got != want {
			t.Errorf("%s: got %s, want %s", key, got, want)
		}
	}
	if c := r.Config.Serve.Guard; c.Deadline.String() != "3s" || c.Hedge != 0.3 || c.Reserve != 0.2 {
		t.Errorf("got %+v", c)
	}
	if want := []string{"YM_GUARD_HEGDE is no setting of yardmaster serve, perhaps YM_GUARD_HEDGE is meant"}; !slices.Equal(r.Notes, want) {
		t.Errorf("got notes %q, want %q", r.Notes, want)
	}
	if r.File != path {
		t.Errorf("got file %q, want %q", r.File, path)
	}
}

// Every mistake names its line and key, and all come at once.
func TestMistakes(t *testing.T) {
	for _, test := range []struct {
		text string
		want []string // %s is the file
	}{
		{"guard:\n  deadlin: 1s\n", []string{"%s:2: guard.deadlin: unknown key, the nearest known one is guard.deadline"}},
		{"\n\ndeadline: 1s\n", []string{"%s:3: deadline: unknown key, the nearest known one is guard.deadline"}},
		{"gaurd:\n  deadline: 1s\n", []string{"%s:1: gaurd: unknown key, the nearest known one is guard"}},
		{"colour_of_the_sky: blue\n", []string{"%s:1: colour_of_the_sky: unknown key (yardmaster config print lists all)"}},
		{"guard:\n  deadline: 500\n", []string{"%s:2: guard.deadline is 500, want a number with its unit"}},
		{"guard:\n  deadline: 0ms\n", []string{"%s:2: guard.deadline is 0s, want at least 1ms"}},
		{"guard:\n  hedge: 2\n", []string{"%s:2: guard.hedge is 2, want at most 0.99"}},
		{"guard:\n  hedge: .nan\n", []string{"%s:2"}},
		{"log:\n  level: verbose\n", []string{`%s:2: log.level is "verbose", want debug, info, warn or error`}},
		{"log:\n  level: inof\n", []string{`perhaps info`}},
		{"prefix: 12\n", []string{`%s:1: prefix is a whole number, want text: write "12"`}},
		{"max_clusters: \"12\"\n", []string{"%s:1: max_clusters is text, want a whole number"}},
		{"max_clusters: 1e300\n", []string{"%s:1: max_clusters"}},
		{"max_clusters:\n", []string{"%s:1: max_clusters is nothing, want a whole number (leave the line out for the default)"}},
		{"http:\n  pprof: yes\n", []string{"%s:2: http.pprof is text, want true or false"}},
		{"log: debug\n", []string{"%s:1: log: text, want keys and values"}},
		{"- run\n", []string{"%s:1: a list, want keys and values"}},
		{"run: a\nrun: b\n", []string{"%s:", "run"}},
		{"run: [a\n", []string{"%s:"}},
		{"run: &x a\nprefix: *x\n", []string{"%s: an anchor or alias"}},
		{"guard:\n  deadline: 500\n  hegde: 1\nlog:\n  level: loud\n", []string{"%s:2: ", "%s:3: ", "%s:5: "}},
		{"http:\n  addr: 0.0.0.0:1\n  pprof: true\n", []string{"%s:2: http.addr is \"0.0.0.0:1\", want a loopback address"}},
		{"http:\n  addr: 8088\n", []string{"%s:2: http.addr is a whole number"}},
		{"http:\n  addr: \"8088\"\n", []string{"%s:2: http.addr is \"8088\", want host:port"}},
		{"http:\n  pprof: true\n", []string{"%s:2: http.pprof needs http.addr"}},
		{"nats:\n  creds: x\n", []string{"%s:2: nats.creds is of no use without nats.url"}},
		{"nats:\n  url: nats://a:b@c:4222\n", []string{"%s:2: nats.url holds a password"}},
		{"nats:\n  url: nats://c:4222\n  user: a\n", []string{"%s:3: nats.user and nats.password_file go together"}},
		{"models:\n  share: 0.5\n", []string{"%s:2: models.share is for models.mode canary"}},
		{"models:\n  root: a\n  bucket: b\n", []string{"%s:3: models.bucket and models.root exclude each other", "%s:3: models.bucket needs models.cache"}},
		{"models:\n  cache: a\n", []string{"%s:2: models.cache is of no use without models.bucket"}},
		{"models:\n  name: a\n", []string{"%s:2: models.name is of no use without models.root or models.bucket"}},
		{"guard:\n  hedge: 0.95\n", []string{"%s:2: guard.hedge is 0.95, want less than 1 - guard.reserve (0.9)"}},
		{"nats:\n  url: nats://c:4222\n  cert: a\n", []string{"%s:3: nats.cert and nats.key go together"}},
	} {
		path := write(t, test.text)
		_, err := Load(Input{File: path})
		if err == nil {
			t.Errorf("%q: got no error", test.text)
			continue
		}
		for _, want := range test.want {
			if want = strings.ReplaceAll(want, "%s", path); !strings.Contains(err.Error(), want) {
				t.Errorf("%q: got\n%v\nwant it to contain\n%s", test.text, err, want)
			}
		}
	}
	if _, err := Load(Input{File: "/nowhere/y.yaml"}); err == nil || !strings.Contains(err.Error(), "/nowhere/y.yaml") {
		t.Errorf("missing file: got %v", err)
	}
	_, err := Load(Input{Env: []string{"YM_GUARD_HEDGE=high"}, Flags: map[string]string{"port": "70000", "speed": "1"}})
	for _, want := range []string{`YM_GUARD_HEDGE: guard.hedge is "high", want a number`, "--port: broker.port is 70000, want at most 65535", "--speed: unknown flag"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want it to contain %q", err, want)
		}
	}
	if _, err := Load(Input{File: write(t, strings.Repeat("#", MaxFileBytes+1))}); err == nil || !strings.Contains(err.Error(), "larger than") {
		t.Errorf("huge file: got %v", err)
	}
}

// Each mistake is one, with its place and its key.
func TestMistakesAreApart(t *testing.T) {
	path := write(t, "guard:\n  deadline: 500\n  hegde: 1\n")
	_, err := Load(Input{File: path, Env: []string{"YM_PREFIX=a", "YM_BROKER_PORT=x"}})
	var got []string
	for _, m := range Mistakes(err) {
		got = append(got, m.Where+" "+m.Key)
	}
	if want := []string{path + ":3 guard.hegde", path + ":2 guard.deadline", "YM_BROKER_PORT broker.port"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if Mistakes(nil) != nil || len(Mistakes(fmt.Errorf("x"))) != 1 {
		t.Error("nothing is no mistake, and any other error one")
	}
}

// A value that something overrides must be right too.
func TestOverriddenValuesAreChecked(t *testing.T) {
	_, err := Load(Input{File: write(t, "guard: {deadline: soon}\n"), Flags: map[string]string{"deadline": "1s"}})
	if err == nil || !strings.Contains(err.Error(), "guard.deadline") {
		t.Errorf("got %v", err)
	}
}

// A zero that was written is a zero, also where the service's own zero value
// stands for its default.
func TestZeros(t *testing.T) {
	r, err := Load(Input{Flags: map[string]string{"guard-hedge": "0", "models-rollback-after": "0"}})
	if err != nil {
		t.Fatal(err)
	}
	if s := r.Config.Serve.WithDefaults(); s.Guard.Hedge > 0 || s.Models.RollbackAfter >= 0 || r.Value("guard.hedge").Text != "0" {
		t.Errorf("got hedge %v and rollback after %v, want none", s.Guard.Hedge, s.Models.RollbackAfter)
	}
}

func TestPublic(t *testing.T) {
	for addr, want := range map[string]bool{"": false, "127.0.0.1:1": false, "[::1]:1": false, "localhost:1": false, ":1": true, "0.0.0.0:1": true, "10.0.0.1:1": true, "host:1": true} {
		if got := (&HTTP{Addr: addr}).Public(); got != want {
			t.Errorf("%q: got %v, want %v", addr, got, want)
		}
	}
}

func TestEmptyFilesAreDefaults(t *testing.T) {
	want, err := Load(Input{})
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"", "# nothing\n", "log:\n  # level: debug\n", "---\nlog: {}\n"} {
		got, err := Load(Input{File: write(t, text)})
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		if changes := want.Changes(got); len(changes) > 0 {
			t.Errorf("%q: changes %v", text, changes[0].Key)
		}
	}
}

func TestChanges(t *testing.T) {
	a, errA := Load(Input{})
	b, errB := Load(Input{Flags: map[string]string{"log-level": "debug", "port": "1"}})
	if errA != nil || errB != nil {
		t.Fatal(errA, errB)
	}
	var got []string
	for _, s := range a.Changes(b) {
		got = append(got, s.Key)
	}
	if want := []string{"log.level", "broker.port"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// sample draws a value that the setting takes.
func sample(t *rapid.T, s *Setting) string {
	if len(s.OneOf) > 0 {
		return rapid.SampledFrom(s.OneOf).Draw(t, s.Key)
	}
	text := rapid.StringOfN(rapid.RuneFrom([]rune("ab/ #:'\"\\[]{}-&*!|>%@`~é\n\t")), 0, 8, -1)
	name := rapid.StringMatching(`[a-z0-9_.-]{1,6}`)
	switch s.Type() {
	case "string":
		if s.Section() == "http" || s.Section() == "nats" || s.Section() == "models" { // checked together
			return s.Default
		}
		return text.Draw(t, s.Key)
	case "bool":
		return "false"
	case "int":
		top := 60000
		if s.Max != "" {
			if err := set(&top, s.Max); err != nil {
				t.Fatal(err)
			}
		}
		return fmt.Sprint(rapid.IntRange(1, top).Draw(t, s.Key))
	case "float":
		if s.Key == "models.share" {
			return s.Default
		}
		return fmt.Sprint(rapid.Float64Range(0.001, 0.4).Draw(t, s.Key))
	case "duration":
		return fmt.Sprintf("%dms", rapid.IntRange(1000, 1e9).Draw(t, s.Key))
	case "list":
		return strings.Join(rapid.SliceOfN(name, 0, 3).Draw(t, s.Key), ",")
	}
	var pairs []string
	for key, value := range rapid.MapOfN(name, name, 0, 3).Draw(t, s.Key) {
		pairs = append(pairs, key+"="+value)
	}
	return strings.Join(pairs, ",")
}

// What YAML writes is read back as it was, also by the schema.
func TestYAMLRoundTrip(t *testing.T) {
	schema := schematest.Compile(t, Schema())
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		flags := map[string]string{}
		for i := range table {
			if rapid.Bool().Draw(t, "given") {
				flags[table[i].FlagName()] = sample(t, &table[i])
			}
		}
		want, err := Load(Input{Flags: flags})
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if err := want.YAML(&b); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, "y.yaml")
		if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := Load(Input{File: path})
		if err != nil {
			t.Fatalf("%v\n%s", err, b.String())
		}
		for _, s := range want.Changes(got) {
			t.Errorf("%s: got %q, want %q", s.Key, got.Value(s.Key).Text, want.Value(s.Key).Text)
		}
		if err := schema.Validate(tree(t, b.Bytes())); err != nil {
			t.Errorf("the schema refuses it: %v", err)
		}
	})
}

// The schema names every key, and refuses what Load refuses, but for what it
// cannot say.
func TestSchema(t *testing.T) {
	schema := schematest.Compile(t, Schema())
	for text, ok := range map[string]bool{
		"run: a": true, "log: {level: debug}": true, "log:": true, "guard: {deadline: 1h30m}": true,
		"rum: a": false, "log: {level: loud}": false, "guard: {deadline: 5}": false, "guard: {hedge: 2}": false, "prefix: 1": false,
		"broker: {port: 70000}": false, "max_clusters: 1.5": false, "http: {pprof: \"true\"}": false,
	} {
		_, loaded := Load(Input{File: write(t, text)})
		if err := schema.Validate(tree(t, []byte(text))); (err == nil) != ok || (loaded == nil) != ok {
			t.Errorf("%s: the schema says %v, Load %v, want ok = %v", text, err, loaded, ok)
		}
	}
	var parsed struct {
		Properties map[string]struct {
			Description string
			Properties  map[string]struct{ Description string }
		}
	}
	if err := json.Unmarshal(Schema(), &parsed); err != nil {
		t.Fatal(err)
	}
	for _, s := range All() {
		section, name, nested := cutLast(s.Key)
		got := parsed.Properties[name].Description
		if nested {
			got = parsed.Properties[section].Properties[name].Description
		}
		if diff := cmp.Diff(s.Doc, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", s.Key, diff)
		}
	}
}
