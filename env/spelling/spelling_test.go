package spelling

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestNearest(t *testing.T) {
	names := []string{"A100-40", "A100-80", "ResNet-18", "ResNet-50", "V100", "V100-32"}
	for text, want := range map[string]string{
		"v100": "V100", "V9000": "V100", "resnet50": "ResNet-50", "ResNet-51": "ResNet-50", "A100-8O": "A100-80", "A100-60": "A100-40",
		"Transformer": "", "": "", "TPU": "", "X1": "", "K8": "",
	} {
		if got := Nearest(text, names); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
	if got := Nearest("x", nil); got != "" {
		t.Errorf("of no names: got %q", got)
	}
}

// slow is the recurrence of the distance, without a table.
func slow(a, b string) int {
	if a == "" || b == "" {
		return len(a) + len(b)
	}
	least := slow(a[1:], b[1:])
	if a[0] != b[0] {
		least++
	}
	return min(least, slow(a[1:], b)+1, slow(a, b[1:])+1)
}

func TestDistance(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.StringMatching(`[ab]{0,6}`)
		a, b := word.Draw(t, "a"), word.Draw(t, "b")
		if got, want := Distance(a, b), slow(a, b); got != want {
			t.Fatalf("%q to %q: got %d, want %d", a, b, got, want)
		}
	})
	if got := Distance(strings.Repeat("a", 300), strings.Repeat("b", 200)); got != 300 {
		t.Errorf("got %d edits, want 300", got)
	}
}
