package catalogue_test

import (
	"compress/gzip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yardmaster/yardmaster/datasets"
	"github.com/yardmaster/yardmaster/datasets/importers"
	"github.com/yardmaster/yardmaster/datasets/importers/catalogue"
)

func detected(head []byte) []string {
	var found []string
	for _, f := range catalogue.Detect(head) {
		found = append(found, f.Name+" "+f.Table)
	}
	return found
}

// The first lines of a file, as published, are recognised by its importer and by
// no other.
func TestEachFormatIsRecognisedByOneImporter(t *testing.T) {
	for head, want := range map[string]string{
		"timestamp,duration,num_gpus,gpu_time,cluster\n": "philly",
		"[\n    {\n        \"status\": \"Pass\",\n        \"vc\": \"ee9e8c\",\n        \"jobid\": \"application_1506638472019_14199\",\n":                                 "philly",
		"job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time,duration,queue\n":                                                                  "helios",
		"job_id,user,node_num,gpu_num,cpu_num,type,state,submit_time,start_time,end_time,duration,queue,gpu_time\n":                                                       "acme",
		"4b3f04b66a525d2df903eb16,8cb3bec23d14,58540f191766,Terminated,4550879.0,4551416.0\n":                                                                             "pai",
		"4f057009a5d481acec67b088,tensorflow,1.0,Terminated,1739162.0,1739200.0,600.0,29.296875,50.0,MISC\n":                                                              "pai",
		"af724763f4f5,worker,0d39aa867a79,54dbcd2db287,e387fbc18d80,Terminated,2081336.0,2083889.0,471dda9ed849\n":                                                        "pai",
		"name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time\n":                                                 "openb",
		"JobID|JobIDRaw|User|Account|Partition|State|Submit|Start|End|ElapsedRaw|NNodes|ReqTRES|AllocTRES\n":                                                              "sacct",
		"; Version: 2.2\n; Computer: IBM SP2\n1 0 10 3600 16 -1 -1 16 7200 -1 1 3 1 -1 1 2 -1 -1\n":                                                                       "swf",
		"1 0 10 3600 16 -1 -1 16 7200 -1 1 3 1 -1 1 2 -1 -1\n":                                                                                                            "swf",
		"job_id,user,node_num,gpu_num,cpu_num,mem_per_pod_GB,shared_mem_per_pod,type,state,submit_time,start_time,end_time,fail_time,stop_time,duration,queue,gpu_time\n": "acme",

		"sn,cpu_milli,memory_mib,gpu,model\n":                                                  "openb cluster_nodes",
		"7399a758eb02bae1a3621236,CPU,96,512,0\n":                                              "pai cluster_nodes",
		"machine,gpu_type,cap_cpu,cap_mem,cap_gpu\n":                                           "pai cluster_nodes",
		"id,gpu_num,job_num,cpu_job_num,gpu_job_num,avg_run_time_cpu\n":                        "helios cluster_nodes",
		"date,vchbv,vc4om,total\n":                                                             "helios quotas",
		"source,cluster,gpu_type,nodes,gpus_per_node,gpus,mem_mib,cpu_milli,note\n":            "clusters cluster_nodes",
		"left_bsz,left_step_time,left_gpu_memory,right_bsz,right_step_time,right_gpu_memory\n": "titan colocation",
		"local_bsz,gpu_memory\n":                                                               "titan throughput",
		"job_id,unit_arrival,model,batch_size,gpus,duration_s_v100,total_steps\n":              "gavel-stream jobs",
		"# a comment\njob_id,submit_s,gpus,duration_s\n":                                       "csv jobs",
	} {
		if !strings.Contains(want, " ") {
			want += " jobs"
		}
		if diff := cmp.Diff([]string{want}, detected([]byte(head))); diff != "" {
			t.Errorf("%q (-want +got):\n%s", head, diff)
		}
	}
}

// Names are what a user types; with the table they are unique.
func TestFormatsHaveNames(t *testing.T) {
	var keys []string
	for _, f := range catalogue.Formats() {
		keys = append(keys, f.Name+" "+f.Table)
		if f.Name != strings.ToLower(f.Name) || strings.ContainsAny(f.Name, " ,") || f.About == "" || strings.Contains(f.About, "\n") {
			t.Errorf("the format %q, about %q: want one word in lower case and one line", f.Name, f.About)
		}
		if !slices.Contains(datasets.Kinds(), f.Table) || f.Import == nil || f.Sniff == nil {
			t.Errorf("%s becomes the table %q, or cannot be imported", f.Name, f.Table)
		}
		if _, _, err := f.Import(); err == nil {
			t.Errorf("%s imports nothing at all", f.Name)
		}
	}
	slices.Sort(keys)
	if n := len(slices.Compact(slices.Clone(keys))); n != len(catalogue.Formats()) {
		t.Errorf("got the formats %v, want each once", keys)
	}
	if titles := catalogue.Titles(); strings.Count(titles, "\n") != len(keys) {
		t.Errorf("the help does not list %d formats:\n%s", len(keys), titles)
	}
}

// What is no trace at all is refused by name, and by a line that says what to do.
func TestRefusals(t *testing.T) {
	for head, want := range map[string]string{
		"policy,lp_solver,trace,mean_interarrival_s,cluster_v100_p100_k80,throughputs,jobs_total,window_start,window_end,jobs_measured,avg_jct_s,p50_jct_s,p99_jct_s,end_s,utilization,rounds,job_rounds,per_job_csv\n": "results of Gavel's simulator, not a trace: yardmaster verify gavel reads them",
		"job_id,jct_s\n4000,8331.2\n":                                                      "completion times of Gavel's simulator",
		"policy,num_jobs,makespan_h_mean_over_seeds\nFIFO,100,182.3\n":                     "figures published by Gavel's authors",
		"{\n \"OPT-350\": {\"1\": {\"0\": {\"params_floats\": 5, \"act_output_floats\": 2": "sizes of the layers",
		"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n":              "git lfs pull",
		"PAR1\x15\x04":                           "trace describe reads it",
		strings.Repeat("x", 257) + "ustar\x0000": "an archive (tar): unpack it",
		"PK\x03\x04\x14":                         "save the sheet as CSV",
		"\xfd7zXZ\x00\x00":                       "unpack it first (xz -d)",
		"BZh91AY&SY":                             "unpack it first (bzip2 -d)",
		gzipped(gzipped("timestamp,duration,num_gpus,gpu_time,cluster\n")): "compressed twice: unpack it once",
		"\xff\xfet\x00i\x00": "text in UTF-16",
		"\xfe\xff\x00t\x00i": "text in UTF-16",
		"":                   "nothing in it",
		"\x1f\x8b\x08":       "compressed and damaged",
		"a,b,c\n1,2,3\n":     "not recognised as any known trace: name its format with --from (acme,",
	} {
		_, err := catalogue.Recognise(strings.NewReader(head), "in")
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "in: ") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: got %v, want one line with %q", head, err, want)
		}
	}
}

// gzipped compresses a text.
func gzipped(text string) string {
	var b strings.Builder
	w := gzip.NewWriter(&b)
	_, _ = w.Write([]byte(text)) // a Builder takes everything
	_ = w.Close()
	return b.String()
}

func TestImportChoosesTheTable(t *testing.T) {
	const oracle = `{"v100": {"('LM (batch size 5)', 1)": {"null": 10.0, "('LM (batch size 5)', 1)": [6.0, 6.5]}}}`
	const list = "sn,cpu_milli,memory_mib,gpu,model\na,64000,262144,2,P100\n"
	for _, test := range []struct {
		from, table string
		texts       []string
		want        string // format and table, or part of the error
		others      []string
	}{
		{"", "", []string{oracle}, "gavel throughput", []string{"colocation"}},
		{"auto", "colocation", []string{oracle}, "gavel colocation", []string{"throughput"}},
		{"gavel", "colocation", []string{oracle}, "gavel colocation", []string{"throughput"}},
		{"gavel", "jobs", []string{oracle}, "a file of gavel that holds no jobs table: want --table throughput or colocation", nil},
		{"", "", []string{list, list}, "openb cluster_nodes", nil},
		{"", "", []string{list, oracle}, "several formats: gavel, openb", nil},
		{"excel", "", []string{list}, "want auto or one of acme", nil},
		{"philly", "", []string{list}, "missing from the header", nil},
		{"openb", "jobs", []string{list}, "holds no jobs table: want --table cluster_nodes", nil},
		{"", "", []string{"timestamp,duration,num_gpus,gpu_time,cluster\n", "timestamp,duration,num_gpus,gpu_time,cluster\n"}, "one by one", nil},
		{"", "", nil, "no file", nil},
	} {
		r := catalogue.Request{From: test.from, Table: test.table}
		for i, text := range test.texts {
			r.Inputs = append(r.Inputs, importers.Input{Name: string(rune('a' + i)), Reader: strings.NewReader(text)})
		}
		choice, table, report, err := catalogue.Import(r)
		got := choice.Name + " " + choice.Table
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, test.want) || (err == nil) != (table != nil) || table != nil && (table.Kind() != choice.Table || table.Len() != report.Kept) {
			t.Errorf("%+v: got %s, want %s", test, got, test.want)
		}
		if diff := cmp.Diff(test.others, choice.Others); diff != "" && len(choice.Others)+len(test.others) > 0 {
			t.Errorf("%+v: other tables (-want +got):\n%s", test, diff)
		}
	}
}
