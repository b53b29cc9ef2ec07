package models

import (
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/yardmaster/yardmaster/models/nn"
)

// addGolden writes testdata/v<FormatVersion> if it is not there yet: once for
// every new format. What is there is never written again, since it stands for
// the files that are out in the world.
var addGolden = flag.Bool("add-golden", false, "write the golden model of the current format version if there is none")

// goldenCase is a decision point and what the golden model makes of it.
type goldenCase struct {
	Global     []float32 `json:"global"`     // [2]
	Candidates []float32 `json:"candidates"` // [N, 3]
	Mask       []bool    `json:"mask"`       // [N]
	Scores     []float64 `json:"scores"`     // [N]
	Value      float64   `json:"value"`
}

// Every format version has a committed model that loads for ever and scores as
// it did when it was written, to 1e-5: processors round sums differently.
func TestGoldenModelsOfEveryFormat(t *testing.T) {
	if *addGolden {
		writeGolden(t)
	}
	for version := 1; version <= FormatVersion; version++ {
		dir := filepath.Join("testdata", fmt.Sprintf("v%d", version))
		m := mustLoad(t, filepath.Join(dir, "model"))
		if err := m.Manifest.CheckEncoder(JobStrategy, testEncoder()); err != nil {
			t.Error(err)
		}
		if got := m.Manifest.Provenance["seed"]; got != "2026" {
			t.Errorf("format %d: provenance has seed %q", version, got)
		}
		raw, err := os.ReadFile(filepath.Join(dir, "golden.json"))
		if err != nil {
			t.Fatal(err)
		}
		var cases []goldenCase
		if err := json.Unmarshal(raw, &cases); err != nil {
			t.Fatal(err)
		}
		if len(cases) < 4 {
			t.Errorf("format %d: %d cases, want at least 4", version, len(cases))
		}
		for i, want := range cases {
			got := play(m, want)
			for row := range want.Scores {
				if math.Abs(got.Scores[row]-want.Scores[row]) > 1e-5 {
					t.Errorf("format %d, case %d: score %d: got %v, want %v", version, i, row, got.Scores[row], want.Scores[row])
				}
			}
			if math.Abs(got.Value-want.Value) > 1e-5 {
				t.Errorf("format %d, case %d: value: got %v, want %v", version, i, got.Value, want.Value)
			}
		}
	}
}

// play fills in what m makes of c's decision point.
func play(m *Model, c goldenCase) goldenCase {
	scores := make([]float32, len(c.Mask))
	var scratch nn.Scratch
	nn.NewScorer(m.Params).Score(scores, c.Global, c.Candidates, c.Mask, &scratch)
	c.Scores = make([]float64, len(scores))
	for i, s := range scores {
		c.Scores[i] = float64(s)
	}
	c.Value = float64(nn.NewCritic(m.Params).Value(c.Global, c.Candidates, c.Mask, &scratch))
	return c
}

func writeGolden(t *testing.T) {
	t.Helper()
	dir := filepath.Join("testdata", fmt.Sprintf("v%d", FormatVersion))
	if _, err := os.Stat(dir); err == nil {
		t.Fatalf("%s exists: golden files are never written again", dir)
	}
	m := testModel(2026)
	mustSave(t, filepath.Join(dir, "model"), m)
	cases := []goldenCase{
		{Global: []float32{0, 0}, Candidates: []float32{1, 0, 0}, Mask: []bool{true}},
		{Global: []float32{1.5, 0.25}, Candidates: []float32{1, 0, 0, 0, -2.5, 0.5, 0, 3, 1}, Mask: []bool{false, true, true}},
		{Global: []float32{-10, 1}, Candidates: []float32{0, 10, -10, 0, -10, 10}, Mask: []bool{true, true}},
		{Global: []float32{0.5, 0.5}, Candidates: []float32{1, 0, 0, 0, 1, 1, 0, 2, 2, 0, 1, 1}, Mask: []bool{false, false, false, false}},
	}
	for i := range cases {
		cases[i] = play(m, cases[i])
	}
	raw, err := json.MarshalIndent(cases, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(dir, "golden.json"), append(raw, '\n'))
}
