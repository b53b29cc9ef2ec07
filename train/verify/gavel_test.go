package verify

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"maps"
	"math"
	"strings"
	"testing"
	"testing/fstest"

	files "github.com/yardmaster/yardmaster/datasets/importers/gavel"
	"github.com/yardmaster/yardmaster/env/gavel"
)

// Every run of the real table passes; what the table holds is counted, so that
// a row that is missing is noticed.
func TestGavelRuns(t *testing.T) {
	var reported []string
	rows, err := Gavel(t.Context(), gavelData(t), func(r *Row) { reported = append(reported, r.Name) })
	if err != nil {
		t.Fatal(err)
	}
	if err := Misses(rows); err != nil {
		t.Error(err)
	}
	var table strings.Builder
	if err := Write(&table, rows); err != nil {
		t.Fatal(err)
	}
	t.Log("\n" + table.String())
	skipped, exact, programs, byJob, published := 0, 0, 0, 0, 0
	for i := range rows {
		r := &rows[i]
		switch {
		case r.Skipped != "":
			skipped++
			continue
		case r.Figures[0].Tolerance == ExactTolerance:
			exact++
		case r.Figures[0].Tolerance == ProgramTolerance:
			programs++
		case strings.HasSuffix(r.Name, "published") && len(r.Figures) == 2 && r.Figures[0].Tolerance == 0 && r.Figures[1].Tolerance == 0:
			published++
		}
		for k := range r.Figures {
			if strings.HasPrefix(r.Figures[k].Name, "JCT of job") {
				byJob++
			}
		}
	}
	if len(reported) != 31 || skipped != 0 || exact != 14 || programs != 11 || byJob != 13 || published != 6 {
		t.Errorf("%d rows, %d skipped, %d exact, %d of programs, %d job by job, %d published, want 31, 0, 14, 11, 13, 6", len(reported), skipped, exact, programs, byJob, published)
	}
}

const (
	referenceHead = "policy,lp_solver,trace,mean_interarrival_s,cluster_v100_p100_k80,throughputs,jobs_total,window_start,window_end," +
		"jobs_measured,avg_jct_s,p50_jct_s,p99_jct_s,end_s,utilization,rounds,job_rounds,per_job_csv\n"
	fifoRun = "FIFO_Perf,,two.trace,,1:0:0,simulation_throughputs.json,,,,2,540,540,716.4,720,1,3,2,two.csv\n"
)

// smallData is a table of one run of two jobs, 360 steps each at 1 step/s on
// one GPU: the second waits a round for the first.
func smallData() fstest.MapFS {
	file := func(s string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(s)} }
	line := "A3C\tc\trl\t--steps\t0\t360\t1\t1\t-1\t0\n"
	return fstest.MapFS{
		"reference_runs/reference.csv":      file(referenceHead + fifoRun),
		"reference_runs/two.csv":            file("job_id,jct_s\n0,360\n1,720\n"),
		"traces/physical_cluster/two.trace": file(line + line),
		"simulation_throughputs.json":       file(`{"v100": {"('A3C', 1)": {"null": 1}}, "p100": {"('A3C', 1)": {"null": 1}}, "k80": {"('A3C', 1)": {"null": 0}}}`),
		"continuous/single_seed0.csv":       file("job_id,unit_arrival,model,batch_size,gpus,duration_s_v100,total_steps\n0,0.0,A3C,,1,360,360\n1,0.27176230323366835,A3C,,1,360,360\n"),
	}
}

func edited(name, old, with string) fstest.MapFS {
	data := maps.Clone(smallData())
	data[name] = &fstest.MapFile{Data: []byte(strings.Replace(string(data[name].Data), old, with, 1))}
	return data
}

func TestGavelComparesASmallRun(t *testing.T) {
	rows, err := gavelRows(t.Context(), smallData(), nil, nil)
	if err != nil || len(rows) != 1 {
		t.Fatalf("got %v, %v", rows, err)
	}
	if err := Misses(rows); err != nil {
		t.Error(err)
	}
	if rows[0].Name != "FIFO_Perf two 1:0:0" || len(rows[0].Figures) != 9 {
		t.Errorf("got %+v", rows[0])
	}
}

// Nothing that is wrong passes: each of these changes is found.
func TestGavelFindsWhatIsWrong(t *testing.T) {
	const runs, times = "reference_runs/reference.csv", "reference_runs/two.csv"
	for name, test := range map[string]struct {
		data fs.FS
		want string // in the miss
	}{
		"mean":              {edited(runs, ",540,540,", ",541,540,"), "mean JCT is 540, want 541"},
		"median":            {edited(runs, ",540,540,", ",540,541,"), "p50 JCT"},
		"p99":               {edited(runs, "716.4", "717"), "p99 JCT"},
		"end":               {edited(runs, "716.4,720", "716.4,721"), "end is 720"},
		"utilization":       {edited(runs, "720,1,3", "720,0.99,3"), "utilization"},
		"rounds":            {edited(runs, ",1,3,2,", ",1,4,2,"), "rounds is 3"},
		"job-rounds":        {edited(runs, ",1,3,2,", ",1,3,3,"), "job-rounds is 2"},
		"jobs":              {edited(runs, ",,,,2,540", ",,,,3,540"), "jobs is 2"},
		"one job":           {edited(times, "1,720", "1,720.00001"), "JCT of job 1"},
		"given up":          {edited(times, "1,720", "1,None"), "JCT of job 1"},
		"job missing":       {edited(times, "1,720\n", ""), "two.csv has 1 jobs"},
		"other job":         {edited(times, "1,720", "2,720"), "has job 2 where job 1 is due"},
		"no trace":          {edited(runs, "two.trace", "three.trace"), "three.trace"},
		"no oracle":         {edited(runs, "simulation_", "other_"), "other_throughputs.json"},
		"no throughput":     {edited("simulation_throughputs.json", "('A3C', 1)", "('LM', 1)"), "no throughput of A3C x1 on V100"},
		"no times":          {edited(runs, "two.csv", "none.csv"), "none.csv"},
		"packs, mean":       {edited(runs, "FIFO_Perf,,two.trace,,1:0:0,simulation_throughputs.json,,,,2,540", "Gandiva_Packing,,two.trace,,1:0:0,simulation_throughputs.json,,,,2,541"), "mean JCT is 540, want 541"},
		"packs, window":     {edited(runs, "FIFO_Perf,,two.trace,,1:0:0,simulation_throughputs.json,,,", "Gandiva_Packing,,two.trace,,1:0:0,simulation_throughputs.json,2,0,1"), "window"},
		"packs unknown":     {edited(runs, "FIFO_Perf", "LAS_Packing"), `policy "LAS_Packing" is unknown`},
		"unknown policy":    {edited(runs, "FIFO_Perf", "Fifo"), `policy "Fifo" is unknown`},
		"too few jobs":      {edited(runs, ".json,,,,", ".json,9,0,2,"), "has 2 jobs, want 9"},
		"window":            {edited(runs, ".json,,,,", ".json,,1,9,"), "Window is 1 to 9"},
		"no GPUs":           {edited(runs, "1:0:0", "0:0:0"), "no GPUs"},
		"never ends":        {edited(runs, "1:0:0", "0:0:1"), "cannot run"},
		"solver's mean":     {edited(runs, "FIFO_Perf,,two.trace,,1:0:0,simulation_throughputs.json,,,,2,540", "MaxMinFairness_Perf,,two.trace,,1:0:0,simulation_throughputs.json,,,,2,570"), "mean JCT is 540, want 570 within 0.05"},
		"solver's jobs":     {edited(runs, "FIFO_Perf,,two.trace,,1:0:0,simulation_throughputs.json,,,,2", "MaxMinFairness_Perf,,two.trace,,1:0:0,simulation_throughputs.json,,,,5"), "jobs is 2, want 5"},
		"stream not of 0":   {edited(runs, "two.trace,,1:0:0", "continuous/single_seed0.csv,900,1:0:0"), ""},
		"stream of a seed":  {seedOne(), "in the stream of seed 1"},
		"damaged reference": {edited(runs, "FIFO_Perf,", "FIFO_Perf"), "!"},
		"no reference":      {fstest.MapFS{}, "!"},
		"empty reference":   {fstest.MapFS{runs: {Data: []byte(referenceHead)}}, "!no runs"},
	} {
		rows, err := gavelRows(t.Context(), test.data, nil, nil)
		if part, fatal := strings.CutPrefix(test.want, "!"); fatal {
			if err == nil || !strings.Contains(err.Error(), part) {
				t.Errorf("%s: got error %v, want one with %q", name, err, part)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if miss := Misses(rows); miss == nil || !strings.Contains(miss.Error(), test.want) {
			t.Errorf("%s: got the miss %v, want one with %q", name, miss, test.want)
		}
	}
}

// seedOne has a stream whose name tells another seed than its arrivals.
func seedOne() fs.FS {
	data := edited("reference_runs/reference.csv", "two.trace,,1:0:0", "continuous/single_seed1.csv,900,1:0:0")
	data["continuous/single_seed1.csv"] = data["continuous/single_seed0.csv"]
	return data
}

func TestGavelStopsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Gavel(ctx, smallData(), nil); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the context's error", err)
	}
}

// A published figure that is off in its last digit is a miss, and so is an
// oracle that does not know the generator's jobs.
func TestPublishedFiguresAreExact(t *testing.T) {
	run := publishedRuns[0]
	run.mean += 1e-6
	row := comparePublished(t.Context(), newLoader(gavelData(t)), &run)
	miss := row.Miss()
	if miss == nil || !strings.Contains(miss.Error(), "mean JCT is 59492.106756, want 59492.106757") {
		t.Errorf("got %v, want a miss", miss)
	}
	rows, err := gavelRows(t.Context(), smallData(), publishedRuns[:1], nil)
	if err != nil || len(rows) != 2 || rows[1].Err == nil {
		t.Errorf("small data: got %+v, %v, want an error about its oracle", rows, err)
	}
}

// The generator gives the jobs of the streams: types and GPUs exactly, steps to
// the last bits.
func TestGeneratorGivesTheStreams(t *testing.T) {
	l := newLoader(gavelData(t))
	classes, distributed := generatorTypes()
	for _, name := range []string{"single_seed0.csv", "single_seed42.csv", "multi_seed0.csv"} {
		stream, err := load(l.data, "continuous/"+name, func(r io.Reader, name string) ([]files.Job, error) { return files.ReadStream(r, name, 1) })
		if err != nil {
			t.Fatal(err)
		}
		drawn := gavel.Draw(seedOf(name), len(stream), distributed, strings.HasPrefix(name, "multi"))
		for i, at := range gavel.Arrivals(seedOf(name), 1, len(stream)) {
			want, got := stream[i], classes[drawn[i].Type]
			got.GPUs = drawn[i].GPUs
			if got != want.Class || at != want.Arrival || math.Abs(drawn[i].Duration-want.DurationV100) > 1e-14*want.DurationV100 {
				t.Fatalf("%s: job %d is %v of %v s at %v, want %+v", name, i, got, drawn[i].Duration, at, want)
			}
		}
	}
}

func TestSeedOf(t *testing.T) {
	for name, want := range map[string]uint64{"continuous/single_seed42.csv": 42, "multi_seed7_long.csv": 7, "max_min_fairness.trace": 0, "seed9/x.csv": 0} {
		if got := seedOf(name); got != want {
			t.Errorf("%s: got %d, want %d", name, got, want)
		}
	}
}
