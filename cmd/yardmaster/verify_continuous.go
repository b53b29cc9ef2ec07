package main

import (
	"context"
	"errors"
	"io"
	"os"

	"github.com/yardmaster/yardmaster/train/verify"
)

// continuousFlags are those of verify gavel --continuous.
type continuousFlags struct {
	on    bool
	every int
	load  float64
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
