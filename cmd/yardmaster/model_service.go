package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/yardmaster/yardmaster/models"
	"github.com/yardmaster/yardmaster/serve"
	"github.com/yardmaster/yardmaster/serve/admin"
	"github.com/yardmaster/yardmaster/serve/live"
)

// serviceFlags say which services are asked.
type serviceFlags struct {
	nats    natsFlags
	prefix  string
	timeout time.Duration
	json    *bool
}

func (f *serviceFlags) add(c *cobra.Command) {
	f.nats.add(c.Flags())
	c.Flags().StringVar(&f.prefix, "prefix", "", "prefix of all subjects (default yardmaster)")
	c.Flags().DurationVar(&f.timeout, "timeout", 90*time.Second, "time for all services to answer")
	f.json = jsonFlag(c)
}

// do asks all services and prints what they say. It fails if one refuses.
func (f *serviceFlags) do(c *cobra.Command, endpoint string, request any, show func(io.Writer, *admin.Reply) error) error {
	nc, err := f.nats.connect(c.Context())
	if err != nil {
		return err
	}
	defer nc.Close()
	client, err := admin.NewClient(nc, f.prefix, serve.ServiceName)
	if err != nil {
		return usageError{err}
	}
	ctx, cancel := context.WithTimeout(c.Context(), f.timeout)
	defer cancel()
	answers, err := client.Do(ctx, endpoint, request)
	if err != nil && c.Context().Err() != nil && endpoint != admin.Models {
		err = errors.New("stopped before all services had answered: what was asked may be done all the same (see yardmaster model status)")
	}
	var replies []*admin.Reply
	for _, a := range answers {
		if a.Refusal != nil {
			err = errors.Join(err, errors.New(a.Refusal.Message))
			continue
		}
		replies = append(replies, a.Reply)
		if *f.json {
			continue
		}
		if showErr := show(c.OutOrStdout(), a.Reply); showErr != nil {
			return showErr
		}
	}
	if *f.json && len(replies) > 0 {
		err = errors.Join(err, writeJSON(c.OutOrStdout(), replies))
	}
	return err
}

// say prints what was done.
func say(w io.Writer, r *admin.Reply) error {
	_, err := fmt.Fprintf(w, "%s: %s\n", r.Server, r.Done)
	if r.Warning != "" {
		_, err = fmt.Fprintf(w, "%s: warning: %s\n", r.Server, r.Warning)
	}
	return err
}

func newModelLoad() *cobra.Command {
	var flags serviceFlags
	var promote bool
	c := &cobra.Command{
		Use:   "load NAME[/VERSION]",
		Short: "Make running services load a version, beside the one in charge",
		Long: `Make running services load a version, the latest unless one is named: fetch it,
check it, warm it up. It is then the candidate: in charge of no cluster but those
whose mode says so (model mode), until model promote. A version that is not fit
changes nothing. With --promote it is in charge at once.`,
		Example: "  yardmaster model load demo/1.2.0 --nats nats://127.0.0.1:4222",
		Args:    exactArgs("NAME[/VERSION]"),
	}
	flags.add(c)
	c.Flags().BoolVar(&promote, "promote", false, "put it in charge at once")
	c.RunE = func(c *cobra.Command, args []string) error {
		t, err := parseTarget(args[0])
		if err != nil {
			return err
		}
		return flags.do(c, admin.Load, admin.LoadRequest{Name: t.name, Version: t.version, Promote: promote}, say)
	}
	return c
}

// ofKind is a command about the model of one kind.
func ofKind(endpoint, short, long string) *cobra.Command {
	var flags serviceFlags
	var kind string
	c := &cobra.Command{
		Use: endpoint, Short: short, Long: long, Args: exactArgs(),
		Example: "  yardmaster model " + endpoint + " --nats nats://127.0.0.1:4222",
	}
	flags.add(c)
	c.Flags().StringVar(&kind, "kind", string(models.JobStrategy), "of which kind of model: job-strategy or configuration")
	c.RunE = func(c *cobra.Command, _ []string) error {
		request := admin.KindRequest{Kind: models.Kind(kind)}
		if _, err := request.KindOf(); err != nil {
			return usageError{err}
		}
		return flags.do(c, endpoint, request, say)
	}
	return c
}

func newModelPromote() *cobra.Command {
	return ofKind(admin.Promote, "Put the candidate of running services in charge",
		"Put the candidate of running services in charge. Decisions in the making are\nfinished by the model they began with; no request fails. The model that was in\ncharge is what model rollback returns to.")
}

func newModelRollback() *cobra.Command {
	return ofKind(admin.Rollback, "Put the model that was in charge before in charge again",
		"Put the model that was in charge before in charge again. It is still in memory, so\nthis takes no time and cannot fail for want of a file. Another rollback takes it\nback.")
}

func newModelDiscard() *cobra.Command {
	return ofKind(admin.Discard, "Make running services forget the candidate",
		"Make running services forget the candidate: where a mode gave it clusters, the\nmodel in charge decides for them.")
}

func newModelMode() *cobra.Command {
	var flags serviceFlags
	var cluster string
	var share float64
	var unset bool
	c := &cobra.Command{
		Use:   "mode [MODE]",
		Short: "Say who decides, for all clusters or for one",
		Long: `Say who decides, for all clusters that have no mode of their own, or with --cluster
for one:
  policy   the learned policy, guarded
  lp       the linear program
  shadow   the linear program; the learned policy is asked afterwards, and both
           decisions are logged with the regret (decision_log.dir of the service)
  canary   for a --share of the clusters the candidate, for the others the model in
           charge; without a candidate the model in charge and the linear program
  off      nobody: states are refused
In shadow and canary the candidate stands for the learned policy where there is one.
Running services keep it in a file.`,
		Example: "  yardmaster model mode canary --share 0.1\n  yardmaster model mode shadow --cluster c1\n  yardmaster model mode --unset --cluster c1",
	}
	flags.add(c)
	c.Flags().StringVar(&cluster, "cluster", "", "for this cluster only")
	c.Flags().Float64Var(&share, "share", 0, "of canary: part of the clusters, 0 to 1")
	c.Flags().BoolVar(&unset, "unset", false, "take the cluster's own mode away")
	c.RunE = func(c *cobra.Command, args []string) error {
		request := admin.ModeRequest{Cluster: cluster, Share: share, Unset: unset}
		switch {
		case unset && (len(args) > 0 || cluster == ""):
			return usageError{errors.New("--unset takes a cluster's own mode away: give --cluster and no mode")}
		case !unset && len(args) != 1:
			return usageError{fmt.Errorf("got %d arguments, want one mode: %s (see %s --help)", len(args), strings.Join(live.ModeNames(), ", "), c.CommandPath())}
		case !unset:
			request.Mode = live.Mode(args[0])
			if err := (live.Setting{Mode: request.Mode, Share: share}).Validate(); err != nil {
				return usageError{err}
			}
		}
		return flags.do(c, admin.Mode, request, say)
	}
	return c
}

func newModelStatus() *cobra.Command {
	var flags serviceFlags
	c := &cobra.Command{
		Use:     "status",
		Short:   "Show which models running services use, and who decides",
		Long:    "Show which models running services use, what there is to load, who decides for\nwhich clusters, and how loads ended.",
		Example: "  yardmaster model status --nats nats://127.0.0.1:4222",
		Args:    exactArgs(),
	}
	flags.add(c)
	c.RunE = func(c *cobra.Command, _ []string) error {
		return flags.do(c, admin.Models, struct{}{}, printStatus)
	}
	return c
}

func printStatus(w io.Writer, r *admin.Reply) error {
	fmt.Fprintf(w, "service %s, models from %s\n", r.Server, orFixed(r.Source))
	t := tabwriter.NewWriter(w, 2, 0, 2, ' ', 0)
	fmt.Fprintln(t, "  \tACTIVE\tPREVIOUS\tCANDIDATE")
	for _, of := range []struct {
		kind models.Kind
		s    admin.Slot
	}{{models.JobStrategy, r.JobStrategy}, {models.Configuration, r.Configuration}} {
		fmt.Fprintf(t, "  %s\t%s\t%s\t%s\n", of.kind, orDash(of.s.Active), orDash(of.s.Previous), orDash(of.s.Candidate))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if r.Modes != nil {
		fmt.Fprintf(w, "  mode: %s\n", r.Modes.Default)
		for _, id := range slices.Sorted(maps.Keys(r.Modes.Clusters)) {
			fmt.Fprintf(w, "  mode of %s: %s\n", id, r.Modes.Clusters[id])
		}
	}
	var loads []string
	for _, result := range slices.Sorted(maps.Keys(r.Loads)) {
		if r.Loads[result] > 0 {
			loads = append(loads, fmt.Sprintf("%d %s", r.Loads[result], result))
		}
	}
	if len(loads) > 0 {
		fmt.Fprintf(w, "  loads: %s\n", strings.Join(loads, ", "))
	}
	if r.LastError != "" {
		fmt.Fprintf(w, "  the last load failed: %s\n", r.LastError)
	}
	if r.Warning != "" {
		fmt.Fprintf(w, "  warning: %s\n", r.Warning)
	}
	for _, e := range r.Available {
		fmt.Fprintf(w, "  available: %s\n", e.ID)
	}
	return nil
}

func orFixed(source string) string {
	if source == "" {
		return "the run it was started with"
	}
	return source
}
