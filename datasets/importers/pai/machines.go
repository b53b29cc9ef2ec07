package pai

import (
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/yardmaster/yardmaster/datasets"
	"github.com/yardmaster/yardmaster/datasets/importers"
)

var machineTable = kind{name: "machine", columns: []string{"machine", "gpu_type", "cap_cpu", "cap_mem", "cap_gpu"}}

// noGPU is the table's word for the type of a machine without a GPU.
const noGPU = "CPU"

// MachinesFormat describes the table of machines, pai_machine_spec.csv: machine,
// gpu_type, cap_cpu, cap_mem (GiB), cap_gpu, no header. Each is a row of the
// cluster_nodes table; MISC, which is several old types, keeps its name.
func MachinesFormat() importers.NodesFormat {
	return importers.NodesFormat{
		Name: "pai", About: "Alibaba PAI 2020: pai_machine_spec.csv (machine,gpu_type,cap_cpu,cap_mem,cap_gpu, no header)",
		Sniff: SniffMachines, Import: ImportMachines,
	}
}

// SniffMachines reports whether a text begins like the table of machines: with
// its header, or a row that could be one of it.
func SniffMachines(head []byte) bool {
	fields := firstFields(head)
	if len(fields) != len(machineTable.columns) {
		return false
	}
	if slices.Equal(fields, machineTable.columns) {
		return true
	}
	for _, number := range fields[2:] {
		if x, err := strconv.ParseFloat(number, 64); err != nil || x < 0 {
			return false
		}
	}
	name, gpuType := fields[0], fields[1]
	return name != "" && strings.Trim(name, "0123456789abcdef") == "" && gpuType != "" && gpuType == strings.ToUpper(gpuType) && gpuType[0] >= 'A'
}

// ImportMachines reads one or more tables of machines. It fails at the first row
// it cannot make sense of with a [*datasets.RowError] that names the line.
func ImportMachines(inputs ...importers.Input) (*datasets.NodeTable, importers.Report, error) {
	nodes := new(importers.Nodes)
	err := nodes.Each(inputs, func(s *importers.Source) error {
		return nodes.ReadTable(s, importers.Layout{Names: machineTable.columns, Headless: true}, func(v *importers.Values) error {
			row := datasets.NodeRow{
				Source: "pai", Cluster: "pai", Node: v.OwnName(0), Nodes: 1, GPUs: v.GPUs(4),
				CPUs: float64(v.Whole(2, 0, 1<<20)), MemGiB: v.Number(3, 0, 1<<20),
			}
			if v.Err() != nil {
				return nil
			}
			if v.Text(1) != noGPU {
				row.GPUType = nodes.Type(v.Text(1), row.GPUs, nil)
			}
			return nodes.Keep(s, v.Line(), row)
		})
	})
	if err != nil {
		return nil, importers.Report{}, err
	}
	return nodes.Finish(datasets.Meta{Source: "Alibaba PAI, cluster-trace-gpu-v2020 (Weng et al., NSDI 2022), pai_machine_spec", Licence: "CC-BY-4.0"})
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
