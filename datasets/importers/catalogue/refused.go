package catalogue

import (
	"bytes"

	"github.com/yardmaster/yardmaster/datasets"
	"github.com/yardmaster/yardmaster/datasets/importers"
)

// Refused is a file that is recognised and is no table: it is refused by name,
// rather than called unknown.
type Refused struct {
	Name  string // of the source, such as "gavel"
	What  string // what the file is
	Fix   string // what to do with it
	Sniff func(head []byte) bool
}

// Error returns a one-line error about such a file.
func (r *Refused) Error(file string) *datasets.RowError {
	return &datasets.RowError{File: file, Value: r.What, Fix: r.Fix}
}

// Refusals returns every kind of file that is recognised and refused. The caller
// owns the list.
func Refusals() []Refused {
	const verify = "yardmaster verify gavel reads them"
	return []Refused{
		{"gavel", "results of Gavel's simulator, not a trace", verify, columns("policy", "lp_solver", "avg_jct_s", "per_job_csv")},
		{"gavel", "completion times of Gavel's simulator, not a trace", verify, columns("job_id", "jct_s")},
		{"gavel", "figures published by Gavel's authors, not a trace", "compare with them by eye: they are older than the simulator", columns("experiment", "metric", "jobs_per_hour", "policy", "value")},
		{"gavel", "figures published by Gavel's authors, not a trace", "compare with them by eye: they are older than the simulator", columns("policy", "num_jobs", "makespan_h_mean_over_seeds")},
		{"pai", "measurements of PAI's instances (sensors), not jobs", paiFix, columns("worker_name", "gpu_wrk_util", "max_gpu_wrk_mem")},
		{"pai", "measurements of PAI's machines, not jobs", paiFix, columns("worker_name", "machine_gpu", "machine_load_1")},
		{"pai", "tags of PAI's instances, not jobs", paiFix, columns("inst_id", "gpu_type_spec", "workload")},
		{"sailor", "sizes of the layers of Sailor's models, not speeds", "name profiles_tmp.json, which has their times", holds(`{`, `"params_floats"`, `"act_output_floats"`)},
		{"git-lfs", "a pointer of Git LFS, not the file itself", "fetch it (git lfs pull)", holds("version https://git-lfs", "oid sha256:")},
		{"parquet", "a Parquet file, not text", "if it is a table of Yardmaster's, it need not be imported: trace describe reads it", holds("PAR1")},
		{"tar", "an archive (tar)", "unpack it and name the files that are wanted", func(head []byte) bool { return len(head) > 262 && string(head[257:262]) == "ustar" }},
		{"zip", "an archive or a spreadsheet (zip)", "unpack it, or save the sheet as CSV", holds("PK\x03\x04")},
		{"xz", "compressed with xz, and only gzip and zstd are read", "unpack it first (xz -d)", holds("\xfd7zXZ\x00")},
		{"bzip2", "compressed with bzip2, and only gzip and zstd are read", "unpack it first (bzip2 -d)", holds("BZh")},
		{"gzip", "compressed twice", "unpack it once (gzip -d)", holds("\x1f\x8b")},
		{"utf-16", "text in UTF-16, and only UTF-8 is read", "convert it (iconv -f UTF-16 -t UTF-8)", func(head []byte) bool {
			return bytes.HasPrefix(head, []byte("\xff\xfe")) || bytes.HasPrefix(head, []byte("\xfe\xff"))
		}},
		{"", "nothing in it, or compressed and damaged", "copy or download it again", func(head []byte) bool { return len(head) == 0 }},
	}
}

const paiFix = "import pai_job_table.csv with pai_task_table.csv, or pai_machine_spec.csv"

// columns recognises a header of separated values.
func columns(names ...string) func([]byte) bool {
	return func(head []byte) bool { return importers.HasColumns(head, names...) }
}

// holds recognises a text that begins with start and has all of parts early on.
func holds(start string, parts ...string) func([]byte) bool {
	return func(head []byte) bool {
		if !bytes.HasPrefix(bytes.TrimSpace(head), []byte(start)) {
			return false
		}
		for _, p := range parts {
			if !bytes.Contains(head, []byte(p)) {
				return false
			}
		}
		return true
	}
}

// Refusal returns why a file that begins so is refused, nil where it is not.
func Refusal(head []byte) *Refused {
	for _, r := range Refusals() {
		if r.Sniff(head) {
			return &r
		}
	}
	return nil
}
