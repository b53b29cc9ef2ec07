package train

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
)

// Every setting in README.md is in run.json, with the default it says.
func TestReadmeSettings(t *testing.T) {
	cfg := Config{}
	cfg.fillDefaults()
	raw, err := json.Marshal(record{Network: cfg.Network, Prior: cfg.Prior, BC: cfg.BC, ES: cfg.ES, PPO: cfg.PPO})
	if err != nil {
		t.Fatal(err)
	}
	var sections map[string]json.RawMessage
	if err := json.Unmarshal(raw, &sections); err != nil {
		t.Fatal(err)
	}
	rows := regexp.MustCompile("(?m)^\\| `([a-z]+)\\.([a-z_]+)` \\| (\\S+) \\|").FindAllStringSubmatch(string(read(t, "README.md")), -1)
	if len(rows) < 30 {
		t.Fatalf("found %d settings in README.md: the test does not see its table", len(rows))
	}
	for _, row := range rows {
		var section map[string]any
		if err := json.Unmarshal(sections[row[1]], &section); err != nil {
			t.Errorf("%s.%s: run.json has no such section: %v", row[1], row[2], err)
			continue
		}
		var want any
		err := json.Unmarshal([]byte(row[3]), &want)
		if got, ok := section[row[2]]; err != nil || !ok || got != want {
			t.Errorf("README.md says that %s.%s is %s by default, it is %v", row[1], row[2], row[3], got)
		}
	}
}

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
