package pai

import (
	"io"
	"strings"

	"github.com/yardmaster/yardmaster/datasets"
	"github.com/yardmaster/yardmaster/datasets/importers"
)

// Machine is a server of the cluster.
type Machine struct {
	Name    string
	GPUType string // in the trace's words, such as "V100M32", "MISC" or "CPU" for none
	GPUs    int
	CPUs    int
	// MemoryGB is the main memory.
	MemoryGB float64
}

var machineTable = kind{name: "machine", columns: []string{"machine", "gpu_type", "cap_cpu", "cap_mem", "cap_gpu"}, maxRows: datasets.MaxRows}

// ReadMachines reads pai_machine_spec.csv. It fails at the first row it cannot
// make sense of with a [*datasets.RowError] that names the line.
func ReadMachines(r io.Reader, name string) ([]Machine, error) {
	source, err := importers.Open(r, name)
	if err != nil {
		return nil, err
	}
	defer source.Close()
	var machines []Machine
	err = readTable(source, &machineTable, func(v *importers.Values) {
		machines = append(machines, Machine{
			Name: strings.Clone(v.Text(0)), GPUType: strings.Clone(v.Text(1)), CPUs: int(v.Whole(2, 0, 1<<20)), MemoryGB: v.Number(3, 0, 1<<30), GPUs: int(v.GPUs(4)),
		})
	})
	if err != nil {
		return nil, err
	}
	return machines, nil
}

// Sensor is what an instance used of the GPUs it was given, averaged over its
// life.
type Sensor struct {
	Job, Task, Worker string
	// GPUPercent is the use of GPUs, in percent of one: it exceeds 100 where an
	// instance uses several, and also what it was given, for the sharing of GPUs
	// does not stop it.
	GPUPercent float64
	// MemoryGB is the memory in use on the GPUs.
	MemoryGB float64
}

var sensorTable = kind{
	name: "sensor", columns: []string{
		"job_name", "task_name", "worker_name", "inst_id", "machine", "gpu_name", "cpu_usage", "gpu_wrk_util",
		"avg_mem", "max_mem", "avg_gpu_wrk_mem", "max_gpu_wrk_mem", "read", "write", "read_count", "write_count",
	}, maxRows: 1 << 30,
}

// Positions of the columns that are read of the sensor table.
const (
	sensorWorker = 2
	sensorUse    = 7
	sensorMemory = 10
)

// ReadSensors calls use with every row of pai_sensor_table.csv that has a
// measurement of its GPUs, and accounts for the others. A Sensor's names are
// parts of a line: clone them to keep them.
func ReadSensors(r io.Reader, name string, use func(Sensor)) (datasets.Report, error) {
	source, err := importers.Open(r, name)
	if err != nil {
		return datasets.Report{}, err
	}
	defer source.Close()
	var a account
	err = readTable(source, &sensorTable, func(v *importers.Values) {
		a.read++
		if v.None(sensorUse) {
			a.dropped.Add("has no measurement of its GPUs")
			return
		}
		s := Sensor{Job: v.Text(colJob), Task: v.Text(colTask), Worker: v.Text(sensorWorker), GPUPercent: v.Number(sensorUse, 0, 100*datasets.MaxGPUs)}
		if !v.None(sensorMemory) {
			s.MemoryGB = v.Number(sensorMemory, 0, 1<<30)
		}
		a.kept++
		use(s)
	})
	return a.report(), err
}
