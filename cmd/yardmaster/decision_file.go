package main

import (
	"time"

	"github.com/yardmaster/yardmaster/datasets"
	"github.com/yardmaster/yardmaster/serve/decisionlog"
)

// decisionFile is a file of the service's decision log: a decisions table.
type decisionFile struct{ *datasets.DecisionWriter }

// createDecisionFile begins a file of a decision log.
func createDecisionFile(path string) (decisionlog.File, error) {
	w, err := datasets.CreateDecisions(path, datasets.Meta{Source: "decisions of yardmaster serve " + version, Epoch: time.Unix(0, 0).UTC()})
	if err != nil {
		return nil, err
	}
	return decisionFile{w}, nil
}

// Append implements decisionlog.File.
func (f decisionFile) Append(r *decisionlog.Row) error {
	state, err := datasets.EncodeState(r.State)
	if err != nil {
		return err
	}
	return f.DecisionWriter.Append(&datasets.DecisionRow{
		Decided: time.Duration(r.Decided.UnixNano()), Cluster: r.Cluster, Epoch: int64(r.Epoch), StateSeq: int64(r.StateSeq),
		Jobs: int32(len(r.State.Jobs)), State: state, Mode: r.Mode, Source: r.Source, Reason: r.Reason, Model: r.Model, Failure: r.Failure,
		Published: datasets.EncodeAllocation(r.Published), Learned: datasets.EncodeAllocation(r.Learned), Program: datasets.EncodeAllocation(r.Program),
		PublishedValue: r.PublishedValue, LearnedValue: r.LearnedValue, ProgramValue: r.ProgramValue, Regret: r.Regret, Latency: r.Latency,
	})
}
