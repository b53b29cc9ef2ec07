package perf

import (
	"testing"

	"github.com/yardmaster/yardmaster/env"
)

func TestStrategiesSmoke(t *testing.T) {
	c, err := Default().ParseCluster("V100=16,P100=16,K80=16", 4)
	if err != nil {
		t.Fatal(err)
	}
	p, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range []int{1, 2, 4, 8, 16, 32} {
		for _, m := range Default().ModelNames() {
			mm, _ := Default().Model(m)
			s, err := p.Strategies(&env.Job{ID: 1, Model: m, Batch: mm.Batches[0], GPUs: g}, &c)
			t.Log(m, g, err)
			for i := range s {
				if err := s[i].Validate(&c); err != nil {
					t.Error(err)
				}
				t.Logf("   %+v", s[i])
			}
		}
	}
}
