package main

import (
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/yardmaster/yardmaster/env/encode"
)

// version is the release; it follows CHANGELOG.md.
const version = "0.1.0"

type versionInfo struct {
	Version       string `json:"version"`
	Revision      string `json:"revision,omitempty"` // of the source, where the build knows it
	Go            string `json:"go"`
	JobStrategy   string `json:"job_strategy_encoder"`
	Configuration string `json:"configuration_encoder"`
}

func newVersion() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "version",
		Short: "Print the version of the program and of its encoders",
		Long: `Print the version of the program and of its encoders. A model runs only with
the encoder version it was trained with.`,
		Args: exactArgs(),
		RunE: func(c *cobra.Command, _ []string) error {
			return printVersion(c.OutOrStdout(), asJSON)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

func printVersion(w io.Writer, asJSON bool) error {
	v := versionInfo{version, revision(), runtime.Version(), encode.JobStrategyVersion, encode.ConfigurationVersion}
	if asJSON {
		return writeJSON(w, v)
	}
	_, err := fmt.Fprintf(w, "%s\n%s\nencoders: %s, %s\n", strings.TrimSpace("yardmaster "+v.Version+" "+v.Revision), v.Go, v.JobStrategy, v.Configuration)
	return err
}

// revision returns the revision of the source this program was built from, or
// "" where the build did not record it.
func revision() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return s.Value
		}
	}
	return ""
}

func writeJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}
