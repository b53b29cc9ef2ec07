package synth

import (
	"testing"
	"time"

	"github.com/yardmaster/yardmaster/datasets"
	"github.com/yardmaster/yardmaster/datasets/importers/importertest"
	"github.com/yardmaster/yardmaster/datasets/importers/philly"
)

// phillyTrace returns the real trace and a function for times of its calendar.
func phillyTrace(t *testing.T) (*datasets.Jobs, func(month time.Month, day int) time.Duration) {
	t.Helper()
	f := importertest.OpenShared(t, "philly", "philly_jobs.csv.gz")
	j, _, err := philly.Format().Import(f, f.Name())
	if err != nil {
		t.Fatal(err)
	}
	return j, func(month time.Month, day int) time.Duration {
		at := time.Date(2017, month, day, 0, 0, 0, 0, zoneOf(j.Meta.Zone, j.Meta.Epoch)).Sub(j.Meta.Epoch)
		return min(max(at, j.Rows[0].Submit), j.Rows[len(j.Rows)-1].Submit+1)
	}
}

// Fitted on September to November, what is generated is closer to December than
// November is, in times between submissions, durations and sizes.
func TestPhillyDecemberIsForecast(t *testing.T) {
	j, at := phillyTrace(t)
	_, h, err := FitHoldout(j, HoldoutConfig{From: at(12, 1), To: at(12, 31), NaiveFrom: at(11, 1), NaiveTo: at(12, 1)})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("\n%s", h)
	for _, m := range h.Measures[:3] {
		if m.Mean >= m.Naive {
			t.Errorf("%s: %.4f on average, November as it is has %.4f; want less", m.Name, m.Mean, m.Naive)
		}
	}
	if h.Window.Jobs != 8072 || h.Naive.A.Jobs != 21298 {
		t.Errorf("%d jobs in December and %d in November, want 8072 and 21298", h.Window.Jobs, h.Naive.A.Jobs)
	}
}

// What each part of the model does for the forecast of November, by which the parts
// were chosen. go test -v prints the table of the README.
func TestPhillyNovemberByPartsOfTheModel(t *testing.T) {
	j, at := phillyTrace(t)
	base := ModelConfig{From: at(9, 1), To: at(11, 1)}
	fit := func(j *datasets.Jobs, cfg ModelConfig) *Model { return fitModel(t, j, cfg) }
	together := &datasets.Jobs{Name: j.Name, Meta: j.Meta, Rows: append([]datasets.Row(nil), j.Rows...)}
	for i := range together.Rows {
		together.Rows[i].Tenant = ""
	}
	keepAll := base
	keepAll.ArrivalsHalfLife, keepAll.JobsHalfLife = -1, -1
	oneStream, byTenant := fit(together, keepAll), fit(j, keepAll)
	models := []struct {
		name  string
		model *Model
	}{
		{"Poisson, constant rate", asPoisson(oneStream, false)},
		{"Poisson, hours and weekdays", asPoisson(oneStream, true)},
		{"renewal chain, one stream", oneStream},
		{"chain by tenant, one level", oneLevel(byTenant)},
		{"chain by tenant", byTenant},
		{"the same, forgetting", fit(j, base)},
	}
	t.Logf("%-30s %9s %9s %9s %11s %9s", "", "KS gaps", "KS run", "KS size", "dispersion", "jobs/h")
	distance := make([]float64, len(models))
	for i, m := range models {
		h, err := m.model.Judge(j, HoldoutConfig{From: at(11, 1), To: at(12, 1), NaiveFrom: at(10, 1), NaiveTo: at(11, 1), Seeds: 3})
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			t.Logf("%-30s %9s %9s %9s %11.1f %9.1f", "November", "", "", "", h.Window.Dispersion, h.Window.PerHour)
			n := h.Naive
			t.Logf("%-30s %9.3f %9.3f %9.3f %11.1f %9.1f", "October as it is", n.InterArrival, n.Duration, n.Size, n.A.Dispersion, n.A.PerHour)
		}
		x := h.Measures
		t.Logf("%-30s %9.3f %9.3f %9.3f %11.1f %9.1f", m.name, x[0].Mean, x[1].Mean, x[2].Mean, x[6].Mean, x[5].Mean)
		distance[i] = x[0].Mean + x[1].Mean + x[2].Mean
	}
	last := distance[len(distance)-1]
	for i, d := range distance[:len(distance)-1] {
		if d < last {
			t.Errorf("the sum of the distances is %.3f, without parts of the model (%s) %.3f; want it to be the least", last, models[i].name, d)
		}
	}
	if last > 0.7*distance[0] {
		t.Errorf("the sum of the distances is %.3f, that of a Poisson process %.3f; want at most 0.7 of it", last, distance[0])
	}
}

// asPoisson returns m with one stream of independent jobs and exponential gaps of
// the same mean rate.
func asPoisson(m *Model, daily bool) *Model {
	p := *m
	s := m.Streams[0]
	from, errFrom := time.Parse(time.RFC3339Nano, m.Source.From)
	to, errTo := time.Parse(time.RFC3339Nano, m.Source.To)
	if errFrom != nil || errTo != nil {
		panic("the window of the fit is no time")
	}
	perJob := to.Sub(from) / time.Duration(m.Source.Jobs)
	var gaps []weighted
	for i := range 1000 {
		gaps = append(gaps, weighted{exponential((float64(i)+0.5)/1000) * perJob.Seconds(), 1})
	}
	s.Gaps = []GapClass{{Seconds: sketch(gaps, m.Clock.grain())}}
	s.Busy, s.Next, s.SteadyFor = nil, nil, 0
	if !daily {
		s.SteadyFor = steadies[0]
	}
	p.Streams = []Stream{s}
	return &p
}

// oneLevel returns m without levels of activity: the rows of a class are added up.
func oneLevel(m *Model) *Model {
	p := *m
	p.Streams = append([]Stream(nil), m.Streams...)
	for i := range p.Streams {
		s := &p.Streams[i]
		classes := len(s.Gaps)
		next := table(classes, classes)
		for k, row := range s.Next {
			for c, w := range row {
				next[k%classes][c] += w
			}
		}
		s.Busy = nil
		if classes > 1 {
			s.Next = next
		}
	}
	return &p
}
