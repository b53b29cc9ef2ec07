package main

import (
	"encoding/json"

	"github.com/spf13/cobra"

	"github.com/yardmaster/yardmaster/train/runfile"
)

func newTrainConfig() *cobra.Command {
	var settings runFlags
	var asJSON, print bool
	c := &cobra.Command{
		Use:     "config",
		Aliases: []string{"defaults"},
		Short:   "Print a run file with every setting",
		Long: `Print a run file in YAML with every setting of a run: what it means, which
values it may have, and its value. Without flags that is the default; with
--config, --set and the flags of train it is what such a run would use, so that
the command also checks a file.

  yardmaster train config > my.yaml
  yardmaster train config --config my.yaml --set ppo.rate=1e-4
  yardmaster train config --json | jq '.[] | select(.key == "ppo.rate")'`,
		Args: exactArgs(),
		RunE: func(c *cobra.Command, _ []string) error {
			file, err := settings.merge(c.Flags())
			if err != nil {
				return err
			}
			if asJSON {
				return writeJSON(c.OutOrStdout(), describeSettings(file))
			}
			_, err = c.OutOrStdout().Write(file.Encode())
			return err
		},
	}
	settings.add(c.Flags(), "config")
	c.Flags().BoolVar(&print, "print", true, "print the file, which is all that this does")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON: an array of settings")
	_ = c.Flags().MarkHidden("print")
	return c
}

// setting is a setting as JSON.
type setting struct {
	Key   string          `json:"key"`
	Value json.RawMessage `json:"value"`
	About string          `json:"about"`
	Want  string          `json:"want"`
}

func describeSettings(file *runfile.File) []setting {
	var all []setting
	for _, k := range runfile.Keys() {
		all = append(all, setting{k.Name, file.JSON(k.Name), k.About, k.Allow.String()})
	}
	return all
}
