package serve

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/yardmaster/yardmaster/serve/guard"
	"github.com/yardmaster/yardmaster/serve/wire"
)

func decision(cluster string, seq int) (*guard.Decision, *wire.State) {
	return &guard.Decision{Message: &wire.Allocation{Cluster: cluster, ID: fmt.Sprint(cluster, ":", seq)}}, &wire.State{Cluster: cluster}
}

// A plain list of all decisions is the slow twin.
func TestRecentKeepsTheLast(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var r recent
		var all []string
		newest := map[string]string{}
		for i := range rapid.IntRange(0, 2*maxRecent).Draw(t, "decisions") {
			cluster := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "cluster")
			d, s := decision(cluster, i)
			r.add(d, s, time.Now())
			all = append(all, d.Message.ID)
			newest[cluster] = d.Message.ID
		}
		last := r.last()
		if len(last) != min(len(all), maxRecent) {
			t.Fatalf("got %d decisions of %d", len(last), len(all))
		}
		for i, d := range last {
			if want := all[len(all)-1-i]; d.ID != want {
				t.Fatalf("decision %d from the end: got %s, want %s", i, d.ID, want)
			}
		}
		clusters := r.clusters()
		if len(clusters) != len(newest) {
			t.Fatalf("got %d clusters, want %d", len(clusters), len(newest))
		}
		for i, d := range clusters {
			if d.ID != newest[d.Cluster] || i > 0 && clusters[i-1].Cluster >= d.Cluster {
				t.Fatalf("cluster %s: got %s, want %s, in order", d.Cluster, d.ID, newest[d.Cluster])
			}
		}
	})
}

// A flood of invented names costs a bounded memory.
func TestRecentIsBounded(t *testing.T) {
	var r recent
	for i := range maxRecentByName + 10 {
		d, s := decision(fmt.Sprintf("c%05d", i), i)
		r.add(d, s, time.Now())
	}
	clusters := r.clusters()
	if len(clusters) != maxRecentByName || clusters[len(clusters)-1].Cluster != fmt.Sprintf("c%05d", maxRecentByName+9) {
		t.Errorf("got %d clusters up to %s", len(clusters), clusters[len(clusters)-1].Cluster)
	}
}
