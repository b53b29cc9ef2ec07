package importers_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yardmaster/yardmaster/datasets/importers"
	"github.com/yardmaster/yardmaster/datasets/importers/acme"
	"github.com/yardmaster/yardmaster/datasets/importers/elasticflow"
	"github.com/yardmaster/yardmaster/datasets/importers/helios"
	"github.com/yardmaster/yardmaster/datasets/importers/importertest"
	"github.com/yardmaster/yardmaster/datasets/importers/muri"
	"github.com/yardmaster/yardmaster/datasets/importers/openb"
	"github.com/yardmaster/yardmaster/datasets/importers/pai"
	"github.com/yardmaster/yardmaster/datasets/importers/philly"
	"github.com/yardmaster/yardmaster/datasets/importers/pollux"
	"github.com/yardmaster/yardmaster/datasets/importers/rubick"
	"github.com/yardmaster/yardmaster/datasets/importers/sacct"
	"github.com/yardmaster/yardmaster/datasets/importers/shockwave"
	"github.com/yardmaster/yardmaster/datasets/importers/swf"
)

func formats() []importers.Format {
	return []importers.Format{
		acme.Format(), elasticflow.Format(), helios.Format(), muri.Format(), openb.Format(), pai.Format(), philly.Format(),
		pollux.Format(), rubick.Format(), sacct.Format(), shockwave.Format(), swf.Format(),
	}
}

func detected(head []byte) []string {
	var names []string
	for _, f := range importers.Detect(formats(), head) {
		names = append(names, f.Name)
	}
	return names
}

// The first lines of a trace, as published, are recognised by its importer and
// by no other.
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
	} {
		if diff := cmp.Diff([]string{want}, detected([]byte(head))); diff != "" {
			t.Errorf("%q (-want +got):\n%s", head, diff)
		}
	}
}

// realFormats are the files of real data that some of these importers know.
var realFormats = map[string]string{
	"philly/philly_jobs.csv.gz":              "philly",
	"openb/openb_pod_list_default.csv.gz":    "openb",
	"openb/openb_pod_list_gpuspec33.csv.gz":  "openb",
	"openb/openb_pod_list_multigpu50.csv.gz": "openb", // and refused: it has no times
	"pai/pai_job_table.header":               "pai", "pai/pai_task_table.header": "pai", "pai/pai_instance_table.header": "pai",
}

// No file of the real data is taken for two formats, and none for one of the
// above that is not in it.
func TestRealFilesAreRecognisedOnce(t *testing.T) {
	licence := importertest.OpenShared(t, "philly", "LICENSE.CC-BY-4.0") // skips where there is no real data
	root := filepath.Dir(filepath.Dir(licence.Name()))
	files := 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		head, _, err := importers.Head(bytes.NewReader(text))
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		files++
		got := detected(head)
		want, known := realFormats[filepath.ToSlash(name)]
		if known && !slices.Equal(got, []string{want}) || len(got) > 1 {
			t.Errorf("%s is recognised as %v, want %q", name, got, want)
		}
		if !known && len(got) == 1 && slices.Contains([]string{"philly", "openb", "helios", "acme", "pai", "sacct", "swf"}, got[0]) {
			t.Errorf("%s is taken for %s", name, got[0])
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if files < len(realFormats) {
		t.Errorf("saw %d files only", files)
	}
}
