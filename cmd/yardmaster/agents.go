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

// listedPolicy is a policy in JSON.
type listedPolicy struct {
	Name  string `json:"name"`
	About string `json:"about"`
}

func newAgents() *cobra.Command {
	c := &cobra.Command{
		Use:   "agents",
		Short: "List the heuristics and linear programs",
		Args:  exactArgs(),
	}
	asJSON := jsonFlag(c)
	c.RunE = func(c *cobra.Command, _ []string) error {
		var all []listedPolicy
		w := tabwriter.NewWriter(c.OutOrStdout(), 0, 0, 2, ' ', 0)
		for _, e := range policies().Entries() {
			all = append(all, listedPolicy{e.Name, e.About})
			fmt.Fprintf(w, "%s\t%s\n", e.Name, e.About)
		}
		if *asJSON {
			return writeJSON(c.OutOrStdout(), all)
		}
		return w.Flush()
	}
	return c
}
