package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func TestShellsCompleteValues(t *testing.T) {
	for line, want := range map[string]string{
		"bench --knowledge ":         "estimate",
		"train --knowledge o":        "oracle",
		"train --only ":              "allocation",
		"simulate --policy lea":      "learned",
		"bench --policies fifo,lp:s": "fifo,lp:srpt",
		"bench --strategies all,":    "all,rigid",
		"trace import --from phi":    "philly",
		"trace import --table col":   "colocation",
		"model clone --from pub":     "published",
		"trace split --by ":          "span",
		"tune --minimise p":          "p99",
	} {
		args := strings.Split(line, " ")
		out := mustRun(t, append([]string{cobra.ShellCompRequestCmd}, args...)...)
		begun := args[len(args)-1]
		got := strings.Split(strings.TrimSpace(out), "\n")
		if !slices.Contains(got, want) || got[len(got)-1] != ":4" { // no files
			t.Errorf("%q completes to %q, want %q among it, and no files", line, got, want)
		}
		for _, value := range got[:len(got)-1] {
			if !strings.HasPrefix(value, begun) {
				t.Errorf("%q completes to %q", line, value)
			}
		}
	}
	// The table of bench is a file, as is what a service decides from.
	if out := mustRun(t, cobra.ShellCompRequestCmd, "bench", "--table", ""); strings.Contains(out, "colocation") {
		t.Errorf("bench --table completes to %q", out)
	}
}

// Every entry is of a flag that there is.
func TestCompletionsAreOfFlags(t *testing.T) {
	left := completions()
	var visit func(c *cobra.Command)
	visit = func(c *cobra.Command) {
		c.Flags().VisitAll(func(f *pflag.Flag) {
			delete(left, f.Name)
			delete(left, c.Name()+" "+f.Name)
		})
		for _, sub := range c.Commands() {
			visit(sub)
		}
	}
	visit(newRoot())
	for name := range left {
		t.Errorf("no command has the flag %q", name)
	}
}
