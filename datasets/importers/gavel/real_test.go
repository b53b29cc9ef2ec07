package gavel

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yardmaster/yardmaster/datasets/importers"
	"github.com/yardmaster/yardmaster/datasets/importers/importertest"
)

// oracleOf reads an oracle of the real data.
func oracleOf(t *testing.T, name string) *Oracle {
	t.Helper()
	o, err := ReadOracle(importertest.OpenShared(t, "gavel", name), name)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// The traps of the data that its README names.
func TestRealOracles(t *testing.T) {
	simulation, physical := oracleOf(t, "simulation_throughputs.json"), oracleOf(t, "physical_cluster_throughputs.json")
	classes := make(map[string]int)
	for _, o := range []*Oracle{simulation, physical} {
		for _, p := range o.Places() {
			classes[p.String()] += len(o.Classes(p))
		}
	}
	want := map[string]int{"k80": 166, "p100": 166, "v100": 166, "k80_unconsolidated": 154, "p100_unconsolidated": 166, "v100_unconsolidated": 166}
	if diff := cmp.Diff(want, classes); diff != "" {
		t.Errorf("classes in both files (-want +got):\n%s", diff)
	}
	v100, rec := Place{"V100", false}, Class{"Recommendation", 2048, 1}
	slow, _ := simulation.Alone(v100, rec)
	fast, _ := physical.Alone(v100, rec)
	if math.Abs(fast/slow-11.8) > 0.1 {
		t.Errorf("Recommendation on V100: %v and %v steps/s, want a factor of 11.8", slow, fast)
	}
	same, pairs, memory, slower := 0, 0, 0, 0
	for _, place := range simulation.Places() {
		for _, a := range simulation.Classes(place) {
			rate, _ := simulation.Alone(place, a)
			if rate == 0 {
				memory++
			}
			if less, ok := simulation.Alone(place, Class{a.Model, a.Batch, a.GPUs / 2}); ok && rate > 0 && rate < less {
				slower++
			}
			for _, b := range simulation.Classes(place) {
				x, y, ok := simulation.Together(place, Pair{a, b})
				if !ok {
					continue
				}
				pairs++
				if px, py, _ := physical.Together(place, Pair{a, b}); px == x && py == y {
					same++
				}
			}
		}
	}
	if pairs < 10_000 || same != pairs {
		t.Errorf("%d of %d pairs are the same in both files, want all", same, pairs)
	}
	if memory == 0 || slower == 0 {
		t.Errorf("%d entries are out of memory, %d slower on more GPUs, want some of each", memory, slower)
	}
}

func TestRealTraces(t *testing.T) {
	licence := importertest.OpenShared(t, "gavel", "LICENSE") // skips where there is no real data
	folder := filepath.Join(filepath.Dir(licence.Name()), "traces")
	known := make(map[Class]bool)
	o := oracleOf(t, "simulation_throughputs.json")
	for _, c := range o.Classes(Place{"V100", false}) {
		known[c] = true
	}
	jobs, unknown, read := map[string]int{}, 0, 0
	err := filepath.WalkDir(folder, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		all, err := ReadTrace(f, path)
		if err != nil {
			return err
		}
		read++
		jobs[filepath.Base(filepath.Dir(path))] += len(all)
		for _, j := range all {
			switch {
			case known[j.Class]:
			case strings.Contains(path, "msr"):
				unknown++ // the old format has GPU counts that the oracle lacks
			default:
				t.Errorf("%s: no throughput of %v", path, j.Class)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]int{"msr": 4309, "physical_cluster": 273}, jobs); diff != "" || read != 15 || unknown == 0 {
		t.Errorf("%d traces, %d jobs without throughput, jobs (-want +got):\n%s", read, unknown, diff)
	}
}

func TestRealStreamsAndResults(t *testing.T) {
	for _, name := range []string{"single_seed0.csv", "single_seed42.csv", "multi_seed0.csv"} {
		jobs, err := ReadStream(importertest.OpenShared(t, "gavel", "continuous", name), name, 900)
		if err != nil || len(jobs) != 8000 {
			t.Errorf("%s: %d jobs, %v, want 8000", name, len(jobs), err)
		}
		gangs := 0
		for _, j := range jobs {
			if j.GPUs > 1 {
				gangs++
			}
		}
		if multi := strings.HasPrefix(name, "multi"); multi != (gangs > 0) {
			t.Errorf("%s: %d jobs of several GPUs", name, gangs)
		}
	}
	runs, err := ReadReference(importertest.OpenShared(t, "gavel", "reference_runs", "reference.csv"), "reference.csv")
	if err != nil || len(runs) != 25 {
		t.Fatalf("%d runs, %v, want 25", len(runs), err)
	}
	givenUp := 0
	for _, r := range runs {
		if r.Times == "" {
			continue
		}
		times, err := ReadTimes(importertest.OpenShared(t, "gavel", "reference_runs", r.Times), r.Times)
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range times {
			if math.IsNaN(x.JCT) {
				givenUp++
			}
		}
	}
	if givenUp != 1 {
		t.Errorf("%d jobs were given up, want 1", givenUp)
	}
}

func TestRealThroughputTable(t *testing.T) {
	var inputs []importers.Input
	for _, name := range []string{"simulation_throughputs.json", "physical_cluster_throughputs.json"} {
		f := importertest.OpenShared(t, "gavel", name)
		inputs = append(inputs, importers.Input{Name: f.Name(), Reader: f})
	}
	table, report, err := ImportThroughput(inputs...)
	if err != nil {
		t.Fatal(err)
	}
	rows := make(map[string]int)
	for i := range table.Rows {
		rows[fmt.Sprint(table.Rows[i].Source, " spread ", table.Rows[i].Nodes > 1)]++
	}
	want := map[string]int{"gavel-sim spread false": 249, "gavel-phys spread false": 249, "gavel-sim spread true": 165, "gavel-phys spread true": 165}
	if diff := cmp.Diff(want, rows); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
	if got := importertest.Counts(report.Warnings)[warnRecommendation]; got != 5 {
		t.Errorf("%d warnings about Recommendation, want 5: one for each batch size", got)
	}
}

// Nothing in the real data is taken for Gavel's but its own.
func TestRealFilesAreRecognised(t *testing.T) {
	licence := importertest.OpenShared(t, "gavel", "LICENSE") // skips where there is no real data
	root := filepath.Dir(filepath.Dir(licence.Name()))
	traces, oracles := 0, 0
	err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		head, _, err := importers.Head(f)
		if err != nil {
			return err
		}
		if Sniff(head) {
			traces++
		}
		if SniffThroughput(head) {
			oracles++
		}
		if isTrace := strings.HasPrefix(path, filepath.Join(root, "gavel", "traces")); Sniff(head) != isTrace || Sniff(head) && SniffThroughput(head) {
			t.Errorf("%s: taken for a trace: %v, for an oracle: %v", path, Sniff(head), SniffThroughput(head))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if traces != 15 || oracles != 2 {
		t.Errorf("%d traces and %d oracles, want 15 and 2", traces, oracles)
	}
}
