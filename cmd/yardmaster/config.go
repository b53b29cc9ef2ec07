package main

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/yardmaster/yardmaster/serve/settings"
)

func newConfig() *cobra.Command {
	c := &cobra.Command{
		Use:   "config",
		Short: "Print, check and describe the settings of serve",
		Long: `Print, check and describe the settings of yardmaster serve: those of a YAML file, of
environment variables (YM_…) and of flags.

  yardmaster config print > yardmaster.yaml                     a file to start from
  yardmaster config print --resolved --config yardmaster.yaml   every value and who gave it
  yardmaster config validate yardmaster.yaml                    what is wrong, by line
  yardmaster config schema > yardmaster.schema.json             for editors`,
	}
	c.AddCommand(newConfigPrint(), newConfigValidate(), newConfigSchema())
	return c
}

// serveSetting is a setting of serve in JSON.
type serveSetting struct {
	Key     string `json:"key"`
	Value   string `json:"value"`
	Source  string `json:"source"`
	Where   string `json:"where"`
	Default string `json:"default"`
	Env     string `json:"env"`
	Flag    string `json:"flag"`
	Type    string `json:"type"`
	Reload  bool   `json:"reload"`
	Doc     string `json:"doc"`
}

func newConfigPrint() *cobra.Command {
	var flags settingFlagSet
	var resolved, table, asJSON bool
	c := &cobra.Command{
		Use:   "print",
		Short: "Print the settings that serve would run with",
		Long: `Print the settings that yardmaster serve would run with, given the same flags,
variables and file. Without flags it prints a whole file, each key with its meaning,
that says the same; --resolved prints who gave each value. Secrets are never shown:
settings only name the files that hold them.`,
		Args: exactArgs(),
		RunE: func(c *cobra.Command, _ []string) error {
			r, err := flags.load()
			if err != nil {
				return usageError{err}
			}
			out := c.OutOrStdout()
			switch {
			case asJSON:
				list := make([]serveSetting, len(r.Values))
				for i, v := range r.Values {
					s := v.Setting
					list[i] = serveSetting{s.Key, v.Text, string(v.Source), v.Where, s.Default, s.Env(), "--" + s.FlagName(), s.Type(), s.Reload, s.Doc}
				}
				e := json.NewEncoder(out)
				e.SetIndent("", "  ")
				return e.Encode(list)
			case table:
				return settings.Table(out)
			case resolved:
				return r.Print(out)
			}
			return r.YAML(out)
		},
	}
	c.Flags().BoolVar(&resolved, "resolved", false, "print each value and who gave it, as a table")
	c.Flags().BoolVar(&table, "table", false, "print all settings with their variables, flags and defaults, as a table in Markdown")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	flags.add(c.Flags())
	return c
}

func newConfigValidate() *cobra.Command {
	return &cobra.Command{
		Use:   "validate FILE",
		Short: "Say what is wrong with a file of settings, by line",
		Long: `Say what is wrong with a file of settings: every mistake with its line, its key and,
for a key that does not exist, the nearest one that does. Environment variables and
flags are not looked at. Exits with 1 if anything is wrong.`,
		Args: exactArgs("FILE"),
		RunE: func(c *cobra.Command, args []string) error {
			r, err := settings.Load(settings.Input{File: args[0]})
			if err != nil {
				return err
			}
			given := 0
			for _, v := range r.Values {
				if v.Source == settings.FromFile {
					given++
				}
			}
			_, err = fmt.Fprintf(c.OutOrStdout(), "%s: good, %d settings\n", args[0], given)
			return err
		},
	}
}

func newConfigSchema() *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of the file, for editors",
		Long: `Print the JSON Schema of the file, with which editors check and complete it. Put
its path into the first line of the file:

  # yaml-language-server: $schema=yardmaster.schema.json`,
		Args: exactArgs(),
		RunE: func(c *cobra.Command, _ []string) error {
			_, err := c.OutOrStdout().Write(settings.Schema())
			return errors.Join(err)
		},
	}
}
