package relay

import (
	"bytes"
	"fmt"

	"github.com/yardmaster/yardmaster/env"
)

// plan returns a decision as lines for the shell, one per job: what to do, the
// job's id and, where it runs, the GPU type's index, its name, GPUs, nodes and the
// strategy's index, separated by tabs. Stops come first: they free what starts
// take.
//
//	stop	17
//	move	4	1	V100	4	1	6
//	start	9	0	A100	8	1	2
//	keep	3	0	A100	2	1	1
//	wait	5
func plan(s *env.State, a env.Allocation) []byte {
	var stops, rest bytes.Buffer
	for i := range s.Jobs {
		j := &s.Jobs[i]
		word := verb(j.Current, a[i])
		if a[i] == env.Idle {
			to := &rest
			if word == "stop" {
				to = &stops
			}
			fmt.Fprintf(to, "%s\t%d\n", word, j.ID)
			continue
		}
		st := &j.Strategies[a[i]]
		fmt.Fprintf(&rest, "%s\t%d\t%d\t%s\t%d\t%d\t%d\n", word, j.ID, st.Type, s.Cluster.Types[st.Type].Name, st.GPUs, st.Nodes, a[i])
	}
	return append(stops.Bytes(), rest.Bytes()...)
}

// verb returns what it is to go from one strategy to another.
func verb(from, to int) string {
	switch {
	case from == to && to == env.Idle:
		return "wait"
	case from == to:
		return "keep"
	case to == env.Idle:
		return "stop"
	case from == env.Idle:
		return "start"
	}
	return "move"
}
