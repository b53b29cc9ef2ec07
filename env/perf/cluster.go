package perf

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/yardmaster/yardmaster/env"
)

// ParseCluster reads a cluster such as "V100=16,P100=16,K80=16": numbers of
// GPUs by type, in nodes of gpusPerNode; the last node of a type holds what is
// left over. Types keep the order of spec.
func (c *Catalogue) ParseCluster(spec string, gpusPerNode int) (env.Cluster, error) {
	var cluster env.Cluster
	if gpusPerNode < 1 || gpusPerNode > env.MaxGPUsPerNode {
		return cluster, fmt.Errorf("perf: cluster %q: %d GPUs per node, want 1 to %d", spec, gpusPerNode, env.MaxGPUsPerNode)
	}
	for part := range strings.SplitSeq(spec, ",") {
		name, count, err := parseGroup(part)
		if err != nil {
			return env.Cluster{}, fmt.Errorf("perf: cluster %q: %w", spec, err)
		}
		g, ok := c.GPU(name)
		if !ok {
			return env.Cluster{}, fmt.Errorf("cluster %q: %w", spec, c.unknownGPU(name))
		}
		if room := env.MaxNodes - len(cluster.Nodes); (count-1)/gpusPerNode+1 > room {
			return env.Cluster{}, fmt.Errorf("perf: cluster %q: more than %d nodes", spec, env.MaxNodes)
		}
		cluster.Types = append(cluster.Types, g.Type())
		for ; count > 0; count -= gpusPerNode {
			cluster.Nodes = append(cluster.Nodes, env.Node{Type: len(cluster.Types) - 1, GPUs: min(count, gpusPerNode)})
		}
	}
	if err := cluster.Validate(); err != nil {
		return env.Cluster{}, fmt.Errorf("perf: cluster %q: %w", spec, err)
	}
	return cluster, nil
}

// parseGroup reads "V100=16".
func parseGroup(s string) (name string, count int, err error) {
	name, number, ok := strings.Cut(s, "=")
	name = strings.TrimSpace(name)
	if !ok || name == "" {
		return "", 0, fmt.Errorf("%q, want TYPE=GPUS such as V100=16", s)
	}
	count, err = strconv.Atoi(strings.TrimSpace(number))
	if err != nil || count < 1 {
		return "", 0, fmt.Errorf("%q, want a number of GPUs >= 1", s)
	}
	return name, count, nil
}
