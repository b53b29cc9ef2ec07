package datasets

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/google/renameio/v2"
	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/zstd"
)

const (
	columnDecided   = "decided_ns"
	columnState     = "state"
	columnPublished = "published"
	columnLearned   = "learned"
	columnProgram   = "program"
)

// maxAllocationText bounds an allocation: env.MaxJobs numbers of up to four
// characters and commas.
const maxAllocationText = 2 << 20

// decisionLayout is the schema of version 1, in file order.
var decisionLayout = layout[DecisionRow]{
	table: KindDecisions, version: DecisionsVersion, rows: MaxDecisionRows, texts: MaxDecisionTexts,
	fields: []field[DecisionRow]{
		{name: columnDecided, kind: parquet.Int64, set: func(r *DecisionRow, c cell) { r.Decided = time.Duration(c.whole) }},
		{name: columnCluster, kind: parquet.ByteArray, set: func(r *DecisionRow, c cell) { r.Cluster = c.text }},
		{name: "epoch", kind: parquet.Int64, set: func(r *DecisionRow, c cell) { r.Epoch = c.whole }},
		{name: "state_seq", kind: parquet.Int64, set: func(r *DecisionRow, c cell) { r.StateSeq = c.whole }},
		{name: "jobs", kind: parquet.Int32, set: func(r *DecisionRow, c cell) { r.Jobs = int32(c.whole) }},
		{name: columnState, kind: parquet.ByteArray, long: MaxStateText, set: func(r *DecisionRow, c cell) { r.State = c.text }},
		{name: "mode", kind: parquet.ByteArray, set: func(r *DecisionRow, c cell) { r.Mode = c.text }},
		{name: columnSource, kind: parquet.ByteArray, set: func(r *DecisionRow, c cell) { r.Source = c.text }},
		{name: "reason", kind: parquet.ByteArray, nullable: true, optional: true, set: func(r *DecisionRow, c cell) { r.Reason = c.text }},
		{name: columnModel, kind: parquet.ByteArray, nullable: true, optional: true, set: func(r *DecisionRow, c cell) { r.Model = c.text }},
		{name: "failure", kind: parquet.ByteArray, nullable: true, optional: true, set: func(r *DecisionRow, c cell) { r.Failure = c.text }},
		{name: columnPublished, kind: parquet.ByteArray, long: maxAllocationText, set: func(r *DecisionRow, c cell) { r.Published = c.text }},
		{name: columnLearned, kind: parquet.ByteArray, nullable: true, optional: true, long: maxAllocationText, set: func(r *DecisionRow, c cell) { r.Learned = c.text }},
		{name: columnProgram, kind: parquet.ByteArray, nullable: true, optional: true, long: maxAllocationText, set: func(r *DecisionRow, c cell) { r.Program = c.text }},
		{name: "published_value", kind: parquet.Double, set: func(r *DecisionRow, c cell) { r.PublishedValue = c.number }},
		{name: "learned_value", kind: parquet.Double, set: func(r *DecisionRow, c cell) { r.LearnedValue = c.number }},
		{name: "program_value", kind: parquet.Double, set: func(r *DecisionRow, c cell) { r.ProgramValue = c.number }},
		{name: "regret", kind: parquet.Double, set: func(r *DecisionRow, c cell) { r.Regret = c.number }},
		{name: "latency_ns", kind: parquet.Int64, set: func(r *DecisionRow, c cell) { r.Latency = time.Duration(c.whole) }},
	},
}

// writtenDecision is a [DecisionRow] as parquet-go writes it: field order is
// column order, and nil is null.
type writtenDecision struct {
	Decided        int64   `parquet:"decided_ns,delta"`
	Cluster        string  `parquet:"cluster,dict"`
	Epoch          int64   `parquet:"epoch,delta"`
	StateSeq       int64   `parquet:"state_seq,delta"`
	Jobs           int32   `parquet:"jobs,delta"`
	State          string  `parquet:"state"`
	Mode           string  `parquet:"mode,dict"`
	Source         string  `parquet:"source,dict"`
	Reason         *string `parquet:"reason,optional,dict"`
	Model          *string `parquet:"model,optional,dict"`
	Failure        *string `parquet:"failure,optional,dict"`
	Published      string  `parquet:"published"`
	Learned        *string `parquet:"learned,optional"`
	Program        *string `parquet:"program,optional"`
	PublishedValue float64 `parquet:"published_value"`
	LearnedValue   float64 `parquet:"learned_value"`
	ProgramValue   float64 `parquet:"program_value"`
	Regret         float64 `parquet:"regret"`
	Latency        int64   `parquet:"latency_ns,delta"`
}

func (r *DecisionRow) written() writtenDecision {
	return writtenDecision{
		Decided: int64(r.Decided), Cluster: r.Cluster, Epoch: r.Epoch, StateSeq: r.StateSeq, Jobs: r.Jobs, State: r.State, Mode: r.Mode, Source: r.Source,
		Reason: orNull(&r.Reason), Model: orNull(&r.Model), Failure: orNull(&r.Failure),
		Published: r.Published, Learned: orNull(&r.Learned), Program: orNull(&r.Program),
		PublishedValue: r.PublishedValue, LearnedValue: r.LearnedValue, ProgramValue: r.ProgramValue, Regret: r.Regret, Latency: int64(r.Latency),
	}
}

// textBytes is about what r takes in memory.
func (r *DecisionRow) textBytes() int64 {
	return int64(len(r.State) + len(r.Published) + len(r.Learned) + len(r.Program) + 200)
}

// groupBytes is about the size of a row group in memory.
const groupBytes = 16 << 20

// DecisionWriter writes a decisions table row by row and holds one row group. It
// is not safe for concurrent use. One of Close and Abort is to be called.
type DecisionWriter struct {
	path    string
	meta    Meta
	pending *renameio.PendingFile
	out     *parquet.GenericWriter[writtenDecision]
	rows    int
	size    int64 // of all rows
	group   int64 // of the current row group
}

// CreateDecisions begins a file, which appears under its name when the writer is
// closed, and never if it is aborted or fails.
func CreateDecisions(path string, meta Meta) (*DecisionWriter, error) {
	pending, err := renameio.NewPendingFile(path, renameio.WithPermissions(0o644))
	if err != nil {
		return nil, fmt.Errorf("datasets: write %s: %w", path, err)
	}
	return &DecisionWriter{path: path, meta: meta, pending: pending, out: parquet.NewGenericWriter[writtenDecision](pending,
		parquet.Compression(&zstd.Codec{}),
		parquet.CreatedBy("yardmaster", "schema", strconv.Itoa(DecisionsVersion)),
		// The least and greatest of long texts would only make headers long.
		parquet.DataPageStatistics(false), parquet.SkipPageBounds(columnState), parquet.SkipPageBounds(columnPublished), parquet.SkipPageBounds(columnLearned), parquet.SkipPageBounds(columnProgram),
	)}, nil
}

// Append adds a row and does not keep it. A problem with its values is a
// [*RowError]; its texts are not looked into, that would cost more than making
// them.
func (w *DecisionWriter) Append(r *DecisionRow) error {
	problem := r.checkValues()
	if problem == nil && w.rows == MaxDecisionRows {
		problem = &RowError{Value: fmt.Sprintf("the table has more than %d rows", MaxDecisionRows), Fix: "split it"}
	}
	if problem != nil {
		problem.File, problem.Row = w.path, int64(w.rows)+1
		return problem
	}
	if _, err := w.out.Write([]writtenDecision{r.written()}); err != nil {
		return fmt.Errorf("datasets: write %s: %w", w.path, err)
	}
	w.rows++
	w.size += r.textBytes()
	if w.group += r.textBytes(); w.group >= groupBytes {
		w.group = 0
		if err := w.out.Flush(); err != nil {
			return fmt.Errorf("datasets: write %s: %w", w.path, err)
		}
	}
	return nil
}

// Len returns the number of rows.
func (w *DecisionWriter) Len() int { return w.rows }

// Size returns about the bytes that a reader of the file needs for its rows.
func (w *DecisionWriter) Size() int64 { return w.size }

// Close completes the file. If it fails nothing is left.
func (w *DecisionWriter) Close() error {
	err := w.complete()
	if err == nil {
		return nil
	}
	return errors.Join(err, w.Abort())
}

func (w *DecisionWriter) complete() error {
	if w.rows == 0 {
		return &RowError{File: w.path, Value: "the table has no rows", Fix: "log a decision first"}
	}
	kv, err := w.meta.encode(w.rows)
	if err != nil {
		return err
	}
	kv[keyVersion], kv[keyTable] = strconv.Itoa(DecisionsVersion), KindDecisions
	for _, key := range slices.Sorted(maps.Keys(kv)) {
		w.out.SetKeyValueMetadata(key, kv[key])
	}
	if err := w.out.Close(); err != nil {
		return fmt.Errorf("datasets: write %s: %w", w.path, err)
	}
	if err := w.pending.CloseAtomicallyReplace(); err != nil {
		return fmt.Errorf("datasets: write %s: %w", w.path, err)
	}
	return nil
}

// Abort leaves nothing of the file. It does nothing after Close.
func (w *DecisionWriter) Abort() error { return w.pending.Cleanup() }

// WriteDecisions writes t as a Parquet file in the current schema version. As with
// [Write], the file appears under its name when it is complete, and equal tables
// give equal files.
func WriteDecisions(path string, t *DecisionTable) error {
	if err := t.Validate(); err != nil {
		return err
	}
	w, err := CreateDecisions(path, t.Meta)
	if err != nil {
		return err
	}
	for i := range t.Rows {
		if err := w.Append(&t.Rows[i]); err != nil {
			return errors.Join(err, w.Abort())
		}
	}
	return w.Close()
}

// Write is [WriteDecisions].
func (t *DecisionTable) Write(path string) error { return WriteDecisions(path, t) }

// ReadDecisions reads a decisions table, whole. Every value must be as SCHEMA.md
// says; the first problem is returned as a [*RowError]. A damaged or hostile file
// gives an error, too.
func ReadDecisions(path string) (*DecisionTable, error) {
	return readNamed(path, ReadDecisionsFrom)
}

// ReadDecisionsFrom is [ReadDecisions] of the size bytes of r; name is what errors
// call it.
func ReadDecisionsFrom(r io.ReaderAt, size int64, name string) (*DecisionTable, error) {
	meta, rows, err := decisionLayout.read(r, size, name)
	if err != nil {
		return nil, err
	}
	t := &DecisionTable{Name: name, Meta: meta, Rows: rows}
	if err := t.Validate(); err != nil {
		return nil, firstError(err)
	}
	return t, nil
}
