package perf

import "testing"

// treeSteps plays an all-reduce of size bytes over a tree: it goes up and down
// once, pipelined, with one hop per level.
func treeSteps(levels int, size, bandwidth, latency float64) float64 {
	t := 2 * size / bandwidth
	for range 2 * levels {
		t += latency
	}
	return t
}

func TestAllReduce(t *testing.T) {
	for _, tt := range []struct {
		name    string
		members int
		size    float64
		want    float64
	}{
		{"alone", 1, 1e6, 0},
		// 2 × 1/2 × 1e6/1e9 + 2 × 1e-5
		{"ring of two", 2, 1e6, 1.02e-3},
		{"ring of large messages", 8, 1e9, ringSteps(8, 1e9, 1e9, 1e-5)},
		// The ring would take 14 hops.
		{"tree of small messages", 8, 1e3, treeSteps(3, 1e3, 1e9, 1e-5)},
		{"tree of five", 5, 1, treeSteps(3, 1, 1e9, 1e-5)},
		// Equal at 2·S/B/n = 2(n-1-⌈log2 n⌉)·α: S = 8 × 4 × 1e-5 × 1e9.
		{"either", 8, 3.2e5, ringSteps(8, 3.2e5, 1e9, 1e-5)},
	} {
		g := group{members: tt.members, bandwidth: 1e9, latency: 1e-5}
		if got := g.allReduce(tt.size); !near(got, tt.want) {
			t.Errorf("%s: got %v s, want %v", tt.name, got, tt.want)
		}
	}
	g := group{members: 8, bandwidth: 1e9, latency: 1e-5}
	if r, tree := g.ring(3.2e5), g.tree(3.2e5); !near(r, tree) {
		t.Errorf("ring %v s and tree %v s, want equal", r, tree)
	}
}
