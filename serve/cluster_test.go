package serve

import (
	"testing"

	"github.com/yardmaster/yardmaster/serve/wire"
)

// Whoever was told that a state is refused may send it again, or an earlier one,
// before the goroutine that worked on it has gone on.
func TestRefusedStateAdvancesNothing(t *testing.T) {
	for _, seq := range []uint64{9, 1} {
		c := &cluster{}
		arrive := func(seq uint64) verdict {
			v, _ := c.offer(&arrival{key: wire.Key{Cluster: "c1", Epoch: 1, Seq: seq}}, 1e9)
			return v
		}
		if v := arrive(9); v != start || c.take() == nil {
			t.Fatalf("got %v, want a state in work", v)
		}
		if v := arrive(seq); v == accepted {
			t.Fatalf("state %d while 9 is in work: got accepted", seq)
		}
		c.refuse()
		if v := arrive(seq); v != accepted {
			t.Errorf("state %d after 9 was refused: got %v, want accepted", seq, v)
		}
	}
}
