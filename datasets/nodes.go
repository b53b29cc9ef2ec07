package datasets

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/parquet-go/parquet-go"

	"github.com/yardmaster/yardmaster/env"
)

// NodesVersion is the version of the cluster_nodes table that [WriteNodes]
// writes. [ReadNodes] takes this one and every older one.
const NodesVersion = 1

// Limits on what a cluster_nodes table may hold.
const (
	MaxNodeRows = 1 << 20 // rows of a table
	maxCPUs     = 1 << 20 // cores of a node
)

// NodeRow is a node of a cluster, or several that are alike. A field whose
// column is nullable is null where it has its zero value.
type NodeRow struct {
	Source  string // source: who published it
	Cluster string // cluster: the cluster it belongs to
	Node    string // node: its name; nullable
	GPUType string // gpu_type: named as in a throughput table; null where it has no GPU or it is not known
	// Nodes (nodes) is how many nodes the row stands for; null where only the
	// GPUs of all of them are known.
	Nodes  int32
	GPUs   int32   // gpus: of all nodes of the row together, >= 0
	CPUs   float64 // cpus: cores of each node; nullable
	MemGiB float64 // mem_gib: main memory of each node; nullable
}

// NodeTable is a table of the hardware of clusters, in any order.
type NodeTable struct {
	// Name is the file the table was read from, or what errors call it.
	Name string
	Meta Meta
	Rows []NodeRow
}

// Kind returns [KindClusterNodes].
func (t *NodeTable) Kind() string { return KindClusterNodes }

// Len returns the number of rows.
func (t *NodeTable) Len() int { return len(t.Rows) }

// Metadata says where the table comes from. It is part of t.
func (t *NodeTable) Metadata() *Meta { return &t.Meta }

// Validate reports what is wrong with t, up to ten problems at once, each a
// [*RowError].
func (t *NodeTable) Validate() error {
	return checkRows(t.Name, t.Rows, MaxNodeRows, (*NodeRow).check)
}

// Hash returns a hash of the rows (SHA-256, hex). It depends on nothing but the
// rows and their order.
func (t *NodeTable) Hash() string {
	return hashRows("yardmaster cluster_nodes 1", t.Rows, func(h *rowHash, r *NodeRow) {
		h.whole(int64(r.Nodes), int64(r.GPUs))
		h.number(r.CPUs, r.MemGiB)
		h.text(r.Source, r.Cluster, r.Node, r.GPUType)
	})
}

// Validate reports the first thing wrong with r as a [*RowError] without file
// and row.
func (r *NodeRow) Validate() error { return orNil(r.check()) }

func (r *NodeRow) check() *RowError {
	if err := checkNames(
		checkedName{columnSource, r.Source, true}, checkedName{columnCluster, r.Cluster, true},
		checkedName{columnNode, r.Node, false}, checkedName{columnGPUType, r.GPUType, false},
	); err != nil {
		return err
	}
	switch {
	case r.Nodes < 0 || r.Nodes > MaxGPUs:
		return badValue(columnNodes, r.Nodes, "want 1 to 1000000, or null where it is not known")
	case r.GPUs < 0 || r.GPUs > MaxGPUs:
		return badValue(columnGPUs, r.GPUs, "want 0 to 1000000")
	case r.Nodes > 0 && r.GPUs%r.Nodes != 0:
		return badValue(columnGPUs, r.GPUs, fmt.Sprintf("want the GPUs of %d equal nodes together, a multiple of that", r.Nodes))
	case r.Node != "" && r.Nodes != 1:
		return badValue(columnNodes, r.Nodes, "want 1: the row names a node")
	case r.GPUs == 0 && r.GPUType != "":
		return badValue(columnGPUType, Excerpt(r.GPUType), "want null where there is no GPU")
	case !(r.CPUs >= 0 && r.CPUs <= maxCPUs):
		return badValue(columnCPUs, r.CPUs, "want cores > 0, or null where it is not known")
	case !(r.MemGiB >= 0 && r.MemGiB <= maxMemoryGiB):
		return badValue(columnMemory, r.MemGiB, "want GiB > 0, or null where it is not known")
	}
	return nil
}

// Clusters returns the names of the clusters in the table, ascending.
func (t *NodeTable) Clusters() []string {
	var names []string
	for i := range t.Rows {
		names = append(names, t.Rows[i].Cluster)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Cluster returns the nodes with GPUs of one cluster, "" where the table has one
// only, as a simulation takes them: types ascending by name, nodes in the order
// of the rows. Memory and price of a GPU type are not in a table and stay 0.
func (t *NodeTable) Cluster(name string) (env.Cluster, error) {
	clusters := t.Clusters()
	if name == "" && len(clusters) == 1 {
		name = clusters[0]
	}
	if !slices.Contains(clusters, name) {
		return env.Cluster{}, &RowError{File: t.Name, Column: columnCluster, Value: Excerpt(name), Fix: "want one of " + strings.Join(clusters, ", ")}
	}
	var c env.Cluster
	var types []string
	for i := range t.Rows {
		if r := &t.Rows[i]; r.Cluster == name && r.GPUs > 0 {
			if r.GPUType == "" || r.Nodes == 0 {
				return env.Cluster{}, &RowError{File: t.Name, Row: int64(i) + 1, Value: "the row does not say what its nodes are", Fix: "set " + columnGPUType + " and " + columnNodes}
			}
			types = append(types, r.GPUType)
		}
	}
	slices.Sort(types)
	for _, name := range slices.Compact(types) {
		c.Types = append(c.Types, env.GPUType{Name: name})
	}
	for i := range t.Rows {
		r := &t.Rows[i]
		if r.Cluster != name || r.GPUs == 0 {
			continue
		}
		if len(c.Nodes)+int(r.Nodes) > env.MaxNodes {
			return env.Cluster{}, &RowError{File: t.Name, Value: "too many nodes", Fix: fmt.Sprintf("want at most %d", env.MaxNodes)}
		}
		node := env.Node{Type: c.TypeIndex(r.GPUType), GPUs: int(r.GPUs / r.Nodes)}
		c.Nodes = append(c.Nodes, slices.Repeat([]env.Node{node}, int(r.Nodes))...)
	}
	return c, c.Validate()
}

// Names of the columns that the jobs and throughput tables lack.
const (
	columnCluster = "cluster"
	columnNode    = "node"
	columnCPUs    = "cpus"
)

// nodeLayout is the schema of version 1, in file order.
var nodeLayout = layout[NodeRow]{
	table: KindClusterNodes, version: NodesVersion, rows: MaxNodeRows,
	fields: []field[NodeRow]{
		{name: columnSource, kind: parquet.ByteArray, set: func(r *NodeRow, c cell) { r.Source = c.text }},
		{name: columnCluster, kind: parquet.ByteArray, set: func(r *NodeRow, c cell) { r.Cluster = c.text }},
		{name: columnNode, kind: parquet.ByteArray, nullable: true, optional: true, set: func(r *NodeRow, c cell) { r.Node = c.text }},
		{name: columnGPUType, kind: parquet.ByteArray, nullable: true, set: func(r *NodeRow, c cell) { r.GPUType = c.text }},
		{name: columnNodes, kind: parquet.Int32, nullable: true, set: func(r *NodeRow, c cell) { r.Nodes = int32(c.whole) }},
		{name: columnGPUs, kind: parquet.Int32, set: func(r *NodeRow, c cell) { r.GPUs = int32(c.whole) }},
		{name: columnCPUs, kind: parquet.Double, nullable: true, optional: true, set: func(r *NodeRow, c cell) { r.CPUs = c.number }},
		{name: columnMemory, kind: parquet.Double, nullable: true, optional: true, set: func(r *NodeRow, c cell) { r.MemGiB = c.number }},
	},
}

// writtenNode is a [NodeRow] as parquet-go writes it: field order is column
// order, and nil is null.
type writtenNode struct {
	Source  string   `parquet:"source,dict"`
	Cluster string   `parquet:"cluster,dict"`
	Node    *string  `parquet:"node,optional,dict"`
	GPUType *string  `parquet:"gpu_type,optional,dict"`
	Nodes   *int32   `parquet:"nodes,optional,dict"`
	GPUs    int32    `parquet:"gpus,dict"`
	CPUs    *float64 `parquet:"cpus,optional,dict"`
	MemGiB  *float64 `parquet:"mem_gib,optional,dict"`
}

func (r *NodeRow) written() writtenNode {
	return writtenNode{
		Source: r.Source, Cluster: r.Cluster, Node: orNull(&r.Node), GPUType: orNull(&r.GPUType), Nodes: orNull(&r.Nodes),
		GPUs: r.GPUs, CPUs: orNull(&r.CPUs), MemGiB: orNull(&r.MemGiB),
	}
}

// WriteNodes writes t as a Parquet file in the current schema version. As with
// [Write], the file appears under its name when it is complete, and equal tables
// give equal files.
func WriteNodes(path string, t *NodeTable) error {
	if err := t.Validate(); err != nil {
		return err
	}
	return writeFile(path, &nodeLayout, t.Meta, t.Rows, (*NodeRow).written)
}

// Write is [WriteNodes].
func (t *NodeTable) Write(path string) error { return WriteNodes(path, t) }

// ReadNodes reads a cluster_nodes table. Every value must be as SCHEMA.md says;
// the first problem is returned as a [*RowError]. A damaged or hostile file
// gives an error, too.
func ReadNodes(path string) (*NodeTable, error) { return readNamed(path, ReadNodesFrom) }

// ReadNodesFrom is [ReadNodes] of the size bytes of r; name is what errors call
// it.
func ReadNodesFrom(r io.ReaderAt, size int64, name string) (*NodeTable, error) {
	meta, rows, err := nodeLayout.read(r, size, name)
	if err != nil {
		return nil, err
	}
	t := &NodeTable{Name: name, Meta: meta, Rows: rows}
	if err := t.Validate(); err != nil {
		return nil, firstError(err)
	}
	return t, nil
}
