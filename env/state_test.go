package env

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// validState returns two jobs on a cluster of 4 V100 and 2 K80; job 2 runs.
func validState() *State {
	strategies := []Strategy{
		{Type: 0, GPUs: 2, Nodes: 1, Plan: Plan{Data: 2, Tensor: 1, Pipeline: 1, MicroBatch: 32}, Throughput: 10, Restart: time.Minute},
		{Type: 1, GPUs: 2, Nodes: 2, Plan: Plan{Data: 2, Tensor: 1, Pipeline: 1, MicroBatch: 32}, Throughput: 3, Restart: time.Minute},
	}
	return &State{
		Cluster: Cluster{
			Types: []GPUType{{Name: "V100", MemoryGiB: 16}, {Name: "K80", MemoryGiB: 12}},
			Nodes: []Node{{Type: 0, GPUs: 4}, {Type: 1, GPUs: 1}, {Type: 1, GPUs: 1}},
		},
		Now: time.Hour, Round: 10, RoundLen: 6 * time.Minute, Knowledge: Estimate,
		Jobs: []JobState{
			{ID: 2, Model: "ResNet-50", Batch: 32, GPUs: 2, Weight: 1, Submit: 0, Remaining: 50, Current: 0, Strategies: strategies},
			{ID: 7, Model: "ResNet-50", Batch: 32, GPUs: 2, Weight: 2, Submit: time.Minute, Remaining: 0.1, Current: Idle, Strategies: strategies},
		},
	}
}

func TestStateValidate(t *testing.T) {
	if err := validState().Validate(); err != nil {
		t.Fatalf("valid state: %v", err)
	}
	tests := map[string]struct {
		spoil func(*State)
		want  string // part of the error
	}{
		"no GPU types":        {func(s *State) { s.Cluster.Types = nil }, "0 GPU types"},
		"type named twice":    {func(s *State) { s.Cluster.Types[1].Name = "V100" }, "used once"},
		"node of no type":     {func(s *State) { s.Cluster.Nodes[1].Type = 2 }, "nodes[1].type is 2"},
		"negative node":       {func(s *State) { s.Cluster.Nodes[0].GPUs = -1 }, "nodes[0].gpus is -1"},
		"memory not a number": {func(s *State) { s.Cluster.Types[0].MemoryGiB = math.NaN() }, "NaN"},
		"round of no length":  {func(s *State) { s.RoundLen = 0 }, "round_length_ns 0"},
		"unknown knowledge":   {func(s *State) { s.Knowledge = 9 }, "knowledge"},
		"negative recent":     {func(s *State) { s.Recent.Arrivals = -1 }, "recent"},
		"infinite recent":     {func(s *State) { s.Recent.Queue = math.Inf(1) }, "recent"},
		"same id twice":       {func(s *State) { s.Jobs[1].ID = 2 }, "occurs twice"},
		"jobs out of order":   {func(s *State) { s.Jobs[0].Submit = 2 * time.Minute }, "out of order"},
		"job of the future":   {func(s *State) { s.Jobs[1].Submit = 2 * time.Hour }, "submit_ns"},
		"no GPUs":             {func(s *State) { s.Jobs[0].GPUs = 0 }, "gpus is 0"},
		"no batch":            {func(s *State) { s.Jobs[0].Batch = 0 }, "batch is 0"},
		"weight of zero":      {func(s *State) { s.Jobs[0].Weight = 0 }, "weight is 0"},
		"negative service":    {func(s *State) { s.Jobs[0].Service = -1 }, "service -1"},
		"negative waiting":    {func(s *State) { s.Jobs[0].Waiting = -1 }, "waiting_ns -1"},
		"finished job":        {func(s *State) { s.Jobs[0].Remaining = 0 }, "remaining is 0"},
		"leaked remaining":    {func(s *State) { s.Knowledge = None }, "remaining is 50"},
		"no strategies":       {func(s *State) { s.Jobs[0].Strategies = nil }, "0 strategies"},
		"current out of it":   {func(s *State) { s.Jobs[0].Current = 2 }, "current is 2"},
		"speed of infinity":   {func(s *State) { s.Jobs[0].Strategies[0].Throughput = math.Inf(1) }, "throughput is +Inf"},
		"spread too wide":     {func(s *State) { s.Jobs[0].Strategies[0].Nodes = 3 }, "nodes is 3"},
		"strategy of no type": {func(s *State) { s.Jobs[0].Strategies[0].Type = -1 }, "type is -1"},
		"thirds of a GPU":     {func(s *State) { s.Jobs[0].Strategies[0].Share = 3 }, "share is 3"},
		"negative share":      {func(s *State) { s.Jobs[0].Strategies[0].Share = -2 }, "share is -2"},
		"sixteenths":          {func(s *State) { s.Jobs[0].Strategies[0].Share = 16 }, "share is 16"},
		"node down twice":     {func(s *State) { s.Down = []int{1, 1} }, "down[1] is 1"},
		"no such node down":   {func(s *State) { s.Down = []int{3} }, "down[0] is 3"},
		"quota of no type":    {func(s *State) { s.Quotas = []Quota{{Type: 2}} }, "quotas[0].type is 2"},
		"negative quota":      {func(s *State) { s.Quotas = []Quota{{GPUs: -1}} }, "quotas[0].gpus is -1"},
		"quotas out of order": {func(s *State) { s.Quotas = []Quota{{Tenant: "b"}, {Tenant: "a"}} }, "out of order"},
		"quota given twice":   {func(s *State) { s.Quotas = []Quota{{Type: 1}, {Type: 1}} }, "out of order"},
		"negative restart":    {func(s *State) { s.Jobs[0].Strategies[0].Restart = -1 }, "restart_ns is -1"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := validState()
			tt.spoil(s)
			err := s.Validate()
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got error %v, want one with %q", err, tt.want)
			}
		})
	}
}

func TestStateValidateReportsAFewOfManyProblems(t *testing.T) {
	s := validState()
	s.Jobs = make([]JobState, 1000)
	err := s.Validate()
	if err == nil || strings.Count(err.Error(), "\n") > 2*MaxReported {
		t.Errorf("1000 bad jobs: got %d lines of error, want at most %d", strings.Count(err.Error(), "\n"), 2*MaxReported)
	}
}

func TestStateJSONRoundTrip(t *testing.T) {
	want := validState()
	data, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var got State
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, &got); diff != "" {
		t.Errorf("state changed on the wire (-sent +received):\n%s", diff)
	}
}

func TestKnowledgeText(t *testing.T) {
	for _, k := range []Knowledge{Oracle, Estimate, None} {
		text, err := k.MarshalText()
		if err != nil {
			t.Fatal(err)
		}
		var got Knowledge
		if err := got.UnmarshalText(text); err != nil || got != k {
			t.Errorf("%v came back as %v, %v", k, got, err)
		}
	}
	var k Knowledge
	if err := k.UnmarshalText([]byte("clairvoyant")); err == nil {
		t.Error("unknown text: got no error")
	}
	if _, err := Knowledge(3).MarshalText(); err == nil {
		t.Error("unknown value: got no error")
	}
}

func TestAllocationValidate(t *testing.T) {
	tests := map[string]struct {
		a  Allocation
		ok bool
	}{
		"idle":             {NewAllocation(2), true},
		"both on V100":     {Allocation{0, 0}, true},
		"one each":         {Allocation{0, 1}, true},
		"too many K80":     {Allocation{1, 1}, false},
		"too few entries":  {Allocation{0}, false},
		"too many entries": {Allocation{0, 0, 0}, false},
		"no such strategy": {Allocation{2, 0}, false},
		"below idle":       {Allocation{-2, 0}, false},
	}
	for name, tt := range tests {
		err := tt.a.Validate(validState())
		if tt.ok != (err == nil) {
			t.Errorf("%s: got %v, want valid = %v", name, err, tt.ok)
		}
		if err != nil && !errors.Is(err, ErrInvalidAllocation) {
			t.Errorf("%s: error %v does not wrap ErrInvalidAllocation", name, err)
		}
	}
}

func TestClusterCapacity(t *testing.T) {
	c := &validState().Cluster
	if diff := cmp.Diff([]int{4, 2}, c.Capacity()); diff != "" {
		t.Errorf("capacity (-want +got):\n%s", diff)
	}
	if c.GPUs() != 6 || c.TypeIndex("K80") != 1 || c.TypeIndex("H100") != -1 {
		t.Errorf("GPUs %d, K80 at %d, H100 at %d; want 6, 1, -1", c.GPUs(), c.TypeIndex("K80"), c.TypeIndex("H100"))
	}
}
