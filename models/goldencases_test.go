package models

import (
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yardmaster/yardmaster/models/nn"
)

// goldenModel returns testModel with golden cases.
func goldenModel(t testing.TB, seed uint64) *Model {
	t.Helper()
	m := testModel(seed)
	g, err := NewGolden(m.Params, testCases(seed, m.Params.Dims))
	if err != nil {
		t.Fatal(err)
	}
	m.Golden = g
	return m
}

func testCases(seed uint64, d nn.Dims) []GoldenCase {
	r := rand.New(rand.NewPCG(seed, 2))
	draw := func(n int) []float32 {
		xs := make([]float32, n)
		for i := range xs {
			xs[i] = float32(3 * r.NormFloat64())
		}
		return xs
	}
	var cases []GoldenCase
	for _, n := range []int{1, 7, 40} {
		c := GoldenCase{Global: draw(d.Global), Candidates: draw(n * d.Candidate), Mask: make([]bool, n)}
		for i := range c.Mask {
			c.Mask[i] = r.IntN(2) == 0
		}
		cases = append(cases, c)
	}
	return cases
}

func TestGoldenRoundTrip(t *testing.T) {
	dir := t.TempDir()
	m := goldenModel(t, 3)
	mustSave(t, dir, m)
	got := mustLoad(t, dir)
	if diff := cmp.Diff(m.Golden, got.Golden); diff != "" { // bit for bit
		t.Errorf("golden cases changed (-saved +loaded):\n%s", diff)
	}
	if err := got.Golden.Check(got.Params); err != nil {
		t.Error(err)
	}
	mustSave(t, dir, testModel(3)) // one without takes the file away
	if got := mustLoad(t, dir); got.Golden != nil || got.Manifest.GoldenSHA256 != "" {
		t.Error("the golden cases of an earlier model stayed")
	}
	if _, err := os.Stat(filepath.Join(dir, goldenFile)); !os.IsNotExist(err) {
		t.Errorf("%s of an earlier model: %v, want none", goldenFile, err)
	}
}

func TestGoldenCheck(t *testing.T) {
	m := goldenModel(t, 4)
	for name, change := range map[string]func(p *nn.Params){
		"one weight":  func(p *nn.Params) { p.Tensors[nn.ScoreLinearWeight].Data[1] += 0.01 },
		"two swapped": func(p *nn.Params) { w := p.Tensors[nn.ScoreHiddenWeight].Data; w[0], w[1] = w[1], w[0] },
		"NaN":         func(p *nn.Params) { p.Tensors[nn.ScoreOutputWeight].Data[0] = float32(math.NaN()) },
		"overflow":    func(p *nn.Params) { p.Tensors[nn.ScoreLinearWeight].Data[0] = math.MaxFloat32 },
	} {
		p := m.Params.Clone()
		change(p)
		if err := m.Golden.Check(p); !errors.Is(err, ErrGolden) || !strings.Contains(err.Error(), "row") {
			t.Errorf("%s: got %v, want ErrGolden with a row", name, err)
		}
	}
	// The critic plays no part in decisions.
	p := m.Params.Clone()
	p.Tensors[nn.ValueOutputBias].Data[0]++
	if err := m.Golden.Check(p); err != nil {
		t.Errorf("another value: %v", err)
	}
	if err := m.Golden.Check(nn.NewParams(nn.Dims{Candidate: 4, Global: 2, Hidden: 5, Value: 4})); !errors.Is(err, ErrIncompatible) {
		t.Errorf("other dimensions: got %v, want ErrIncompatible", err)
	}
}

func TestEncodeRefusesStaleGolden(t *testing.T) {
	m := goldenModel(t, 5)
	m.Params.Tensors[nn.ScoreLinearWeight].Data[1]++ // it learned on
	if _, err := Encode(m); !errors.Is(err, ErrGolden) {
		t.Errorf("got %v, want ErrGolden", err)
	}
}

func TestNewGoldenRefuses(t *testing.T) {
	p := testModel(1).Params
	case1 := func(change func(*GoldenCase)) []GoldenCase {
		cases := testCases(1, p.Dims)
		change(&cases[1])
		return cases
	}
	for name, cases := range map[string][]GoldenCase{
		"none":       nil,
		"too many":   make([]GoldenCase, MaxGoldenCases+1),
		"no rows":    case1(func(c *GoldenCase) { c.Mask, c.Candidates = nil, nil }),
		"too large":  case1(func(c *GoldenCase) { c.Mask = make([]bool, MaxGoldenCandidates+1) }),
		"shape":      case1(func(c *GoldenCase) { c.Candidates = c.Candidates[1:] }),
		"not finite": case1(func(c *GoldenCase) { c.Global[0] = float32(math.Inf(1)) }),
	} {
		if _, err := NewGolden(p, cases); err == nil {
			t.Errorf("%s: got no error", name)
		}
	}
}

func TestDecodeRefusesDamagedGolden(t *testing.T) {
	whole := encoded(t, goldenModel(t, 6))
	for n := range whole.Golden {
		if n%31 != 0 {
			continue
		}
		cut := Files{whole.Manifest, whole.Weights, whole.Golden[:n]}
		if _, err := Decode(cut); err == nil || !strings.Contains(err.Error(), goldenFile) {
			t.Fatalf("cut to %d bytes: got %v", n, err)
		}
		cut.Manifest = edited(t, cut.Manifest, hash(cut.Golden), "golden_sha256")
		if _, err := Decode(cut); err == nil {
			t.Fatalf("cut to %d bytes: refused by the hash only", n)
		}
		flipped := Files{whole.Manifest, whole.Weights, append([]byte(nil), whole.Golden...)}
		flipped.Golden[n] ^= 1 << (n % 8)
		if _, err := Decode(flipped); err == nil {
			t.Fatalf("bit flipped in byte %d: got no error", n)
		}
	}
}
