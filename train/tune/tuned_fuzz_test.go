package tune

import (
	"bytes"
	"strings"
	"testing"
)

// FuzzReadTuned: files come from people. What is taken can be written, read again,
// and made policies of.
func FuzzReadTuned(f *testing.F) {
	f.Add("policies:\n- scheduler: two-stage\n  knobs:\n  - {name: gamma, value: 0.9}\n  ratio_to_default: 0.97\n  evaluations: 40\n")
	f.Add("provenance: {trace: jobs.parquet, load: 1.1}\npolicies:\n- scheduler: tardiness\n")
	f.Add("policies:\n- &a\n  scheduler: density\n- *a\n")
	f.Add("policies: 7\n")
	f.Fuzz(func(t *testing.T, text string) {
		tuned, err := ReadTuned(strings.NewReader(text))
		if err != nil {
			return
		}
		var b bytes.Buffer
		if err := tuned.Write(&b); err != nil {
			t.Fatal(err)
		}
		again, err := ReadTuned(&b)
		if err != nil {
			t.Fatalf("what was written is refused: %v", err)
		}
		for _, name := range again.Names() {
			if _, err := again.Policy(name); err != nil {
				t.Error(err)
			}
		}
	})
}
