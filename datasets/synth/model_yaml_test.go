package synth

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/yardmaster/yardmaster/datasets"
)

// anyModel draws a valid model.
func anyModel(t *rapid.T) *Model {
	name := rapid.StringN(0, 20, 60)
	quantiles := func(low, high float64) Quantiles {
		q := Quantiles{{0, rapid.Float64Range(low, high).Draw(t, "least")}}
		for range rapid.IntRange(0, 4).Draw(t, "points") {
			last := q[len(q)-1]
			q = append(q, [2]float64{rapid.Float64Range(last[0], 1).Draw(t, "p"), rapid.Float64Range(last[1], high).Draw(t, "v")})
		}
		return append(q, [2]float64{1, rapid.Float64Range(q[len(q)-1][1], high).Draw(t, "largest")})
	}
	m := &Model{Version: ModelVersion, Source: Provenance{Title: "t" + name.Draw(t, "title"), Licence: name.Draw(t, "licence"), Zone: name.Draw(t, "zone")}}
	if rapid.Bool().Draw(t, "epoch") {
		m.Source.Epoch, m.Source.To = "2017-09-07T00:00:00-07:00", "2017-12-01T00:00:00.5-08:00"
		m.Source.Jobs, m.Source.ArrivalsHalfLife = 12, rapid.Float64Range(0, 100).Draw(t, "half-life")
	}
	m.Clock.Resolution = rapid.Float64Range(1e-9, 3600).Draw(t, "resolution")
	if rapid.Bool().Draw(t, "hours") {
		for h := range 24 {
			m.Clock.ByHour = append(m.Clock.ByHour, 0.5+float64(h%2))
		}
	}
	for range rapid.IntRange(1, 3).Draw(t, "streams") {
		s := Stream{Name: name.Draw(t, "name"), SteadyFor: rapid.Float64Range(0, 1e4).Draw(t, "steady")}
		classes := rapid.IntRange(1, 3).Draw(t, "classes")
		for range classes {
			s.Gaps = append(s.Gaps, GapClass{Seconds: quantiles(1, 1e6), Repeat: rapid.Float64Range(0, 1).Draw(t, "repeat")})
		}
		for i := range rapid.IntRange(0, 2).Draw(t, "levels") {
			s.Busy = append(s.Busy, rapid.Float64Range(float64(i), float64(i)+0.9).Draw(t, "busy"))
		}
		if classes > 1 || rapid.Bool().Draw(t, "a chain of one") {
			for range classes * (len(s.Busy) + 1) {
				row := make([]float64, classes)
				for c := range row {
					row[c] = rapid.Float64Range(0.001, 10).Draw(t, "weight")
				}
				s.Next = append(s.Next, row)
			}
		}
		for range rapid.IntRange(1, 3).Draw(t, "kinds") {
			k := Kind{Share: rapid.Float64Range(1e-6, 1).Draw(t, "share"), Tenant: name.Draw(t, "tenant"), GPUs: rapid.Int32Range(1, datasets.MaxGPUs).Draw(t, "gpus")}
			k.Seconds = quantiles(1e-3, 1e6)
			if rapid.Bool().Draw(t, "steps") {
				k.Model, k.Batch, k.Steps = "m"+name.Draw(t, "model"), rapid.Int32Range(0, datasets.MaxBatch).Draw(t, "batch"), quantiles(1e-3, 1e12)
			}
			s.Kinds = append(s.Kinds, k)
		}
		m.Streams = append(m.Streams, s)
	}
	return m
}

// A model is what is read back from its file, and so are its jobs.
func TestModelFileRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := anyModel(t)
		data := m.Encode()
		got, err := ReadModel(bytes.NewReader(data), "w.yaml")
		if err != nil {
			t.Fatalf("%v\n%s", err, data)
		}
		if diff := cmp.Diff(m, got); diff != "" {
			t.Fatalf("(-written +read):\n%s\n%s", diff, data)
		}
		if again := got.Encode(); !bytes.Equal(data, again) {
			t.Fatalf("written again it differs:\n%s\n%s", data, again)
		}
		a, err := m.Generate(ModelRun{Jobs: 50})
		if err != nil {
			t.Fatal(err)
		}
		b, err := got.Generate(ModelRun{Jobs: 50})
		if err != nil {
			t.Fatal(err)
		}
		if a.Hash() != b.Hash() {
			t.Fatal("the model read back generates other jobs")
		}
	})
}

// small is a valid workload file, from which the hostile ones are made.
const small = `version: 1
source:
  title: "by hand"
clock:
  resolution_s: 1
streams:
  - name: "a"
    steady_for_s: 0
    gaps:
      - seconds: [[0, 1], [1, 10]]
        repeat: 0.5
      - seconds: [[0, 10], [1, 1000]]
    next:
      - [0.5, 0.5]
      - [0.1, 0.9]
    kinds:
      - share: 1
        gpus: 2
        duration_s: [[0, 60], [1, 3600]]
`

func TestReadModelNamesTheField(t *testing.T) {
	if _, err := ReadModel(strings.NewReader(small), "w.yaml"); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ old, new, want string }{
		{"version: 1", "version: 2", "version is 2, want 1"},
		{"version: 1", "", "version is 0"},
		{`title: "by hand"`, `titel: "by hand"`, "titel"},
		{`title: "by hand"`, `epoch: "yesterday"`, "source.epoch"},
		{"resolution_s: 1", "resolution_s: 0", "clock.resolution_s is 0"},
		{"resolution_s: 1", "resolution_s: .nan", "clock.resolution_s"},
		{"resolution_s: 1", "resolution_s: 1\n  by_hour: [1, 2]", "clock.by_hour is a list of 2"},
		{"resolution_s: 1", "resolution_s: 1\n  by_weekday: [1, 1, 1, 1, 1, 1, 0]", "clock.by_weekday[6] is 0"},
		{"resolution_s: 1", "resolution_s: 1\n  by_weekday: [1, 1, 1, 1, 1, 1, 9]", "the mean of clock.by_weekday"},
		{"steady_for_s: 0", "steady_for_s: -1", "streams[0].steady_for_s is -1"},
		{"[[0, 1], [1, 10]]", "[[0, 1]]", "streams[0].gaps[0].seconds is a list of 1"},
		{"[[0, 1], [1, 10]]", "[[0, 1], [0.9, 10]]", "the probabilities of streams[0].gaps[0].seconds"},
		{"[[0, 1], [1, 10]]", "[[0, 10], [1, 1]]", "streams[0].gaps[0].seconds[1]"},
		{"[[0, 1], [1, 10]]", "[[0, 1], [1, .inf]]", "streams[0].gaps[0].seconds[1][1]"},
		{"[[0, 1], [1, 10]]", "[[0, 1, 2], [1, 10, 2]]", "3 numbers"},
		{"[[0, 1], [1, 10]]", "[[0], [1]]", "1 numbers"},
		{"[[0, 1], [1, 10]]", "[[[[[[[[[[0", "brackets nest deeper"},
		{"repeat: 0.5", "repeat: 2", "streams[0].gaps[0].repeat is 2"},
		{"      - [0.1, 0.9]\n", "", "streams[0].next is a list of 1"},
		{"[0.1, 0.9]", "[0, 0]", "the sum of streams[0].next[1]"},
		{"[0.1, 0.9]", "[1]", "streams[0].next[1] is a list of 1"},
		{"[0.1, 0.9]", "[-1, 2]", "streams[0].next[1][0] is -1"},
		{"share: 1", "share: 0", "the sum of the shares of streams[0].kinds"},
		{"gpus: 2", "gpus: 0", "streams[0].kinds[0].gpus is 0"},
		{"gpus: 2", "gpus: 99999999999", "[18:15]"},
		{"gpus: 2", "gpus: 2\n        steps: [[0, 1], [1, 2]]", "streams[0].kinds[0].model"},
		{"duration_s: [[0, 60], [1, 3600]]", "batch: 3", "streams[0].kinds[0].duration_s"},
		{"duration_s: [[0, 60], [1, 3600]]", "duration_s: [[0, 0], [1, 3600]]", "duration_s[0][1] is 0"},
		{"name: \"a\"", "name: &x \"a\"", "anchor or alias"},
		{small, "", "empty"},
		{small, small + "---\n" + small, "2 YAML documents"},
		{small, "[]", ""},
		{small, "version: 1", "source.title"},
		{small, "\t", ""},
		{small, "PAR1\x00\x00", ""},
		{small, strings.Repeat("#", MaxModelSize+1), "more than"},
	} {
		_, err := ReadModel(strings.NewReader(strings.Replace(small, test.old, test.new, 1)), "w.yaml")
		if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), "w.yaml") {
			t.Errorf("%.40q for %.40q: got the error %v, want one with w.yaml and %q", test.new, test.old, err, test.want)
		}
	}
}

// All problems are reported at once, up to ten.
func TestModelReportsEverything(t *testing.T) {
	bad := strings.NewReplacer("steady_for_s: 0", "steady_for_s: -1", "repeat: 0.5", "repeat: 7", "gpus: 2", "gpus: -2", "resolution_s: 1", "resolution_s: -1").Replace(small)
	_, err := ReadModel(strings.NewReader(bad), "w.yaml")
	for _, field := range []string{"steady_for_s", "repeat", "gpus", "resolution_s"} {
		if err == nil || !strings.Contains(err.Error(), field) {
			t.Errorf("the error %v does not name %s", err, field)
		}
	}
}

// Whatever the bytes are, reading them neither panics nor hangs, and a model that
// is accepted generates valid tables or says why not, and is written and read
// without a change.
func FuzzReadModel(f *testing.F) {
	f.Add([]byte(small))
	for _, name := range Presets() {
		if data, err := PresetFile(name); err == nil {
			f.Add(data)
		}
	}
	f.Add([]byte("version: 1\nstreams: [*a, &a b]"))
	f.Add([]byte("- ? ! {[}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := ReadModel(bytes.NewReader(data), "fuzz")
		if err != nil {
			return
		}
		if j, err := m.Generate(ModelRun{Seed: 1, Jobs: 100}); err == nil {
			if err := j.Validate(); err != nil {
				t.Errorf("the generated table is invalid: %v", err)
			}
		}
		again, err := ReadModel(bytes.NewReader(m.Encode()), "again")
		if err != nil {
			t.Fatalf("written and read again: %v", err)
		}
		if diff := cmp.Diff(m, again); diff != "" {
			t.Errorf("written and read again it differs (-first +second):\n%s", diff)
		}
	})
}

// A workload of a trace with many kinds of jobs and tenants stays small.
func TestModelFileIsSmall(t *testing.T) {
	table, err := Generate(Config{Jobs: 20_000, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	for i := range table.Rows {
		table.Rows[i].Tenant = fmt.Sprint("user", int(math.Sqrt(float64(i*7919%40_000))))
	}
	data := fitModel(t, table, never).Encode()
	if len(data) > 1<<20 {
		t.Errorf("%d bytes, want less than a megabyte", len(data))
	}
	if _, err := ReadModel(bytes.NewReader(data), "large"); err != nil {
		t.Error(err)
	}
}
