package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/yardmaster/yardmaster/agent"
	"github.com/yardmaster/yardmaster/agent/lp"
	"github.com/yardmaster/yardmaster/datasets"
	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/train/rescore"
)

// Names of what was recorded, among the contestants of recorded states.
const (
	recordedPublished = "recorded/published"
	recordedLearned   = "recorded/learned"
)

// recordedPolicies are compared on recorded states unless others are named.
var recordedPolicies = []string{"lp:srpt", "density", "srtf", "las", "fifo"}

// recorded is what a log of decisions holds, decoded.
type recorded struct {
	states                       []*env.State
	published, learned, programs []env.Allocation
}

// readDecisions reads logs of decisions, one after the other.
func readDecisions(paths []string) (*recorded, error) {
	all := &recorded{}
	for _, path := range paths {
		t, err := datasets.ReadDecisions(path)
		if err != nil {
			return nil, err
		}
		for i := range t.Rows {
			if err := all.add(&t.Rows[i]); err != nil {
				return nil, fmt.Errorf("%s: row %d: %w", path, i+1, err)
			}
			t.Rows[i] = datasets.DecisionRow{} // its text is large
		}
	}
	return all, nil
}

func (r *recorded) add(row *datasets.DecisionRow) error {
	s, err := row.DecodeState()
	if err != nil {
		return err
	}
	r.states = append(r.states, s)
	for _, of := range []struct {
		text string
		to   *[]env.Allocation
	}{{row.Published, &r.published}, {row.Learned, &r.learned}, {row.Program, &r.programs}} {
		a, err := datasets.DecodeAllocation(of.text, s)
		if err != nil {
			return err
		}
		*of.to = append(*of.to, a)
	}
	return nil
}

// benchDecisions compares policies on the states of a decision log.
func benchDecisions(ctx context.Context, stdout, stderr io.Writer, flags benchFlags) error {
	if ignored := flags.ofEpisodes(); len(ignored) > 0 {
		return usageError{fmt.Errorf("--decisions takes the states as they were recorded: without --%s", strings.Join(ignored, ", --"))}
	}
	r, err := readDecisions(flags.decisions)
	if err != nil {
		return err
	}
	name := flags.reference
	if name == "" {
		name = "lp:throughput"
	}
	program, err := lp.New(name, lp.Config{})
	if err != nil {
		return usageError{fmt.Errorf("--reference of --decisions is the linear program that values allocations: %w", err)}
	}
	cfg := rescore.Config{States: r.states, Program: program, Reference: r.published}
	if cfg.Contestants, err = r.contestants(flags); err != nil {
		return err
	}
	bar := newProgress(stderr, len(r.states), "deciding recorded states")
	cfg.Progress = func(int, int) { _ = bar.Add(1) }
	scores, err := rescore.Run(ctx, cfg)
	_ = bar.Finish()
	if err != nil {
		return err
	}
	result := struct {
		States    int             `json:"states"`
		Objective string          `json:"objective"`
		Rows      []rescore.Score `json:"rows"`
	}{len(r.states), name, scores}
	var saved error // and printed even where it was not
	if flags.out != "" {
		saved = writeResult(flags.out, result)
	}
	if flags.json {
		return errors.Join(writeJSON(stdout, result), saved)
	}
	return errors.Join(renderScores(stdout, scores, len(r.states), name), saved)
}

// ofEpisodes returns the flags on the command line that say which episodes are played, and
// how.
func (flags *benchFlags) ofEpisodes() []string {
	names := flags.setting.given()
	for _, name := range []string{"table", "source", "strategies", "seeds", "by"} {
		if flags.setting.flags.Changed(name) {
			names = append(names, name)
		}
	}
	return names
}

// contestants are what was recorded, then the policies that are named.
func (r *recorded) contestants(flags benchFlags) ([]rescore.Contestant, error) {
	all := []rescore.Contestant{{Name: recordedPublished, Answers: r.published}}
	if slices.ContainsFunc(r.learned, func(a env.Allocation) bool { return a != nil }) {
		all = append(all, rescore.Contestant{Name: recordedLearned, Answers: r.learned})
	}
	names := flags.policies
	if len(names) == 0 {
		names = slices.Clone(recordedPolicies)
		if flags.setting.run != "" {
			names = append(names, learned)
		}
	}
	for _, name := range names {
		var p agent.Policy
		p, err := newPolicy(name, flags.setting.run)
		if err != nil {
			return nil, err
		}
		all = append(all, rescore.Contestant{Name: name, Policy: p})
	}
	return all, nil
}

func renderScores(w io.Writer, scores []rescore.Score, states int, objective string) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "POLICY\tREGRET\tMEDIAN\tP99\tWORST\tANSWERS\tAS PUBLISHED\tFAILED\tµs")
	for _, s := range scores {
		micros := "-"
		if s.Micros > 0 {
			micros = fmt.Sprintf("%.0f", s.Micros)
		}
		fmt.Fprintf(t, "%s\t%.4f\t%.4f\t%.4f\t%.4f\t%d\t%d\t%d\t%s\n", s.Policy, s.Mean, s.Median, s.P99, s.Worst, s.Answers, s.Agreed, s.Failed, micros)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "%d recorded states; regret: share of the value of %s that the allocation gives away in its round (below 0: worth more)\n", states, objective)
	for _, s := range scores {
		if s.Problem != "" {
			fmt.Fprintf(w, "%s: %s\n", s.Policy, s.Problem)
		}
	}
	return err
}
