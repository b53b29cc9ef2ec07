package openb

import (
	"errors"
	"io"
	"strings"

	"github.com/yardmaster/yardmaster/datasets"
	"github.com/yardmaster/yardmaster/datasets/importers"
)

// Node is a server of the cluster.
type Node struct {
	Name      string
	Model     string // of its GPUs in the trace's words, such as "V100M32" or "G2"; "" where it has none
	GPUs      int
	CPUMilli  int64
	MemoryMiB int64
}

var nodeLayout = importers.Layout{Names: []string{"sn", "cpu_milli", "memory_mib", "gpu", "model"}}

// ReadNodes reads openb_node_list_*.csv: sn, cpu_milli, memory_mib, gpu, model.
// It fails at the first row it cannot make sense of with a
// [*datasets.RowError] that names the line.
func ReadNodes(r io.Reader, name string) ([]Node, error) {
	source, err := importers.Open(r, name)
	if err != nil {
		return nil, err
	}
	defer source.Close()
	columns, err := importers.NewColumns(source, nodeLayout)
	if err != nil {
		return nil, err
	}
	var nodes []Node
	read := importers.ByColumn(func(_ *importers.Trace, v *importers.Values) {
		n := Node{Name: strings.Clone(v.Text(0)), CPUMilli: v.Whole(1, 0, 1<<40), MemoryMiB: v.Whole(2, 0, 1<<40), GPUs: int(v.GPUs(3))}
		if n.GPUs > 0 {
			n.Model = strings.Clone(v.Text(4))
		}
		if len(nodes) == datasets.MaxRows {
			v.Bad(0, "split the file: too many nodes")
		}
		nodes = append(nodes, n)
	})
	for {
		values, err := columns.Next()
		if errors.Is(err, io.EOF) {
			return nodes, nil
		}
		if err != nil {
			return nil, err
		}
		if err := read(nil, columns, values); err != nil {
			return nil, err
		}
	}
}
