package perf

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yardmaster/yardmaster/env"
)

func TestParseCluster(t *testing.T) {
	got, err := Default().ParseCluster(" V100=6, K80=4 ", 4)
	if err != nil {
		t.Fatal(err)
	}
	want := env.Cluster{
		Types: []env.GPUType{
			{Name: "V100", MemoryGiB: 15.78, PricePerHour: 2.48},
			{Name: "K80", MemoryGiB: 11.17, PricePerHour: 0.45},
		},
		Nodes: []env.Node{{Type: 0, GPUs: 4}, {Type: 0, GPUs: 2}, {Type: 1, GPUs: 4}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestParseClusterRefuses(t *testing.T) {
	tests := []struct {
		spec    string
		perNode int
		want    string
	}{
		{"V100=4,X1=4", 4, `unknown GPU type "X1", have A10, `},
		{"V100", 4, "want TYPE=GPUS"},
		{"", 4, "want TYPE=GPUS"},
		{"=4", 4, "want TYPE=GPUS"},
		{"v100=4", 4, `unknown GPU type "v100" (perhaps V100), have A10, `},
		{"V100=0", 4, "want a number of GPUs"},
		{"V100=-4", 4, "want a number of GPUs"},
		{"V100=four", 4, "want a number of GPUs"},
		{"V100=4,V100=4", 4, "want a name used once"},
		{"V100=4", 0, "0 GPUs per node"},
		{"V100=4", env.MaxGPUsPerNode + 1, "GPUs per node"},
		{"V100=9000000000000000000", 1, "more than 100000 nodes"},
		{"V100=100000,K80=1", 1, "more than 100000 nodes"},
	}
	for _, tt := range tests {
		c, err := Default().ParseCluster(tt.spec, tt.perNode)
		if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q in nodes of %d: got error %v, want one line with %q", tt.spec, tt.perNode, err, tt.want)
		}
		if len(c.Types)+len(c.Nodes) > 0 {
			t.Errorf("%q: got a cluster beside the error", tt.spec)
		}
	}
	if _, err := Default().ParseCluster("X1=4", 4); !errors.Is(err, ErrUnknownGPU) {
		t.Errorf("got %v, want ErrUnknownGPU", err)
	}
}
