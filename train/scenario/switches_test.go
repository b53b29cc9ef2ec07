package scenario

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/yardmaster/yardmaster/datasets"
	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/sim"
)

func TestSwitchesReachTheSimulator(t *testing.T) {
	dir := t.TempDir()
	quotas, pairs := filepath.Join(dir, "quotas.parquet"), filepath.Join(dir, "pairs.parquet")
	if err := datasets.WriteQuotas(quotas, &datasets.QuotaTable{Rows: []datasets.QuotaRow{
		{Source: "test", Tenant: "a", GPUs: 5},
		{Source: "test", Tenant: "b", GPUType: "H100", GPUs: 2}, // not in the cluster
		{Source: "test", Tenant: "b", GPUType: "V100", GPUs: 2},
		{Source: "test", Tenant: "a", From: 1000 * 24 * time.Hour, GPUs: 1},
	}}); err != nil {
		t.Fatal(err)
	}
	side := func(rate float64) datasets.Tenancy {
		return datasets.Tenancy{Model: "ResNet-18", Batch: 64, StepsPerSecond: rate, Isolated: 10}
	}
	if err := datasets.WriteColocation(pairs, &datasets.ColocationTable{Rows: []datasets.ColocationRow{
		{Source: "test", GPUType: "V100", GPUs: 1, A: side(6), B: side(7), Quality: datasets.Measured},
	}}); err != nil {
		t.Fatal(err)
	}
	l, err := Load(Scenario{Trace: writeTrace(t, 300), Jobs: 20, Switches: Switches{
		Objective: sim.FairJCT, MTBF: 100 * time.Hour, MTTR: 2 * time.Hour, Shares: []int{2}, Colocation: pairs,
		ThroughputSigma: 0.3, Profiling: time.Hour, Quotas: quotas,
	}})
	if err != nil {
		t.Fatal(err)
	}
	cfg := l.Sim(Test)
	if cfg.Objective != sim.FairJCT || cfg.Failures.MTBF != 100*time.Hour || cfg.Failures.MTTR != 2*time.Hour || cfg.Interference == nil {
		t.Errorf("got objective %v, failures %+v, interference %v", cfg.Objective, cfg.Failures, cfg.Interference)
	}
	if cfg.ThroughputSigma != 0.3 || cfg.Profiling != time.Hour {
		t.Errorf("got noise %v for %v", cfg.ThroughputSigma, cfg.Profiling)
	}
	want := []sim.QuotaChange{{Quota: env.Quota{Tenant: "a", Type: env.AnyType, GPUs: 5}}, {Quota: env.Quota{Tenant: "b", Type: 0, GPUs: 2}}}
	if diff := cmp.Diff(want, cfg.Quotas); diff != "" {
		t.Errorf("quotas (-want +got):\n%s", diff)
	}
	s, err := sim.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Reset(0); err != nil {
		t.Fatal(err)
	}
	shared := false
	for i := range s.State().Jobs {
		for k := range s.State().Jobs[i].Strategies {
			shared = shared || s.State().Jobs[i].Strategies[k].Share == 2
		}
	}
	if s.State().Jobs[0].GPUs == 1 && !shared {
		t.Error("no job has a strategy on half a GPU")
	}
}

// TestDeadlinesNeedDeadlines: a trace without any would cost nothing.
func TestDeadlinesNeedDeadlines(t *testing.T) {
	_, err := Load(Scenario{Trace: writeTrace(t, 100), Jobs: 10, Switches: Switches{Objective: sim.Tardiness}})
	if err == nil || !strings.Contains(err.Error(), "has a deadline") {
		t.Errorf("got error %v, want one about deadlines", err)
	}
}

// TestSwitchesOffAreNotWritten: runs of before read and write the same.
func TestSwitchesOffAreNotWritten(t *testing.T) {
	data, err := json.Marshal(Scenario{Trace: "x"})
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(data), "switches") {
		t.Errorf("a scenario without switches is written as %s", data)
	}
	on := Scenario{Trace: "x", Switches: Switches{Objective: sim.FairJCT, Shares: []int{4}}}
	if data, err = json.Marshal(on); err != nil {
		t.Fatal(err)
	}
	var got Scenario
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(on, got); diff != "" {
		t.Errorf("written and read (-want +got):\n%s", diff)
	}
}

func TestSwitchesAreChecked(t *testing.T) {
	_, err := Load(Scenario{Trace: "x", Switches: Switches{Objective: 9, MTTR: 1, Colocation: "y", ThroughputSigma: -1, Profiling: -1}})
	if err == nil {
		t.Fatal("got no error")
	}
	for _, field := range []string{"objective", "mtbf and mttr", "colocation", "throughput_sigma", "profiling"} {
		if !strings.Contains(err.Error(), "scenario: "+field+" is") {
			t.Errorf("the error does not name %s:\n%v", field, err)
		}
	}
}
