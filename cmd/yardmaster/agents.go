package main

import (
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/yardmaster/yardmaster/agent"
	"github.com/yardmaster/yardmaster/agent/heuristic"
	"github.com/yardmaster/yardmaster/agent/lp"
)

// policies returns every policy that needs no model file.
func policies() *agent.Registry {
	var r agent.Registry
	heuristic.Register(&r)
	lp.Register(&r)
	return &r
}

func newAgents() *cobra.Command {
	return &cobra.Command{
		Use:   "agents",
		Short: "List the heuristics and linear programs",
		Args:  exactArgs(),
		RunE: func(c *cobra.Command, _ []string) error {
			w := tabwriter.NewWriter(c.OutOrStdout(), 0, 0, 2, ' ', 0)
			for _, e := range policies().Entries() {
				fmt.Fprintf(w, "%s\t%s\n", e.Name, e.About)
			}
			return w.Flush()
		},
	}
}
