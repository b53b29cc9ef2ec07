package train

import (
	"strings"
	"testing"
)

// Every metric that a run writes is defined in README.md.
func TestReadmeDefinesEveryMetric(t *testing.T) {
	cfg := small(t)
	mustRun(t, cfg)
	readme := string(read(t, "README.md"))
	seen := 0
	for _, l := range lines(t, cfg.Dir) {
		metrics, _ := l.Metrics.(map[string]any)
		for name := range metrics {
			seen++
			if !strings.Contains(readme, "| "+string(l.Stage)+" | `"+name+"` |") {
				t.Errorf("README.md does not define metric %s of stage %s", name, l.Stage)
			}
		}
	}
	if seen == 0 {
		t.Fatal("the run wrote no metrics: the test shows nothing")
	}
}
