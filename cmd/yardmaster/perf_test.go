package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/yardmaster/yardmaster/env/perf"
)

// published writes a table of throughputs as it is published, of what the model
// says times factor(GPUs), and returns the folder above it.
func published(t *testing.T, factor func(gpus int) float64) string {
	t.Helper()
	p, err := perf.New(perf.Config{})
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	b.WriteString("source,model,dataset,gpu_type,gpus,nodes,placement,batch_local,batch_global,strategy,precision,step_time_s,sync_time_s,steps_per_s,samples_per_s,mem_gib,consolidated,oom,note\n")
	for _, model := range []string{"ResNet-50", "LM"} {
		for _, gpu := range [][2]string{{"v100-16", "V100"}, {"k80-12", "K80"}} {
			for _, gpus := range []int{1, 2, 4, 8} {
				x, err := p.Throughput(model, 20, gpu[1], gpus, 1)
				if err != nil {
					t.Fatal(err)
				}
				fmt.Fprintf(&b, "gavel-phys,%s,,%s,%d,,,20,,dp,,,,%v,,,1,0,\n", model, gpu[0], gpus, x*factor(gpus))
			}
		}
	}
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "tables"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "tables", "throughput.csv.gz"), []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestPerfVerify(t *testing.T) {
	good := published(t, func(int) float64 { return 1 })
	out := mustRun(t, "perf", "verify", "--data", good)
	for _, want := range []string{"gavel-phys", "gpus", "model", "gpu_type", "all", "16 rows, 16 compared with"} {
		if !strings.Contains(out, want) {
			t.Errorf("the table lacks %q:\n%s", want, out)
		}
	}
	var v verifiedPerf
	if err := json.Unmarshal([]byte(mustRun(t, "perf", "verify", "--data", good, "--json")), &v); err != nil {
		t.Fatal(err)
	}
	if len(v.Splits) != 4 || v.Splits[0].Sources[0].Median > 1e-6 || v.Splits[1].Sources[1].Source != "all" || v.Splits[1].Sources[1].Rows != 16 {
		t.Errorf("got %+v", v)
	}
}

// Where speeds jump from one number of GPUs to the next, none foretells another.
func TestPerfVerifyFailsOnAMiss(t *testing.T) {
	bad := published(t, func(gpus int) float64 { return map[int]float64{1: 1, 2: 9, 4: 1, 8: 9}[gpus] })
	code, out, stderr := command(t, "perf", "verify", "--data", bad)
	if code != exitFailure || !strings.Contains(out, "gavel-phys") || !strings.Contains(stderr, "want at most 15 % and 40 %") {
		t.Errorf("exit code %d, stderr %q, want 1, the table and what was missed", code, stderr)
	}
}

func TestPerfShow(t *testing.T) {
	out := mustRun(t, "perf", "show", "ResNet-50", "--cluster", "V100=8,K80=8", "--gpus", "2", "--batch", "32")
	for _, want := range []string{"64 samples per step", "V100", "K80", "modelled", "data 2, micro-batch 32"} {
		if !strings.Contains(out, want) {
			t.Errorf("the table lacks %q:\n%s", want, out)
		}
	}
	table := filepath.Join(published(t, func(int) float64 { return 0.5 }), "tables", "throughput.csv.gz")
	var shown []shownCandidate
	if err := json.Unmarshal([]byte(mustRun(t, "perf", "show", "ResNet-50", "--batch", "20", "--gpus", "2", "--cluster", "V100=8,P100=8", "--table", table, "--json")), &shown); err != nil {
		t.Fatal(err)
	}
	sources := map[string]int{}
	for _, c := range shown {
		sources[c.GPU+" "+c.Source]++
		if c.GPU == "V100" && c.GPUs == 2 && c.Source != "measured" {
			t.Errorf("got %+v, want measured", c)
		}
	}
	if sources["P100 measured"] > 0 || sources["P100 modelled"] == 0 {
		t.Errorf("got %v, want P100 modelled: it is not in the table", sources)
	}
	if out := mustRun(t, "perf", "show", "LLaMA-7B", "--cluster", "H100=8,RTX2080=8"); !strings.Contains(out, "not on RTX2080: no plan fits") {
		t.Errorf("got\n%s", out)
	}
	if out := mustRun(t, "perf", "show", "LM", "--cluster", "V100=1", "--shares", "2,8"); !strings.Contains(out, "1/8") {
		t.Errorf("no share is shown:\n%s", out)
	}
}

func TestPerfShowTakesTheUsersCatalogue(t *testing.T) {
	dir := t.TempDir()
	gpus, models := filepath.Join(dir, "gpus.yaml"), filepath.Join(dir, "models.yaml")
	if err := os.WriteFile(gpus, []byte("gpus:\n  - {name: Mine, memory_gib: 48, peak_tflops: {fp32: 40}, memory_gb_s: 900, kernel_us: 8, link_gb_s: 31.5, network_gbit_s: 25}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(models, []byte("models:\n  - {name: Tiny, forward_gflops: 1, parameters_m: 1, efficiency: 0.5, batches: [8]}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	out := mustRun(t, "perf", "show", "Tiny", "--gpu-types", gpus, "--models", models)
	if !strings.Contains(out, "Mine") || !strings.Contains(out, "batch 8") {
		t.Errorf("got\n%s", out)
	}
	for name, tt := range map[string]struct {
		args []string
		want string
	}{
		"unknown model":     {[]string{"perf", "show", "AlexNet"}, "AlexNet"},
		"unknown GPU type":  {[]string{"perf", "show", "LM", "--cluster", "V9000=1"}, "V9000"},
		"no such file":      {[]string{"perf", "show", "LM", "--catalogue", filepath.Join(dir, "none.yaml")}, "none.yaml"},
		"models as GPUs":    {[]string{"perf", "show", "LM", "--catalogue", dir}, "directory"},
		"share of three":    {[]string{"perf", "show", "LM", "--shares", "3"}, "Shares"},
		"no table":          {[]string{"perf", "show", "LM", "--table", filepath.Join(dir, "none.parquet")}, "none.parquet"},
		"YAML as a table":   {[]string{"perf", "show", "LM", "--table", gpus}, "gpus.yaml"},
		"no data":           {[]string{"perf", "verify", "--data", dir}, "throughput.csv.gz"},
		"nothing that fits": {[]string{"perf", "show", "LLaMA-30B", "--cluster", "K80=1"}, "no plan fits"},
		"too many GPUs":     {[]string{"perf", "show", "LM", "--gpus", "64", "--cluster", "K80=1"}, "largest"},
	} {
		code, stdout, stderr := command(t, tt.args...)
		if lines := strings.Count(strings.TrimSpace(stderr), "\n") + 1; code != exitFailure || stdout != "" || lines != 1 || !strings.Contains(stderr, tt.want) {
			t.Errorf("%s: exit code %d, stdout %q, stderr %q, want 1, nothing and one line with %q", name, code, stdout, stderr, tt.want)
		}
	}
	for _, args := range [][]string{{"perf", "show"}, {"perf", "verify"}, {"perf", "show", "LM", "--gpus", "x"}} {
		if code, _, stderr := command(t, args...); code != exitUsage {
			t.Errorf("%v: exit code %d, %q, want 2", args, code, stderr)
		}
	}
}

// What the flags of perf cannot mean is refused, and a wrong source is told the right
// ones: they are the table's, not the importers'.
func TestPerfRefuses(t *testing.T) {
	table := filepath.Join(published(t, func(int) float64 { return 1 }), "tables", "throughput.csv.gz")
	for _, test := range []struct {
		line []string
		want string
	}{
		{[]string{"show", "LM", "--source", "gavel"}, "--source takes rows of --table, which is missing"},
		{[]string{"show", "LM", "--table", table, "--source", "gavel"}, `--source is "gavel", but the rows of ` + table + ` are of gavel-phys`},
		{[]string{"show", "LM", "--gpus", "0"}, "--gpus is 0, want at least 1"},
		{[]string{"show", "LM", "--batch", "-1"}, "--batch is -1, want at least 1"},
	} {
		code, out, stderr := command(t, append([]string{"perf"}, test.line...)...)
		if code != exitUsage || out != "" || !strings.Contains(stderr, test.want) {
			t.Errorf("perf %v: exit code %d, stdout %q, stderr %q; want 2 and %q", test.line, code, out, stderr, test.want)
		}
	}
}

// With the names that --catalogue had before, standard output is JSON alone, too.
func TestPerfShowPrintsJSONAlone(t *testing.T) {
	var shown []map[string]any
	if out := mustRun(t, "perf", "show", "ResNet-18", "--json", "--gpu-types", "../../env/perf/example.yaml"); json.Unmarshal([]byte(out), &shown) != nil {
		t.Errorf("not JSON: %s", out)
	}
}
