package throughputs

import (
	"slices"

	"github.com/yardmaster/yardmaster/datasets"
	"github.com/yardmaster/yardmaster/datasets/importers"
)

var clusterColumns = []string{"source", "cluster", "gpu_type", "nodes", "gpus_per_node", "gpus", "mem_mib", "cpu_milli", "note"}

// Positions in clusterColumns.
const (
	clusterSource = iota
	clusterName
	clusterType
	clusterNodes
	clusterEach
	clusterGPUs
	clusterMemory
	clusterCPUs
	clusterNote
)

const warnNote = "has a note: no column for it"

// noGPU are the table's words for the GPU type of nodes without one.
var noGPU = []string{"none", "CPU"}

// ClustersFormat describes the table of published clusters, clusters.csv: source,
// cluster, gpu_type, nodes, gpus_per_node, gpus, mem_mib, cpu_milli, note. Each
// row is one of the cluster_nodes table; note is left out.
func ClustersFormat() importers.NodesFormat {
	return importers.NodesFormat{
		Name: "clusters", About: "hardware of published clusters in one CSV: source,cluster,gpu_type,nodes,gpus_per_node,...",
		Sniff: SniffClusters, Import: ImportClusters,
	}
}

// SniffClusters reports whether a text begins like the table of clusters.
func SniffClusters(head []byte) bool { return importers.HasColumns(head, clusterColumns...) }

// ImportClusters reads one or more tables of clusters.
func ImportClusters(inputs ...importers.Input) (*datasets.NodeTable, importers.Report, error) {
	nodes := new(importers.Nodes)
	err := nodes.Each(inputs, func(s *importers.Source) error {
		return nodes.ReadTable(s, importers.Layout{Names: clusterColumns, MaxValue: maxNote}, func(v *importers.Values) error {
			row := clusterRow(v)
			if v.Err() != nil {
				return nil
			}
			if v.Text(clusterNote) != "" {
				nodes.Warn(warnNote)
			}
			if !slices.Contains(noGPU, v.Text(clusterType)) {
				row.GPUType = nodes.Type(v.Text(clusterType), row.GPUs, gpuTypes)
			}
			return nodes.Keep(s, v.Line(), row)
		})
	})
	if err != nil {
		return nil, importers.Report{}, err
	}
	return nodes.Finish(datasets.Meta{Source: "hardware of published clusters, in one table", Licence: "as its sources"})
}

// clusterRow reads a row but for its GPU type. What is wrong with it stays in v.
func clusterRow(v *importers.Values) datasets.NodeRow {
	row := datasets.NodeRow{
		Source: v.OwnName(clusterSource), Cluster: v.OwnName(clusterName),
		Nodes: int32(v.Whole(clusterNodes, 1, datasets.MaxGPUs)), GPUs: v.GPUs(clusterGPUs),
		MemGiB: optional(v, clusterMemory, 1, 1<<30) / 1024, CPUs: optional(v, clusterCPUs, 1, 1<<30) / 1000,
	}
	if each := v.GPUs(clusterEach); v.Err() == nil && int64(each)*int64(row.Nodes) != int64(row.GPUs) {
		v.Bad(clusterGPUs, "want nodes × gpus_per_node")
	}
	return row
}
