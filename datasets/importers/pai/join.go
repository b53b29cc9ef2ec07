package pai

import (
	"math"
	"strings"
	"time"

	"github.com/yardmaster/yardmaster/datasets"
	"github.com/yardmaster/yardmaster/datasets/importers"
)

// Reasons for which rows are dropped or warned about.
const (
	dropName   = "has the name of an earlier job"
	dropNoTask = "has no task in the task table"

	dropNoJob       = "its job is not in the job table"
	dropTaskName    = "has the name of an earlier task of its job"
	dropNoGPUTask   = "its task uses no GPU or is not in the task table"
	dropNoTimes     = "has no start or no end"
	warnAddUp       = "parts of GPUs add up to whole ones"
	warnOneInstance = "a task does not say how many instances it has: taken as one"
	warnGPUTypes    = "its tasks ran on several GPU types"
	warnGPUType     = "its GPU type is not in the performance catalogue"
	warnJobEnd      = "its tasks have no end: the job's is taken"
	warnNoInstance  = "its tasks have no instance with times: the tasks' are taken"
)

// Positions of the columns in kinds, of all tables.
const (
	colJob  = 0
	colTask = 1 // not of the job table

	jobUser   = 2
	jobStatus = 3
	jobStart  = 4
	jobEnd    = 5

	taskInstances = 2
	taskStart     = 4
	taskEnd       = 5
	taskGPU       = 8
	taskType      = 9

	instanceStart = 6
	instanceEnd   = 7
)

// span is a time from the first start to the last end of several runs.
type span struct {
	start, end     time.Duration
	started, ended bool
}

// add widens the span by a run.
func (s *span) add(run span) {
	if run.started && (!s.started || run.start < s.start) {
		s.start, s.started = run.start, true
	}
	if run.ended && (!s.ended || run.end > s.end) {
		s.end, s.ended = run.end, true
	}
}

// job is a row of the job table and what the others say of it.
type job struct {
	line         int64
	span         // as the job table has it: the start is the submission
	user, status string
	repeated     bool    // its name is that of an earlier row
	gpus         float64 // Σ inst_num × plan_gpu / 100
	parts        bool    // some instance has a part of a GPU
	oneInstance  bool    // some task names no number of instances
	tasks        int32   // position of its last task + 1, 0 for none
	count        int     // of its tasks
}

// maxTasks is the most tasks a job may have; those of the trace have a few.
const maxTasks = 1000

// task is a row of the task table.
type task struct {
	name      string
	next      int32 // position of the job's next task + 1
	usesGPU   bool
	gpuType   string // in the trace's words
	run       span
	instances span
}

// joiner brings the tables together. Tasks of a job are a linked list.
type joiner struct {
	cfg             *Config
	trace           *importers.Trace
	jobs            []job
	byName          map[string]int32 // position in jobs
	tasks           []task
	tasksReport     account
	instancesReport account
}

// readSpan reads the times of a row, which may be missing.
func readSpan(v *importers.Values, start, end int) span {
	var s span
	if s.started = !v.None(start); s.started {
		s.start = v.Seconds(start)
	}
	if s.ended = !v.None(end); s.ended {
		s.end = v.Seconds(end)
	}
	return s
}

// job adds a row of the job table.
func (j *joiner) job(v *importers.Values) {
	row := job{line: v.Line(), span: readSpan(v, jobStart, jobEnd), user: v.Name(jobUser, j.trace), status: v.Name(jobStatus, j.trace)}
	name := v.Text(colJob)
	if name == "" {
		v.Bad(colJob, "want the name of the job")
	}
	if _, row.repeated = j.byName[name]; !row.repeated {
		j.byName[strings.Clone(name)] = int32(len(j.jobs))
	}
	j.jobs = append(j.jobs, row)
}

// find returns the task of a job, nil if it has none of this name.
func (j *joiner) find(of *job, name string) *task {
	for at := of.tasks; at > 0; at = j.tasks[at-1].next {
		if j.tasks[at-1].name == name {
			return &j.tasks[at-1]
		}
	}
	return nil
}

// task adds a row of the task table to its job.
func (j *joiner) task(v *importers.Values) {
	a := &j.tasksReport
	a.read++
	at, known := j.byName[v.Text(colJob)]
	if !known {
		a.dropped.Add(dropNoJob)
		return
	}
	of := &j.jobs[at]
	if j.find(of, v.Text(colTask)) != nil {
		a.dropped.Add(dropTaskName)
		return
	}
	t := task{name: v.Name(colTask, j.trace), next: of.tasks}
	if percent := j.percent(v); percent > 0 {
		t.usesGPU, t.gpuType, t.run = true, v.Name(taskType, j.trace), readSpan(v, taskStart, taskEnd)
		instances := 1.0
		if v.None(taskInstances) {
			of.oneInstance = true
		} else {
			instances = float64(v.Whole(taskInstances, 0, datasets.MaxGPUs))
		}
		if of.gpus += instances * percent / 100; of.gpus > datasets.MaxGPUs {
			v.Bad(taskGPU, "want at most 1000000 GPUs in all tasks of the job")
		}
		of.parts = of.parts || math.Mod(percent, 100) != 0
	}
	if of.count++; of.count > maxTasks || len(j.tasks) == datasets.MaxRows {
		v.Bad(colJob, "want at most 1000 tasks of a job, and 16777216 in all")
	}
	a.kept++
	j.tasks = append(j.tasks, t)
	of.tasks = int32(len(j.tasks))
}

// percent reads plan_gpu, which is empty for roles without a GPU.
func (j *joiner) percent(v *importers.Values) float64 {
	if v.None(taskGPU) {
		return 0
	}
	return v.Number(taskGPU, 0, 100*datasets.MaxGPUs)
}

// instance adds a row of the instance table to its task.
func (j *joiner) instance(v *importers.Values) {
	a := &j.instancesReport
	a.read++
	at, known := j.byName[v.Text(colJob)]
	if !known {
		a.dropped.Add(dropNoJob)
		return
	}
	t := j.find(&j.jobs[at], v.Text(colTask))
	if t == nil || !t.usesGPU {
		a.dropped.Add(dropNoGPUTask)
		return
	}
	run := readSpan(v, instanceStart, instanceEnd)
	if !run.started || !run.ended {
		a.dropped.Add(dropNoTimes)
		return
	}
	a.kept++
	t.instances.add(run)
}

// decide keeps or drops every job, now that all tables are read.
func (j *joiner) decide(instances bool) error {
	for i := range j.jobs {
		if err := j.trace.Begin(j.jobs[i].line); err != nil {
			return err
		}
		if drop := j.keep(&j.jobs[i], instances); drop != "" {
			j.trace.Drop(drop)
		}
	}
	return nil
}

// keep adds a job to the trace, or returns the reason to drop it.
func (j *joiner) keep(of *job, instances bool) (drop string) {
	whole := math.Round(of.gpus)
	shared := math.Abs(of.gpus-whole) > 1e-6
	switch {
	case of.repeated:
		return dropName
	case of.tasks == 0:
		return dropNoTask
	case of.gpus == 0:
		return importers.DropNoGPU
	case of.status == "Waiting" || !of.started:
		return importers.DropNoStart
	case of.status == "Running":
		return importers.DropRunning
	case shared && !j.cfg.RoundUp:
		return importers.DropShared
	case shared:
		whole = math.Ceil(of.gpus)
	}
	run, drop := j.run(of, instances)
	if drop != "" {
		return drop
	}
	row := datasets.Row{Submit: of.start, GPUs: int32(whole), Tenant: of.user, Status: of.status}
	if row.Duration, drop = j.trace.Ran(of.start, run.start, run.end); drop != "" {
		return drop
	}
	row.ReferenceGPU = j.gpuType(of)
	j.warn(of, shared)
	j.trace.KeepNumbered(row)
	return ""
}

// run returns when the GPUs of a job were in use, or the reason to drop it.
func (j *joiner) run(of *job, instances bool) (span, string) {
	var run, byInstance span
	for at := of.tasks; at > 0; at = j.tasks[at-1].next {
		t := &j.tasks[at-1]
		run.add(t.run)
		byInstance.add(t.instances)
	}
	switch {
	case byInstance.started:
		return byInstance, ""
	case !run.started:
		return span{}, importers.DropNoStart
	case !run.ended && !of.ended:
		return span{}, importers.DropRunning
	case instances:
		j.trace.Warn(warnNoInstance)
	}
	if !run.ended {
		j.trace.Warn(warnJobEnd)
		run.end = of.end
	}
	return run, ""
}

// gpuType returns the catalogue's name of the GPU type of a job's tasks, "" if
// there are several or one it does not have.
func (j *joiner) gpuType(of *job) string {
	first := ""
	for at := of.tasks; at > 0; at = j.tasks[at-1].next {
		t := &j.tasks[at-1]
		switch {
		case !t.usesGPU || importers.IsNone(t.gpuType):
		case first == "":
			first = t.gpuType
		case first != t.gpuType:
			j.trace.Warn(warnGPUTypes)
			return ""
		}
	}
	name, known := importers.GPUType(first)
	if first != "" && !known {
		j.trace.Warn(warnGPUType)
	}
	return name
}

// warn reports what is suspicious about a job that is kept.
func (j *joiner) warn(of *job, shared bool) {
	switch of.status {
	case "Terminated", "Failed":
	default:
		j.trace.Warn(importers.WarnState)
	}
	switch {
	case shared:
		j.trace.Warn(importers.WarnRounded)
	case of.parts:
		j.trace.Warn(warnAddUp)
	}
	if of.oneInstance {
		j.trace.Warn(warnOneInstance)
	}
}
