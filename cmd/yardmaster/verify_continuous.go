package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/pflag"

	"github.com/yardmaster/yardmaster/train/verify"
)

// continuousFlags are those of verify gavel --continuous.
type continuousFlags struct {
	on    bool
	every int
	load  float64
}

func (c *continuousFlags) check(f *pflag.FlagSet) error {
	var errs []error
	for _, name := range []string{"every", "max-load"} {
		if f.Changed(name) && !c.on {
			errs = append(errs, fmt.Errorf("--%s goes with --continuous, which is missing", name))
		}
	}
	if c.every < 1 {
		errs = append(errs, fmt.Errorf("--every is %d, want at least 1", c.every))
	}
	if f.Changed("max-load") && !(c.load > 0) {
		errs = append(errs, fmt.Errorf("--max-load is %v, want more than 0 jobs per hour", c.load))
	}
	if len(errs) > 0 {
		return usageError{errors.Join(errs...)}
	}
	return nil
}

// verifyContinuous compares order and ratios of Gavel's policies at the loads of
// its figures.
func verifyContinuous(ctx context.Context, stdout, stderr io.Writer, data string, flags continuousFlags, asJSON bool) error {
	bar := newProgress(stderr, -1, "running Gavel's policies at many loads")
	points, err := verify.Continuous(ctx, os.DirFS(data), verify.ContinuousConfig{
		Every: flags.every, MaxLoad: flags.load,
		Report: func(done, total int) { bar.ChangeMax(total); _ = bar.Set(done) },
	})
	_ = bar.Finish()
	if err != nil {
		return err
	}
	if asJSON {
		err = writeJSON(stdout, struct {
			Points []verify.Point `json:"points"`
			Gains  []verify.Gain  `json:"gains"`
		}{points, verify.Gains(points)})
	} else {
		err = verify.WriteContinuous(stdout, points)
	}
	return errors.Join(err, verify.ContinuousMisses(points))
}
