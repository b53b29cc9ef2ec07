package models

import (
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// testNovelty returns statistics for the features of testModel.
func testNovelty() *Novelty {
	class := func(candidates int) SizeClass {
		return SizeClass{
			Candidates: candidates, States: 10, Mean: []float64{1, 2, 3, 4, 5}, Outside: 0.01, Distance: 9,
			Features: []float64{3, 3, 4, 3, 3},
		}
	}
	n := &Novelty{
		States: 20, Global: []Range{{-1, 1}, {0, 0}}, Candidate: []Range{{0, 1}, {-3, 3.5}, {2, 2}},
		Classes: []SizeClass{class(0), class(64)},
	}
	for i := range 5 {
		for j := range i + 1 {
			x := 0.0
			if i == j {
				x = 1
			}
			n.Covariance = append(n.Covariance, x)
		}
	}
	return n
}

func TestNoveltyRoundTrip(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "m")
	m := testModel(1)
	m.Manifest.Novelty = testNovelty()
	mustSave(t, dir, m)
	if diff := cmp.Diff(testNovelty(), mustLoad(t, dir).Manifest.Novelty); diff != "" {
		t.Errorf("statistics changed on disk (-saved +loaded):\n%s", diff)
	}
	c := m.Clone()
	c.Manifest.Novelty.Classes[0].Mean[0], c.Manifest.Novelty.Global[0].Low, c.Manifest.Novelty.Covariance[0] = 9, 9, 9
	if diff := cmp.Diff(testNovelty(), m.Manifest.Novelty); diff != "" {
		t.Errorf("a clone shares memory:\n%s", diff)
	}
}

func TestNoveltyRefused(t *testing.T) {
	for name, test := range map[string]struct {
		spoil func(*Novelty)
		want  string
	}{
		"no states":           {func(n *Novelty) { n.States = 0 }, "states is 0"},
		"range upside down":   {func(n *Novelty) { n.Candidate[1].Low = 4 }, "range 1 of 3"},
		"infinite range":      {func(n *Novelty) { n.Global[0].High = float32(math.Inf(1)) }, "range 0 of 2"},
		"a range too few":     {func(n *Novelty) { n.Global = n.Global[:1] }, "1 global"},
		"covariance too long": {func(n *Novelty) { n.Covariance = append(n.Covariance, 0) }, "16 covariances"},
		"covariance NaN":      {func(n *Novelty) { n.Covariance[3] = math.NaN() }, "covariance 3"},
		"no classes":          {func(n *Novelty) { n.Classes = nil }, "0 classes"},
		"many classes":        {func(n *Novelty) { n.Classes = make([]SizeClass, 65) }, "65 classes"},
		"classes in disorder": {func(n *Novelty) { n.Classes[1].Candidates = 0 }, "class 1"},
		"unit of zero":        {func(n *Novelty) { n.Classes[0].Distance = 0 }, "class 0"},
		"a mean too few":      {func(n *Novelty) { n.Classes[1].Mean = n.Classes[1].Mean[:4] }, "class 1 has 4 means"},
		"unit not a number":   {func(n *Novelty) { n.Classes[1].Features[2] = math.NaN() }, "units of features"},
	} {
		m := testModel(1)
		m.Manifest.Novelty = testNovelty()
		test.spoil(m.Manifest.Novelty)
		if err := Save(filepath.Join(t.TempDir(), "m"), m); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want an error with %q", name, err, test.want)
		}
	}
}
