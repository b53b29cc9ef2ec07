package verify

import (
	"bytes"
	"math"
	"strings"
	"testing"
)

// TestContinuousOrder plays two loads of each experiment: the values of the
// low load are Gavel's, and every pair of policies is in its order.
func TestContinuousOrder(t *testing.T) {
	points, err := Continuous(t.Context(), gavelData(t), ContinuousConfig{Every: 8, MaxLoad: 3.7})
	if err != nil {
		t.Fatal(err)
	}
	if len(points) != 2*6+2*5 {
		t.Errorf("%d points, want 22", len(points))
	}
	for i := range points {
		p := &points[i]
		// Runs of one GPU per job hardly changed since they were published; with
		// gangs later versions are a few per cent better.
		allowed := 0.03
		if p.Experiment != experiments[0].name {
			allowed = 0.2
		}
		if math.Abs(p.Ours/p.Theirs-1) > allowed {
			t.Errorf("%s at %g jobs/h under %s: %.3f h, published %.3f", p.Experiment, p.JobsPerHour, p.Policy, p.Ours, p.Theirs)
		}
	}
	if err := ContinuousMisses(points); err != nil {
		t.Error(err)
	}
	for _, o := range Orders(points) {
		if !o.Holds() {
			t.Errorf("%+v does not hold", o)
		}
	}
}

// few are two policies and their aware forms at one load.
func few() []Point {
	at := func(policy string, ours, theirs float64) Point {
		return Point{experiments[0].name, 2, policy, ours, theirs}
	}
	return []Point{
		at("fifo_perf", 15, 15.2), at("max_min_fairness", 24, 23.5), at("max_min_fairness_perf", 17, 17.1),
		at("finish_time_fairness", 24, 23.6), at("finish_time_fairness_perf", 17.5, 17),
	}
}

func TestGainsAndOrders(t *testing.T) {
	points := few()
	gains := Gains(points)
	if len(gains) != 2 || gains[0].Ours != 24./17 || gains[0].Theirs != 23.5/17.1 {
		t.Errorf("gains are %+v", gains)
	}
	// Apart by more than a tenth: each of the blind ones from each of the three
	// others, and both aware ones from fifo_perf.
	if orders := Orders(points); len(orders) != 2*3+2 {
		t.Errorf("%d orders, want 8: %+v", len(orders), orders)
	}
	if err := ContinuousMisses(points); err != nil {
		t.Error(err)
	}
	var b bytes.Buffer
	if err := WriteContinuous(&b, points); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"jobs of one GPU", "24.00 (23.50)", "1.41 (1.37)", "8 of 8", "8 of 8 in all"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in:\n%s", want, b.String())
		}
	}
}

func TestContinuousMisses(t *testing.T) {
	points := few()
	points[2].Ours = 25 // the aware form is worse, and three pairs change places
	err := ContinuousMisses(points)
	for _, want := range []string{"max_min_fairness takes 0.96 times as long as its aware form", "of 8 pairs"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want an error with %q", err, want)
		}
	}
}
