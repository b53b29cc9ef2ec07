package relay

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/serve/client"
	"github.com/yardmaster/yardmaster/serve/wire"
)

// Report counts what a relay did.
type Report struct {
	Rounds    int64 `json:"rounds"`
	NoState   int64 `json:"no_state"`  // rounds in which the state command failed or printed no state
	Undecided int64 `json:"undecided"` // states without a decision in time
	Refused   int64 `json:"refused"`   // states that the service refused, decisions that did not fit
	Applied   int64 `json:"applied"`
	Partial   int64 `json:"partial"` // applied, but not to all jobs
	Failed    int64 `json:"failed"`  // the apply command failed
}

// relay is a running relay.
type relay struct {
	cfg    Config
	client *client.Client
	dir    string // of the files for the apply command
	report Report
}

// Run relays until ctx ends, which is no error, or for Config.Rounds rounds. No
// round is begun before the one before it ended.
func Run(ctx context.Context, cfg Config) (*Report, error) {
	cfg.fillDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "yardmaster-relay")
	if err != nil {
		return nil, fmt.Errorf("relay: %w", err)
	}
	defer os.RemoveAll(dir)
	r := &relay{cfg: cfg, dir: dir}
	if r.client, err = client.Connect(ctx, cfg.Client); err != nil {
		return nil, err
	}
	defer r.client.Close()
	ticker := time.NewTicker(cfg.Interval)
	defer ticker.Stop()
	for {
		r.round(ctx)
		r.report.Rounds++
		if r.report.Rounds == cfg.Rounds {
			return &r.report, nil
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return &r.report, nil
		}
	}
}

// round takes a state to the service and its decision back.
func (r *relay) round(ctx context.Context) {
	log := r.cfg.Logger
	began := time.Now()
	state, text, err := r.state(ctx)
	if err != nil {
		r.report.NoState++
		log.Error("no state: nothing is published or applied", "error", err)
		return
	}
	d, err := r.decide(ctx, state)
	switch {
	case d != nil && err != nil: // it does not fit the state
		r.report.Refused++
		log.Error("decision not applied", "id", d.Message.ID, "error", err)
		r.ack(r.client.Ack(d, err))
		return
	case isRefusal(err):
		r.report.Refused++
		log.Error("state refused", "error", err)
		return
	case err != nil:
		r.report.Undecided++
		log.Warn("no decision: nothing is applied", "error", err)
		return
	}
	failed, err := r.apply(ctx, d, state, text)
	switch {
	case err != nil:
		r.report.Failed++
		log.Error("decision not applied", "id", d.Message.ID, "error", err)
		r.ack(r.client.Ack(d, err))
	case len(failed) > 0:
		r.report.Partial++
		log.Warn("decision applied in part", "id", d.Message.ID, "failed", len(failed))
		r.ack(r.client.AckJobs(d, failed))
	default:
		r.report.Applied++
		log.Info("decision applied", "id", d.Message.ID, "source", d.Message.Source, "running", len(d.Message.Picks), "took", time.Since(began))
		r.ack(r.client.Ack(d, nil))
	}
}

func isRefusal(err error) bool {
	_, ok := errors.AsType[*wire.Error](err)
	return ok
}

// ack notes an acknowledgement that was not sent: only a count is lost with it.
func (r *relay) ack(err error) {
	if err != nil {
		r.cfg.Logger.Info("not acknowledged", "error", err)
	}
}

// state runs the state command and checks what it prints: a state, or a whole message
// with one, whose other fields are the relay's to say.
func (r *relay) state(ctx context.Context) (*env.State, []byte, error) {
	text, err := r.command(ctx, r.cfg.State, nil, nil)
	if err != nil {
		return nil, nil, err
	}
	var whole struct {
		Schema string          `json:"schema"`
		State  json.RawMessage `json:"state"`
	}
	if err := json.Unmarshal(text, &whole); err == nil && whole.Schema == wire.StateSchema {
		text = whole.State
	}
	head := `{"schema":` + strconv.Quote(wire.StateSchema) + `,"cluster":` + strconv.Quote(r.cfg.Client.Cluster) + `,"epoch":1,"seq":1,"state":`
	message, err := wire.DecodeState(append(append([]byte(head), text...), '}'))
	if err != nil {
		return nil, nil, fmt.Errorf("relay: what %q prints: %w", r.cfg.State, err)
	}
	return &message.State, text, nil
}

func (r *relay) decide(ctx context.Context, s *env.State) (*client.Decision, error) {
	ctx, cancel := context.WithTimeout(ctx, r.cfg.Wait)
	defer cancel()
	seq, err := r.client.PublishState(s)
	if errors.Is(err, client.ErrTooLarge) {
		return nil, err
	}
	return r.client.Wait(ctx, seq) // which publishes it again if the broker is away
}

// apply runs the apply command and returns the jobs for which it did not work.
func (r *relay) apply(ctx context.Context, d *client.Decision, s *env.State, text []byte) (map[int64]error, error) {
	files := map[string][]byte{"YARDMASTER_STATE": text, "YARDMASTER_PLAN": plan(s, d.Allocation)}
	var environment []string
	for name, data := range files {
		file := filepath.Join(r.dir, name)
		if err := os.WriteFile(file, data, 0o600); err != nil {
			return nil, fmt.Errorf("relay: %w", err)
		}
		environment = append(environment, name+"="+file)
	}
	message, err := wire.Encode(d.Message)
	if err != nil {
		return nil, err
	}
	out, err := r.command(ctx, r.cfg.Apply, append(message, '\n'), environment)
	if err != nil {
		return nil, err
	}
	return results(out)
}

// results reads the lines that an apply command printed.
func results(out []byte) (map[int64]error, error) {
	failed := make(map[int64]error)
	lines := json.NewDecoder(bytes.NewReader(out))
	lines.DisallowUnknownFields()
	for {
		var j wire.JobResult
		switch err := lines.Decode(&j); {
		case errors.Is(err, io.EOF):
			return failed, nil
		case err != nil:
			return nil, fmt.Errorf("relay: what the apply command printed: %w, want lines such as {\"job\": 1, \"applied\": false, \"reason\": \"why\"}", err)
		}
		if !j.Applied {
			failed[j.Job] = errors.New(j.Reason)
		}
	}
}
