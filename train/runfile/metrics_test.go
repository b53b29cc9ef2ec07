package runfile

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A log is read as it grows: what is half written waits.
func TestTail(t *testing.T) {
	path := filepath.Join(t.TempDir(), MetricsName)
	tail := NewTail(path)
	if lines, err := tail.Next(); err != nil || lines != nil {
		t.Errorf("without a log: got %v, %v, want nothing", lines, err)
	}
	score := 5.5
	first := Line{Stage: "bc", Step: 1, Score: &score, Seconds: 2, Metrics: []Metric{{"by_type.K80", 3}, {"loss", 0.5}, {"stopped", 1}}}
	second := Line{Stage: "ppo", Step: 2, Seconds: 3}
	whole := `{"stage":"bc","step":1,"score":5.5,"wall_seconds":2,"metrics":{"loss":0.5,"stopped":true,"note":"x","by_type":{"K80":3}}}` + "\n"
	half := `{"stage":"ppo","step":2,`
	for _, test := range []struct {
		write string
		want  []Line
	}{
		{whole + half, []Line{first}},
		{"", nil},
		{`"wall_seconds":3}` + "\n", []Line{second}},
	} {
		appendText(t, path, test.write)
		got, err := tail.Next()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("after %q (-want +got):\n%s", test.write, diff)
		}
	}
	if x, ok := first.Metric("loss"); !ok || x != 0.5 {
		t.Errorf("loss is %g, %v", x, ok)
	}
	appendText(t, path, "no line\n")
	if _, err := tail.Next(); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("got %v, want an error that names %s", err, path)
	}
}

func appendText(t *testing.T, path, text string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
}
