package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/spf13/cobra"

	"github.com/yardmaster/yardmaster/models"
	"github.com/yardmaster/yardmaster/models/repository"
	"github.com/yardmaster/yardmaster/serve/live"
	"github.com/yardmaster/yardmaster/serve/modelstore"
)

// store is a folder or a bucket with models.
type store interface {
	live.Source
	Add(ctx context.Context, name string, f models.Files, version repository.Version) (repository.ID, error)
	Remove(ctx context.Context, id repository.ID) error
}

type folderStore struct{ live.Folder }

// Add implements store.
func (s folderStore) Add(_ context.Context, name string, f models.Files, version repository.Version) (repository.ID, error) {
	return s.Folder.Add(name, f, version)
}

// Remove implements store.
func (s folderStore) Remove(_ context.Context, id repository.ID) error { return s.Folder.Remove(id) }

type bucketStore struct{ *modelstore.Bucket }

// Add implements store.
func (s bucketStore) Add(ctx context.Context, name string, f models.Files, version repository.Version) (repository.ID, error) {
	return s.Push(ctx, name, f, version)
}

// open returns the store that the flags name; close it with the function.
func (f *storeFlags) open(c *cobra.Command, create bool) (s store, done func(), err error) {
	if err := f.check(c); err != nil {
		return nil, nil, err
	}
	if f.root != "" {
		open := repository.Open
		if create {
			open = repository.Create
		}
		r, err := open(f.root)
		return folderStore{live.Folder{Repository: r}}, func() {}, err
	}
	nc, err := f.nats.connect(c.Context())
	if err != nil {
		return nil, nil, err
	}
	js, err := jetstream.New(nc)
	if err == nil {
		var b *modelstore.Bucket
		if b, err = modelstore.New(modelstore.Config{JetStream: js, Bucket: f.bucket}); err == nil {
			return bucketStore{b}, nc.Close, nil
		}
	}
	nc.Close()
	return nil, nil, err
}

func newModelList() *cobra.Command {
	var flags storeFlags
	c := &cobra.Command{
		Use:   "list [NAME]",
		Short: "List the versions of all models, or of one",
		Long: `List the versions of all models, or of one, with what they are in use as by the
service that owns the folder. A version that cannot be loaded is listed with the
reason. What is in the objects of a bucket is not read: see model verify.`,
		Example: "  yardmaster model list --models models",
	}
	flags.add(c.Flags())
	asJSON := jsonFlag(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		if len(args) > 1 {
			return usageError{fmt.Errorf("got %d arguments, want at most one name (see %s --help)", len(args), c.CommandPath())}
		}
		s, done, err := flags.open(c, false)
		if err != nil {
			return err
		}
		defer done()
		all, err := s.List(c.Context())
		if err != nil {
			return err
		}
		shown := []repository.Entry{}
		for _, e := range all {
			if len(args) == 0 || e.ID.Name == args[0] {
				shown = append(shown, e)
			}
		}
		if *asJSON {
			return writeJSON(c.OutOrStdout(), shown)
		}
		return printEntries(c.OutOrStdout(), shown)
	}
	return c
}

func printEntries(w io.Writer, list []repository.Entry) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "MODEL\tKIND\tWEIGHTS\tGOLDEN\tSIZE\tADDED\tIN USE AS")
	for _, e := range list {
		golden := "no"
		if e.Golden {
			golden = "yes"
		}
		role := e.Role
		if e.Problem != "" {
			role = "cannot be loaded: " + e.Problem
		}
		fmt.Fprintf(t, "%s\t%s\t%.12s\t%s\t%d KB\t%s\t%s\n", e.ID, orDash(string(e.Kind)), orDash(e.SHA256), golden, (e.Bytes+512)/1024, e.Added.Format(time.DateTime), orDash(role))
	}
	return t.Flush()
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func newModelShow() *cobra.Command {
	var flags storeFlags
	c := &cobra.Command{
		Use:     "show NAME[/VERSION]",
		Short:   "Print what a version is, where it comes from and how good it was",
		Long:    "Print what a version of a model is, where it comes from and how good it was: its\nmanifest. Without a version it is the latest.",
		Example: "  yardmaster model show demo/1.2.0 --models models",
		Args:    exactArgs("NAME[/VERSION]"),
	}
	flags.add(c.Flags())
	c.RunE = func(c *cobra.Command, args []string) error {
		s, done, err := flags.open(c, false)
		if err != nil {
			return err
		}
		defer done()
		id, f, err := fetch(c.Context(), s, args[0])
		if err != nil {
			return err
		}
		m, err := models.Decode(f)
		if err != nil {
			return fmt.Errorf("%s: %w", id, err)
		}
		cases := 0
		if m.Golden != nil {
			cases = len(m.Golden.Cases)
		}
		return writeJSON(c.OutOrStdout(), struct {
			Model       repository.ID    `json:"model"`
			GoldenCases int              `json:"golden_cases"`
			Parameters  int              `json:"parameters"`
			Manifest    *models.Manifest `json:"manifest"`
		}{id, cases, len(m.Params.Flat), &m.Manifest})
	}
	return c
}

// fetch reads the files of the version that text names.
func fetch(ctx context.Context, s store, text string) (repository.ID, models.Files, error) {
	t, err := parseTarget(text)
	if err != nil {
		return repository.ID{}, models.Files{}, err
	}
	id, err := s.Resolve(ctx, t.name, t.version)
	if err != nil {
		return id, models.Files{}, err
	}
	f, err := s.Fetch(ctx, id)
	return id, f, err
}

func newModelAdd() *cobra.Command {
	var flags storeFlags
	var name, version string
	c := &cobra.Command{
		Use:   "add DIR --name NAME",
		Short: "Add the model of a run as the next version",
		Long: `Add the model in DIR, a model folder or a run directory, as the next version of
NAME, or as --version. It is checked first: its hashes, its form, and that it
scores its golden inputs as it did where it was trained. It appears whole or not
at all. A running service is not told: see model load.`,
		Example: "  yardmaster model add run --name demo --models models",
		Args:    exactArgs("DIR"),
	}
	flags.add(c.Flags())
	c.Flags().StringVar(&name, "name", "", "name of the model: letters, digits, _ and -")
	c.Flags().StringVar(&version, "version", "", "version, such as 1.2.0 (default the next one)")
	asJSON := jsonFlag(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		if err := requireFlag(c, "name"); err != nil {
			return err
		}
		var v repository.Version
		if version != "" {
			var err error
			if v, err = repository.ParseVersion(version); err != nil {
				return usageError{err}
			}
		}
		dir, err := modelFolder(args[0])
		if err != nil {
			return err
		}
		f, err := models.ReadFiles(dir)
		if err != nil {
			return err
		}
		s, done, err := flags.open(c, true)
		if err != nil {
			return err
		}
		defer done()
		id, err := s.Add(c.Context(), name, f, v)
		if err != nil {
			return err
		}
		if *asJSON {
			return writeJSON(c.OutOrStdout(), map[string]repository.ID{"model": id})
		}
		_, err = fmt.Fprintf(c.OutOrStdout(), "%s: added from %s\n", id, dir)
		return err
	}
	return c
}

// verified is what came of checking one version.
type verified struct {
	Model   repository.ID `json:"model"`
	Golden  bool          `json:"golden"` // it has golden inputs, and scores them as it should
	Problem string        `json:"problem,omitempty"`
}

func newModelVerify() *cobra.Command {
	var flags storeFlags
	c := &cobra.Command{
		Use:   "verify [NAME[/VERSION]]",
		Short: "Read versions whole and check that they are fit to decide",
		Long: `Read all versions, those of one model, or one version, and check all that a
service checks before it takes one into use: hashes, form, that this program
computes the features that it reads, golden scores, and that no score overflows.
Exit code 1 where one is not fit.`,
		Example: "  yardmaster model verify --models models",
	}
	flags.add(c.Flags())
	asJSON := jsonFlag(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		if len(args) > 1 {
			return usageError{fmt.Errorf("got %d arguments, want at most one (see %s --help)", len(args), c.CommandPath())}
		}
		var only target
		if len(args) == 1 {
			var err error
			if only, err = parseTarget(args[0]); err != nil {
				return err
			}
		}
		s, done, err := flags.open(c, false)
		if err != nil {
			return err
		}
		defer done()
		return verifyModels(c.Context(), c.OutOrStdout(), s, only, *asJSON)
	}
	return c
}

func verifyModels(ctx context.Context, w io.Writer, s store, only target, asJSON bool) error {
	list, err := s.List(ctx)
	if err != nil {
		return err
	}
	if only.version != "" {
		id, err := s.Resolve(ctx, only.name, only.version)
		if err != nil {
			return err
		}
		only.version = id.Version.String()
	}
	all, bad := []verified{}, 0
	for _, e := range list {
		if only.name != "" && e.ID.Name != only.name || only.version != "" && e.ID.Version.String() != only.version {
			continue
		}
		v := verifyModel(ctx, s, e.ID)
		if v.Problem != "" {
			bad++
		}
		all = append(all, v)
	}
	if len(all) == 0 && only.name != "" {
		return fmt.Errorf("%w: %s", repository.ErrNotFound, only.name)
	}
	if asJSON {
		err = writeJSON(w, all)
	} else {
		for _, v := range all {
			text := "fit to decide"
			if !v.Golden {
				text += ", without golden inputs"
			}
			if v.Problem != "" {
				text = v.Problem
			}
			fmt.Fprintf(w, "%s: %s\n", v.Model, text)
		}
	}
	if bad > 0 {
		err = errors.Join(err, fmt.Errorf("%d of %d versions are not fit to decide", bad, len(all)))
	}
	return err
}

func verifyModel(ctx context.Context, s store, id repository.ID) verified {
	v := verified{Model: id}
	f, err := s.Fetch(ctx, id)
	if err == nil {
		_, err = live.Ready(id, f)
	}
	if err != nil {
		v.Problem = err.Error()
		return v
	}
	v.Golden = len(f.Golden) > 0
	return v
}

func newModelRemove() *cobra.Command {
	var flags storeFlags
	c := &cobra.Command{
		Use:     "remove NAME/VERSION",
		Short:   "Remove a version that is not in use",
		Long:    "Remove a version. One that is in charge, that a rollback returns to, or that is\nloaded beside it is kept, by what the service that owns the folder wrote down.",
		Example: "  yardmaster model remove demo/1.0.0 --models models",
		Args:    exactArgs("NAME/VERSION"),
	}
	flags.add(c.Flags())
	c.RunE = func(c *cobra.Command, args []string) error {
		id, err := repository.ParseID(args[0])
		if err != nil {
			return usageError{err}
		}
		s, done, err := flags.open(c, false)
		if err != nil {
			return err
		}
		defer done()
		if err := s.Remove(c.Context(), id); err != nil {
			return err
		}
		_, err = fmt.Fprintf(c.OutOrStdout(), "%s: removed\n", id)
		return err
	}
	return c
}
