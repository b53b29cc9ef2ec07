package wire

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/yardmaster/yardmaster/env"
)

// A state that went over the wire is the one that was sent: policies decide the
// same on both sides. Comparing the bytes too tells 0 from -0.
func TestStateRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sent := drawState(t)
		data, err := Encode(sent)
		if err != nil {
			t.Fatal(err)
		}
		got, err := DecodeState(data)
		if err != nil {
			t.Fatalf("%v\n%s", err, data)
		}
		if diff := cmp.Diff(sent, got); diff != "" {
			t.Fatalf("state changed on the wire (-sent +got):\n%s", diff)
		}
		again, err := Encode(got)
		if err != nil || !bytes.Equal(data, again) {
			t.Fatalf("encoded again: got %s, %v\nwant %s", again, err, data)
		}
	})
}

// encoding/json is the slow twin: whatever the decoder accepts, it reads alike.
func TestDecodeLikeEncodingJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sent := drawState(t)
		data, err := json.MarshalIndent(sent, "", " \t")
		if err != nil {
			t.Fatal(err)
		}
		var want State
		if err := json.Unmarshal(data, &want); err != nil {
			t.Fatal(err)
		}
		got, err := DecodeState(data)
		if err != nil {
			t.Fatalf("%v\n%s", err, data)
		}
		if diff := cmp.Diff(&want, got); diff != "" {
			t.Fatalf("unlike encoding/json (-want +got):\n%s", diff)
		}
	})
}

func TestPeekReadsTheIdentity(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sent := drawState(t)
		data, err := Encode(sent)
		if err != nil {
			t.Fatal(err)
		}
		// In another order, so that the peek has to skip the state.
		var fields map[string]json.RawMessage
		if err := json.Unmarshal(data, &fields); err != nil {
			t.Fatal(err)
		}
		last := []byte(`{"state":` + string(fields["state"]) + `,"schema":"x{\"","epoch":` + string(fields["epoch"]) + `,"seq":` + string(fields["seq"]) + `,"cluster":` + string(fields["cluster"]) + `}`)
		for _, message := range [][]byte{data, last} {
			key, err := PeekState(message)
			if err != nil || key != sent.Key() {
				t.Fatalf("PeekState: got %v, %v, want %v\n%s", key, err, sent.Key(), message)
			}
		}
	})
}

func TestDecisionsRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		gap := drawFloat(t)
		a := &Allocation{
			Schema: AllocationSchema, Cluster: "c", Epoch: 1, StateSeq: 2, ID: "c:1:2:allocation", Source: SourceLP, Reason: ReasonLate,
			Model: rapid.StringN(0, 8, 64).Draw(t, "model"), Gap: &gap, DeadlineMS: drawFloat(t), Picks: []Pick{{Job: rapid.Int64().Draw(t, "job"), Strategy: 3}},
		}
		data, err := Encode(a)
		if err != nil {
			t.Fatal(err)
		}
		got, err := DecodeAllocation(data)
		if diff := cmp.Diff(a, got); err != nil || diff != "" {
			t.Fatalf("allocation: %v (-sent +got):\n%s", err, diff)
		}
		c := &Configuration{
			Schema: ConfigurationSchema, Cluster: "c", Epoch: 1, StateSeq: 2, ID: "c:1:2:configuration", Model: "m", Now: 5, Window: 6,
			Configuration: env.Configuration{Scheduler: "tiresias", Knobs: []env.Knob{{Name: "thresholds", Values: []float64{drawFloat(t), -drawFloat(t) / 1e10}}}},
		}
		if data, err = Encode(c); err != nil {
			t.Fatal(err)
		}
		gotC, err := DecodeConfiguration(data)
		if diff := cmp.Diff(c, gotC); err != nil || diff != "" {
			t.Fatalf("configuration: %v (-sent +got):\n%s", err, diff)
		}
	})
}

func TestAckAndErrorRoundTrip(t *testing.T) {
	ack := &Ack{Schema: AckSchema, Cluster: "c", Epoch: 1, StateSeq: 2, ID: "x", Reason: "no such job"}
	data, err := Encode(ack)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := DecodeAck(data); err != nil || !cmp.Equal(got, ack) {
		t.Errorf("ack: got %+v, %v, want %+v", got, err, ack)
	}
	if bytes.Contains(data, []byte("jobs")) {
		t.Errorf("ack without results of jobs: got %s, want what the first version of the schema reads", data)
	}
	ack.Jobs = []JobResult{{Job: 1, Applied: true}, {Job: 2, Reason: "no such job"}}
	if data, err = Encode(ack); err != nil {
		t.Fatal(err)
	}
	if got, err := DecodeAck(data); err != nil || !cmp.Equal(got, ack) {
		t.Errorf("ack of jobs: got %+v, %v, want %+v", got, err, ack)
	}
	refusal := Errorf(CodeInvalid, "state.jobs[3]", "gpus is %d", -1)
	if got, err := DecodeError(refusal.Encode()); err != nil || *got != *refusal {
		t.Errorf("error: got %+v, %v, want %+v", got, err, refusal)
	}
	long := Errorf(CodeInvalid, "state", "%s", strings.Repeat("\"ä", 1000))
	if got, err := DecodeError(long.Encode()); err != nil || *got != *long || !strings.HasSuffix(got.Message, "…") {
		t.Errorf("long error: got %+v, %v, want it cut", got, err)
	}
}

func TestEventRoundTrip(t *testing.T) {
	for _, event := range []*Event{
		NewEvent(EventModel, "", "loaded"),
		{Schema: EventSchema, Event: EventGuard, Cluster: "c", Epoch: 1, StateSeq: 2, Source: "lp", Reason: "late", Model: "m", Server: "s", Active: true, Value: -0.5, Limit: 1e300, Message: "x"},
	} {
		data, err := Encode(event)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := DecodeEvent(data); err != nil || *got != *event {
			t.Errorf("got %+v, %v, want %+v", got, err, event)
		}
	}
	if e := NewEvent(EventGap, "c", strings.Repeat("ä", 1000)); len(e.Message) > maxMessage || !utf8.ValidString(e.Message) {
		t.Errorf("long message: got %d bytes, want it cut to %d", len(e.Message), maxMessage)
	}
	if _, err := DecodeEvent([]byte(`{"schema":"yardmaster.event.v2","event":"x","message":""}`)); err == nil {
		t.Error("another version is read")
	}
}

// The files were written by the first version of each schema: every later
// version must read them.
func TestCommittedMessages(t *testing.T) {
	read := func(name string) []byte {
		data, err := os.ReadFile("testdata/" + name)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	s, err := DecodeState(read("state.v1.json"))
	if err != nil {
		t.Fatal(err)
	}
	if len(s.State.Jobs) != 2 || s.State.Jobs[1].Strategies[1].Throughput != 7.5 {
		t.Errorf("state.v1.json: got %+v", s.State)
	}
	a, err := DecodeAllocation(read("allocation.v1.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Check(s.Key(), &s.State); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff(env.Allocation{env.Idle, 1}, a.Allocation(&s.State)); diff != "" {
		t.Errorf("allocation.v1.json (-want +got):\n%s", diff)
	}
	if _, err := DecodeConfiguration(read("configuration.v1.json")); err != nil {
		t.Error(err)
	}
}
