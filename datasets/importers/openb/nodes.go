package openb

import (
	"github.com/yardmaster/yardmaster/datasets"
	"github.com/yardmaster/yardmaster/datasets/importers"
)

var nodeLayout = importers.Layout{Names: []string{"sn", "cpu_milli", "memory_mib", "gpu", "model"}}

// NodesFormat describes the lists of nodes, openb_node_list_*.csv: sn, cpu_milli,
// memory_mib, gpu, model. Each is a row of the cluster_nodes table; types of GPUs
// that the performance catalogue lacks, G2 and G3, keep their names.
func NodesFormat() importers.NodesFormat {
	return importers.NodesFormat{
		Name: "openb", About: "Alibaba 2023: openb_node_list_*.csv (sn,cpu_milli,memory_mib,gpu,model)",
		Sniff: SniffNodes, Import: ImportNodes,
	}
}

// SniffNodes reports whether a text begins like a list of nodes.
func SniffNodes(head []byte) bool { return importers.HasColumns(head, nodeLayout.Names...) }

// ImportNodes reads one or more lists. It fails at the first row it cannot make
// sense of with a [*datasets.RowError] that names the line.
func ImportNodes(inputs ...importers.Input) (*datasets.NodeTable, importers.Report, error) {
	nodes := new(importers.Nodes)
	err := nodes.Each(inputs, func(s *importers.Source) error {
		return nodes.ReadTable(s, nodeLayout, func(v *importers.Values) error {
			row := datasets.NodeRow{
				Source: "openb", Cluster: "openb", Node: v.OwnName(0), Nodes: 1, GPUs: v.GPUs(3),
				CPUs: float64(v.Whole(1, 0, 1<<30)) / 1000, MemGiB: float64(v.Whole(2, 0, 1<<30)) / 1024,
			}
			if v.Err() != nil {
				return nil
			}
			row.GPUType = nodes.Type(v.Text(4), row.GPUs, nil)
			return nodes.Keep(s, v.Line(), row)
		})
	})
	if err != nil {
		return nil, importers.Report{}, err
	}
	return nodes.Finish(datasets.Meta{
		Source:  "Alibaba, cluster-trace-gpu-v2023 (Weng et al., USENIX ATC 2023), openb_node_list",
		Licence: "research and study (README of alibaba/clusterdata)",
	})
}
