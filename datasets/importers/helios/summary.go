package helios

import (
	"github.com/yardmaster/yardmaster/datasets"
	"github.com/yardmaster/yardmaster/datasets/importers"
)

// summaryColumns are those that are read of the summary's many, and one that
// tells it from other tables.
var summaryColumns = []string{"id", "gpu_num", "gpu_job_num"}

const (
	summaryTotal = "total" // the id of the last row

	dropTotal = "sum of the rows above it"
	warnGPUs  = "says how many GPUs there are, not of which type and on which nodes"
)

// SummaryFormat describes helios_cluster_summary.csv: id, gpu_num and figures of
// the jobs. A cluster is a row of the cluster_nodes table that says how many
// GPUs there are and not on how many nodes.
func SummaryFormat() importers.NodesFormat {
	return importers.NodesFormat{
		Name: "helios", About: "SenseTime Helios 2020: helios_cluster_summary.csv (id,gpu_num,job_num,…)",
		Sniff: SniffSummary, Import: ImportSummary,
	}
}

// SniffSummary reports whether a text begins like the summary.
func SniffSummary(head []byte) bool { return importers.HasColumns(head, summaryColumns...) }

// ImportSummary reads one or more summaries.
func ImportSummary(inputs ...importers.Input) (*datasets.NodeTable, importers.Report, error) {
	nodes := new(importers.Nodes)
	err := nodes.Each(inputs, func(s *importers.Source) error {
		return nodes.ReadTable(s, importers.Layout{Names: summaryColumns}, func(v *importers.Values) error {
			if v.Text(0) == summaryTotal {
				nodes.Drop(dropTotal)
				return nil
			}
			row := datasets.NodeRow{Source: "helios", Cluster: v.OwnName(0), GPUs: v.GPUs(1)}
			if v.Err() != nil {
				return nil
			}
			nodes.Warn(warnGPUs)
			return nodes.Keep(s, v.Line(), row)
		})
	})
	if err != nil {
		return nil, importers.Report{}, err
	}
	return nodes.Finish(datasets.Meta{Source: "SenseTime Helios, 2020 (Hu et al., SC 2021), helios_cluster_summary", Licence: "CC-BY-4.0"})
}
