package datasets

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"time"
	"unicode/utf8"

	"github.com/yardmaster/yardmaster/env"
)

// DecisionsVersion is the version of the decisions table that [DecisionWriter]
// writes. [ReadDecisions] takes this one and every older one.
const DecisionsVersion = 1

// Limits of a decisions table.
const (
	MaxDecisionRows  = 1 << 20
	MaxStateText     = 32 << 20 // bytes of a state, four times what the service takes
	MaxDecisionTexts = 1 << 30  // bytes of all states and allocations
)

// DecisionRow is one decision of an inference service on which a learned policy
// and a linear program both have an answer. A field whose column is nullable is
// null where it has its zero value.
type DecisionRow struct {
	Decided  time.Duration // decided_ns: by the service's clock, since the epoch, >= 0
	Cluster  string        // cluster
	Epoch    int64         // epoch: of the cluster's scheduler, >= 1
	StateSeq int64         // state_seq: of the state within it, >= 1
	Jobs     int32         // jobs: of the state
	State    string        // state: all that was known, env.State as JSON
	Mode     string        // mode: of the cluster, who was in charge
	Source   string        // source: who made Published
	Reason   string        // reason: why that was not the learned policy; nullable
	Model    string        // model: the learned policy that was asked; nullable
	Failure  string        // failure: why there is no Learned; nullable
	// Allocations are JSON lists with the strategy of each job, -1 for none.
	Published string // published: what the cluster was told
	Learned   string // learned: the learned policy's; nullable
	Program   string // program: the linear program's; nullable
	// Values of the allocations by the program's objective, 0 where there is none.
	PublishedValue, LearnedValue, ProgramValue float64 // published_value, learned_value, program_value
	Regret                                     float64 // regret: (program − learned) / program, within −1 to 1
	Latency                                    time.Duration
}

// DecisionTable is a table of decisions, in the order in which they were logged.
type DecisionTable struct {
	// Name is the file the table was read from, or what errors call it.
	Name string
	Meta Meta
	Rows []DecisionRow
}

// Kind returns [KindDecisions].
func (t *DecisionTable) Kind() string { return KindDecisions }

// Len returns the number of rows.
func (t *DecisionTable) Len() int { return len(t.Rows) }

// Metadata says where the table comes from. It is part of t.
func (t *DecisionTable) Metadata() *Meta { return &t.Meta }

// Validate reports what is wrong with t, up to ten problems at once, each a
// [*RowError]. Every state is decoded, and every allocation held against it.
func (t *DecisionTable) Validate() error {
	return checkRows(t.Name, t.Rows, MaxDecisionRows, (*DecisionRow).check)
}

// Hash returns a hash of the rows (SHA-256, hex). It depends on nothing but the
// rows.
func (t *DecisionTable) Hash() string {
	return hashRows("yardmaster decisions 1", t.Rows, func(h *rowHash, r *DecisionRow) {
		h.whole(int64(r.Decided), r.Epoch, r.StateSeq, int64(r.Jobs), int64(r.Latency))
		h.text(r.Cluster, r.State, r.Mode, r.Source, r.Reason, r.Model, r.Failure, r.Published, r.Learned, r.Program)
		h.number(r.PublishedValue, r.LearnedValue, r.ProgramValue, r.Regret)
	})
}

// EncodeState returns the text of a state as a row holds it: every number reads
// back as it was.
func EncodeState(s *env.State) (string, error) {
	raw, err := json.Marshal(s)
	if err != nil {
		return "", fmt.Errorf("datasets: encode a state: %w", err)
	}
	return string(raw), nil
}

// DecodeState returns the state that was decided on. It is valid.
func (r *DecisionRow) DecodeState() (*env.State, error) {
	var s env.State
	if err := strictJSON(r.State, &s); err != nil {
		return nil, fmt.Errorf("datasets: decode a state: %w", err)
	}
	if err := s.Validate(); err != nil {
		return nil, fmt.Errorf("datasets: decode a state: %w", err)
	}
	return &s, nil
}

// EncodeAllocation returns the text of an allocation, "" of nil.
func EncodeAllocation(a env.Allocation) string {
	if a == nil {
		return ""
	}
	raw, _ := json.Marshal([]int(a)) // a list of integers always encodes
	return string(raw)
}

// DecodeAllocation returns the allocation in one of a row's texts, nil of a null.
// It is valid for s.
func DecodeAllocation(text string, s *env.State) (env.Allocation, error) {
	if text == "" {
		return nil, nil
	}
	var a env.Allocation
	if err := strictJSON(text, &a); err != nil {
		return nil, fmt.Errorf("datasets: decode an allocation: %w", err)
	}
	if err := a.Validate(s); err != nil {
		return nil, fmt.Errorf("datasets: decode an allocation: %w", err)
	}
	return a, nil
}

func strictJSON(text string, to any) error {
	dec := json.NewDecoder(bytes.NewReader([]byte(text)))
	dec.DisallowUnknownFields()
	if err := dec.Decode(to); err != nil {
		return err
	}
	if _, err := dec.Token(); err != io.EOF {
		return fmt.Errorf("text after it")
	}
	return nil
}

// Validate reports the first thing wrong with r as a [*RowError] without file
// and row.
func (r *DecisionRow) Validate() error { return orNil(r.check()) }

func (r *DecisionRow) check() *RowError {
	if err := r.checkValues(); err != nil {
		return err
	}
	s, err := r.DecodeState()
	if err != nil {
		return badValue(columnState, Excerpt(err.Error()), "want a state as in SCHEMA.md")
	}
	if len(s.Jobs) != int(r.Jobs) {
		return badValue("jobs", r.Jobs, fmt.Sprintf("the state has %d", len(s.Jobs)))
	}
	for _, a := range []struct{ column, text string }{{columnPublished, r.Published}, {columnLearned, r.Learned}, {columnProgram, r.Program}} {
		if _, err := DecodeAllocation(a.text, s); err != nil {
			return badValue(a.column, Excerpt(err.Error()), "want a list with a strategy of each job, or -1, that fits the state")
		}
	}
	return nil
}

// checkValues is check without looking into the texts.
func (r *DecisionRow) checkValues() *RowError {
	if err := checkNames(
		checkedName{columnCluster, r.Cluster, true}, checkedName{"mode", r.Mode, true}, checkedName{columnSource, r.Source, true},
		checkedName{"reason", r.Reason, false}, checkedName{columnModel, r.Model, false}, checkedName{"failure", r.Failure, false},
	); err != nil {
		return err
	}
	for _, v := range []struct {
		column string
		value  float64
	}{{"published_value", r.PublishedValue}, {"learned_value", r.LearnedValue}, {"program_value", r.ProgramValue}} {
		if math.IsNaN(v.value) || math.IsInf(v.value, 0) {
			return badValue(v.column, v.value, "want a finite number, 0 without an allocation")
		}
	}
	const maxWhole = 1<<53 - 1
	switch {
	case r.Decided < 0 || r.Decided > MaxTime:
		return badValue(columnDecided, int64(r.Decided), "want 0 to 100 years in nanoseconds since the table's epoch")
	case r.Latency < 0 || r.Latency > MaxTime:
		return badValue("latency_ns", int64(r.Latency), "want nanoseconds >= 0")
	case r.Epoch < 1 || r.Epoch > maxWhole:
		return badValue("epoch", r.Epoch, "want 1 to 2^53-1")
	case r.StateSeq < 1 || r.StateSeq > maxWhole:
		return badValue("state_seq", r.StateSeq, "want 1 to 2^53-1")
	case !(r.Regret >= -1 && r.Regret <= 1):
		return badValue("regret", r.Regret, "want -1 to 1")
	case len(r.State) > MaxStateText || !utf8.ValidString(r.State):
		return badValue(columnState, fmt.Sprintf("%d bytes", len(r.State)), "want at most 32 MiB of UTF-8")
	case r.Published == "":
		return badValue(columnPublished, "null", "a row says nothing without it")
	}
	return nil
}
