package pai

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/yardmaster/yardmaster/datasets"
	"github.com/yardmaster/yardmaster/datasets/importers"
)

// kind is one of the tables of the trace.
type kind struct {
	name    string
	columns []string
	status  int   // position of the column of states
	times   []int // and of those of times
	maxRows int
}

// Positions in kinds.
const (
	jobTable = iota
	taskTable
	instanceTable
)

// kinds are the tables that are joined, in the order in which they are read.
var kinds = []kind{
	{"job", []string{"job_name", "inst_id", "user", "status", "start_time", "end_time"}, 3, []int{4, 5}, datasets.MaxRows},
	{
		"task",
		[]string{"job_name", "task_name", "inst_num", "status", "start_time", "end_time", "plan_cpu", "plan_mem", "plan_gpu", "gpu_type"},
		3,
		[]int{4, 5},
		datasets.MaxRows,
	},
	{
		"instance",
		[]string{"job_name", "task_name", "inst_name", "worker_name", "inst_id", "status", "start_time", "end_time", "machine"},
		5,
		[]int{6, 7},
		1 << 30, // none is held
	},
}

// sniffed is how much of a table is looked at to recognise it.
const sniffed = 4096

// tableOf returns the kind of table that a text begins like, nil for none: one
// with its header, or whose first row has as many values, a state such as
// Terminated and times where it has times.
func tableOf(head []byte) *kind {
	fields := firstFields(head)
	for i := range kinds {
		k := &kinds[i]
		if len(fields) == len(k.columns) && (strings.Join(fields, ",") == strings.Join(k.columns, ",") || k.recognises(fields)) {
			return k
		}
	}
	return nil
}

// firstFields returns the values of the first line of a text.
func firstFields(head []byte) []string {
	text := strings.TrimLeft(strings.TrimPrefix(string(head), "\ufeff"), "\r\n\t ")
	line, _, _ := strings.Cut(text, "\n")
	return strings.Split(strings.TrimRight(line, "\r "), ",")
}

func (k *kind) recognises(fields []string) bool {
	if state := fields[k.status]; len(state) < 2 || state[0] < 'A' || state[0] > 'Z' || strings.Trim(state[1:], "abcdefghijklmnopqrstuvwxyz") != "" {
		return false
	}
	for _, i := range k.times {
		if _, err := strconv.ParseFloat(fields[i], 64); err != nil && !importers.IsNone(fields[i]) {
			return false
		}
	}
	return true
}

// tables are the open files of a trace by kind, nil where there is none.
type tables struct {
	sources [3]*importers.Source
}

// openTables opens the files and tells them apart.
func openTables(inputs []importers.Input) (*tables, error) {
	t := &tables{}
	for _, input := range inputs {
		source, err := importers.Open(input.Reader, input.Name)
		if err != nil {
			return t, err
		}
		if err := t.add(source); err != nil {
			source.Close()
			return t, err
		}
	}
	name := "no file"
	if len(inputs) > 0 {
		name = inputs[0].Name
	}
	for _, i := range []int{jobTable, taskTable} {
		if t.sources[i] == nil {
			return t, &datasets.RowError{File: name, Value: "the " + kinds[i].name + " table is missing", Fix: joinFix}
		}
	}
	return t, nil
}

func (t *tables) add(source *importers.Source) error {
	found := tableOf(source.Peek(sniffed))
	if found == nil {
		return notATable(source)
	}
	for i := range kinds {
		if found != &kinds[i] {
			continue
		}
		if t.sources[i] != nil {
			return source.Error(0, "", "a second "+found.name+" table beside "+t.sources[i].Name, joinFix)
		}
		t.sources[i] = source
	}
	return nil
}

func notATable(source *importers.Source) error {
	var want []string
	for _, k := range kinds {
		want = append(want, fmt.Sprintf("%s (%s)", k.name, strings.Join(k.columns, ",")))
	}
	return source.Error(0, "", "none of the tables", "want "+strings.Join(want, " or "))
}

func (t *tables) close() {
	for _, s := range t.sources {
		if s != nil {
			s.Close()
		}
	}
}

// hashes returns what the metadata says of the tables besides that of the jobs.
func (t *tables) hashes() ([]string, error) {
	var lines []string
	for i, s := range t.sources {
		if i == jobTable || s == nil {
			continue
		}
		digest, err := s.SHA256()
		if err != nil {
			return nil, err
		}
		lines = append(lines, "joined with the "+kinds[i].name+" table of SHA-256 "+digest)
	}
	return lines, nil
}
