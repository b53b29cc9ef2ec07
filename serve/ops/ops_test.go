package ops_test

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"go.uber.org/goleak"

	"github.com/yardmaster/yardmaster/models"
	"github.com/yardmaster/yardmaster/models/nn"
	"github.com/yardmaster/yardmaster/serve"
	"github.com/yardmaster/yardmaster/serve/broker"
	"github.com/yardmaster/yardmaster/serve/guard"
	"github.com/yardmaster/yardmaster/serve/inference"
	"github.com/yardmaster/yardmaster/serve/ops"
	"github.com/yardmaster/yardmaster/serve/servetest"
	"github.com/yardmaster/yardmaster/serve/stage"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const patience = 20 * time.Second

// open starts an endpoint.
func open(t *testing.T, cfg ops.Config) *ops.Endpoint {
	t.Helper()
	cfg.Addr = "127.0.0.1:0"
	e, err := ops.Start(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		if err := e.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return e
}

func get(t *testing.T, url string) (int, string) {
	t.Helper()
	r, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return r.StatusCode, string(body)
}

// scrape reads the metrics with the parser of Prometheus.
func scrape(t *testing.T, e *ops.Endpoint) map[string]*dto.MetricFamily {
	t.Helper()
	code, text := get(t, e.URL()+"/metrics")
	if code != http.StatusOK {
		t.Fatalf("/metrics: got %d\n%s", code, text)
	}
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return families
}

// value returns the value of a series, by the values of its labels.
func value(t *testing.T, families map[string]*dto.MetricFamily, name string, labels ...string) float64 {
	t.Helper()
	for _, m := range families[name].GetMetric() {
		var got []string
		for _, l := range m.GetLabel() {
			got = append(got, l.GetValue())
		}
		if slices.Equal(got, labels) {
			return m.GetCounter().GetValue() + m.GetGauge().GetValue()
		}
	}
	t.Fatalf("no %s%v", name, labels)
	return 0
}

// running is a service on an embedded broker and a connection to it.
func running(t *testing.T, cfg serve.Config) (*serve.Server, *nats.Conn) {
	t.Helper()
	cfg.Guard = servetest.Guard(t)
	if cfg.URL == "" {
		cfg.Broker.StoreDir = t.TempDir()
	}
	s, err := serve.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	nc, err := nats.Connect(s.URL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	return s, nc
}

// measured are the stages that every published decision goes through.
var measured = []string{"decide", "queue", "guard", "policy", "encode"}

// The metrics say what the service did, and every one is there.
func TestMetricsCount(t *testing.T) {
	s, nc := running(t, serve.Config{})
	e := open(t, ops.Config{Service: s})
	decisions, err := nc.SubscribeSync("yardmaster.v1.decision.c1.allocation")
	if err != nil {
		t.Fatal(err)
	}
	for seq := range uint64(3) {
		if err := nc.Publish("yardmaster.v1.state.c1", servetest.Body(t, servetest.State(t, 1, seq+1))); err != nil {
			t.Fatal(err)
		}
		if _, err := decisions.NextMsg(patience); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := nc.Request("yardmaster.v1.svc.decide", []byte("hello"), patience); err != nil {
		t.Fatal(err)
	}
	families := scrape(t, e)
	for _, want := range []struct {
		name   string
		labels []string
		value  float64
	}{
		{"yardmaster_states_total", nil, 3},
		{"yardmaster_requests_total", nil, 1},
		{"yardmaster_allocations_total", []string{"policy"}, 3},
		{"yardmaster_allocations_total", []string{"lp"}, 0},
		{"yardmaster_fallbacks_total", []string{"late"}, 0},
		{"yardmaster_refused_total", []string{"malformed"}, 1},
		{"yardmaster_clusters", nil, 1},
		{"yardmaster_ready", nil, 1},
		{"yardmaster_nats_connected", nil, 1},
		{"yardmaster_model_info", []string{"job-strategy", "srtf@1", "srtf", "active", "1", ""}, 1}, // in the order of the names of labels
		{"yardmaster_degraded", nil, 0},
		{"yardmaster_model_load_total", []string{"golden"}, 0},
		{"yardmaster_shadow_decisions_total", []string{"agreed"}, 0},
		{"yardmaster_acks_total", []string{"applied"}, 0},
	} {
		if got := value(t, families, want.name, want.labels...); got != want.value {
			t.Errorf("%s%v: got %v, want %v", want.name, want.labels, got, want.value)
		}
	}
	if age := value(t, families, "yardmaster_state_age_seconds", "c1"); age <= 0 || age > patience.Seconds() {
		t.Errorf("age of the state of c1: got %v s", age)
	}
	durations := families["yardmaster_decision_duration_seconds"].GetMetric()
	if len(durations) != len(stage.Stages()) {
		t.Errorf("got durations of %d stages, want %d", len(durations), len(stage.Stages()))
	}
	for _, m := range durations {
		name := m.GetLabel()[0].GetValue()
		if h := m.GetHistogram(); slices.Contains(measured, name) && (h.GetSampleCount() != 3 || h.GetSampleSum() <= 0) {
			t.Errorf("%s: got %d durations of %v s, want 3", name, h.GetSampleCount(), h.GetSampleSum())
		}
	}
}

// fake is a service in any condition.
type fake struct {
	ops.Service
	checks []serve.Check
	last   map[string]time.Time
	stats  serve.Stats
}

func (f fake) Checks() []serve.Check             { return f.checks }
func (f fake) Stats() serve.Stats                { return f.stats }
func (f fake) Latency(stage.Stage) stage.Latency { return stage.Latency{} }
func (f fake) Overview() serve.Overview          { return serve.Overview{} }
func (f fake) Connection() (bool, uint64)        { return false, 0 }
func (f fake) LastStates() map[string]time.Time  { return f.last }

// README lists every metric with its type, labels and meaning, and a scrape of
// a service on which everything happened has those and no others.
func TestMetricsAreDocumented(t *testing.T) {
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	row := regexp.MustCompile("(?m)^\\| `(yardmaster_[a-z_]+)` \\| ([a-z]+) \\| ([a-z`, ]*) \\| (.*) \\|$")
	var got, want []string
	for _, m := range row.FindAllSubmatch(readme, -1) {
		got = append(got, fmt.Sprintf("%s | %s | %s | %s", m[1], m[2], m[3], m[4]))
	}
	for _, m := range ops.Metrics() {
		labels := ""
		if len(m.Labels) > 0 {
			labels = "`" + strings.Join(m.Labels, "`, `") + "`"
		}
		want = append(want, fmt.Sprintf("%s | %s | %s | %s", m.Name, m.Type, labels, m.Help))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("table of metrics in serve/README.md (-want +got):\n%s", diff)
	}

	one := map[string]int64{"x": 1}
	e := open(t, ops.Config{Service: fake{
		stats: serve.Stats{Refused: one, BySource: one, Fallbacks: one, Failures: map[string]int64{"lp/late": 1}, ConfigurerFailures: one, PublishErrorsBy: one, Programs: one, Guards: []guard.Status{{Cluster: "c1", Novelty: 0.5, Compared: 1}}, Models: serve.ModelStats{Loads: one}},
		last:  map[string]time.Time{"c1": time.Now()},
	}})
	families := scrape(t, e)
	names := func(yield func(string) bool) {
		for name := range maps.Keys(families) {
			if strings.HasPrefix(name, "yardmaster_") && !yield(name) {
				return
			}
		}
	}
	var documented []string
	for _, m := range ops.Metrics() {
		documented = append(documented, m.Name)
		f := families[m.Name]
		if f == nil {
			continue // shown by the comparison below
		}
		if f.GetHelp() != m.Help || strings.ToLower(f.GetType().String()) != m.Type {
			t.Errorf("%s: scraped as %v %q, want %s %q", m.Name, f.GetType(), f.GetHelp(), m.Type, m.Help)
		}
		if (m.Type == "counter") != strings.HasSuffix(m.Name, "_total") {
			t.Errorf("%s is a %s: counters, and only they, end in _total", m.Name, m.Type)
		}
	}
	slices.Sort(documented)
	if diff := cmp.Diff(documented, slices.Sorted(names)); diff != "" {
		t.Errorf("scraped metrics (-documented +got):\n%s", diff)
	}
	if families["go_goroutines"] == nil || families["process_resident_memory_bytes"] == nil {
		t.Error("metrics of the runtime or the process are missing")
	}
}

// A thousand clusters are a hundred labels and one, whatever they are called.
func TestClusterLabelsAreBounded(t *testing.T) {
	last := map[string]time.Time{"other": time.Now()}
	for i := range 1000 {
		last[fmt.Sprintf("c%03d", i)] = time.Now().Add(-time.Duration(i) * time.Hour)
	}
	families := scrape(t, open(t, ops.Config{Service: fake{last: last}}))
	if n := len(families["yardmaster_state_age_seconds"].GetMetric()); n != ops.MaxClusterLabels+1 {
		t.Errorf("got %d series, want %d", n, ops.MaxClusterLabels+1)
	}
	if oldest := value(t, families, "yardmaster_state_age_seconds", ops.Others); oldest < 999*3600 {
		t.Errorf("oldest of the others: got %v s, want 999 h", oldest)
	}
}

func TestReadyListsChecks(t *testing.T) {
	checks := []serve.Check{{Name: "serving"}, {Name: "nats", Err: errors.New("disconnected for 9s")}}
	e := open(t, ops.Config{Service: fake{checks: checks}})
	for path, want := range map[string]string{
		"/readyz":          "[-]nats: disconnected for 9s\nnot ready\n",
		"/readyz?verbose":  "[+]serving ok\n[-]nats: disconnected for 9s\nnot ready\n",
		"/v2/health/ready": "{\"live\":false}\n",
	} {
		if code, body := get(t, e.URL()+path); code != http.StatusServiceUnavailable || body != want {
			t.Errorf("%s: got %d %q, want 503 %q", path, code, body, want)
		}
	}
	for path, want := range map[string]string{"/healthz": "ok\n", "/v2/health/live": "{\"live\":true}\n"} {
		if code, body := get(t, e.URL()+path); code != http.StatusOK || body != want {
			t.Errorf("%s: got %d %q, want 200: it is alive", path, code, body)
		}
	}
	if r, err := http.Post(e.URL()+"/healthz", "text/plain", nil); err != nil || r.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("POST: got %v, %v, want 405", r, err)
	} else {
		r.Body.Close()
	}
}

// Broker gone: not ready after a while, alive all the time, ready again when it
// is back. Draining: not ready.
func TestReadyFollowsTheBroker(t *testing.T) {
	first, err := broker.Start(broker.Config{StoreDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	s, _ := running(t, serve.Config{URL: first.URL(), UnreadyAfter: time.Millisecond})
	e := open(t, ops.Config{Service: s})
	await := func(want int, text string) {
		t.Helper()
		var code int
		var body string
		for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
			if code, body = get(t, e.URL()+"/readyz?verbose"); code == want && strings.Contains(body, text) {
				if live, _ := get(t, e.URL()+"/healthz"); live != http.StatusOK {
					t.Errorf("/healthz: got %d, want 200", live)
				}
				return
			}
		}
		t.Fatalf("/readyz: got %d %q, want %d with %q", code, body, want, text)
	}
	await(http.StatusOK, "[+]nats ok")
	port := 0
	if _, err := fmt.Sscanf(first.URL()[strings.LastIndexByte(first.URL(), ':'):], ":%d", &port); err != nil {
		t.Fatal(err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	await(http.StatusServiceUnavailable, "[-]nats: disconnected")
	second, err := broker.Start(broker.Config{StoreDir: t.TempDir(), Port: port})
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	await(http.StatusOK, "[+]stream ok")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	await(http.StatusServiceUnavailable, "[-]serving: draining")
}

func TestProfiles(t *testing.T) {
	without, with := open(t, ops.Config{Service: fake{}}), open(t, ops.Config{Service: fake{}, Pprof: true})
	if code, _ := get(t, without.URL()+"/debug/pprof/"); code != http.StatusNotFound {
		t.Errorf("without Pprof: got %d, want 404", code)
	}
	if code, body := get(t, with.URL()+"/debug/pprof/goroutine?debug=1"); code != http.StatusOK || !strings.Contains(body, "goroutine profile") {
		t.Errorf("with Pprof: got %d %.80q", code, body)
	}
}

func TestStartRefuses(t *testing.T) {
	taken := open(t, ops.Config{Service: fake{}})
	for _, test := range []struct {
		cfg  ops.Config
		want string
	}{
		{ops.Config{Service: fake{}, Addr: "8088"}, "host:port"},
		{ops.Config{Addr: "127.0.0.1:0"}, "Service"},
		{ops.Config{Service: fake{}, Addr: "0.0.0.0:0", Pprof: true}, "loopback"},
		{ops.Config{Service: fake{}, Addr: ":0", Pprof: true}, "loopback"},
		{ops.Config{Service: fake{}, Addr: strings.TrimPrefix(taken.URL(), "http://")}, strings.TrimPrefix(taken.URL(), "http://")},
	} {
		if e, err := ops.Start(test.cfg); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%q: got %v, want an error with %q", test.cfg.Addr, err, test.want)
			if e != nil {
				e.Close()
			}
		}
	}
}

// FuzzRequest checks that no request makes the endpoint panic, answers to a
// method that could change something, or shows profiles that are switched off.
// Only evaluating a network is a POST.
func FuzzRequest(f *testing.F) {
	p := nn.NewParams(nn.Dims{Candidate: 2, Global: 1, Hidden: 2, Value: 2})
	m := models.New(models.JobStrategy, models.Encoder{}, p)
	served := func() []inference.Served { return []inference.Served{{Name: "m", Version: "1.0.0", Model: m}} }
	h := ops.Handler(ops.Config{Service: fake{}, Models: served})
	f.Add("GET", "/readyz?verbose", "gzip", "")
	f.Add("POST", "/metrics", "", "x")
	f.Add("GET", "/debug/pprof/../pprof/heap", "identity;q=0", "")
	f.Add("HEAD", "//healthz", "", "")
	f.Add("GET", "/", "", "")
	f.Add("GET", "/status", "", "")
	f.Add("GET", "/v2/models/m/versions/1.0.0/ready", "", "")
	f.Add("POST", "/v2/models/m/infer", "", `{"inputs":[{"name":"mask","shape":[1],"datatype":"BOOL","data":[true]},{"name":"global","shape":[1],"datatype":"FP32","data":[0]},{"name":"candidates","shape":[1,2],"datatype":"FP32","data":[1,2]}]}`)
	f.Fuzz(func(t *testing.T, method, target, encoding, body string) {
		u, err := url.ParseRequestURI(target)
		if err != nil || !strings.HasPrefix(target, "/") {
			return
		}
		w := httptest.NewRecorder()
		r := &http.Request{Method: method, URL: u, Host: "x", Proto: "HTTP/1.1", Header: http.Header{"Accept-Encoding": {encoding}}, Body: io.NopCloser(strings.NewReader(body))}
		h.ServeHTTP(w, r.WithContext(t.Context()))
		if w.Code == http.StatusOK && method != http.MethodGet && method != http.MethodHead && !(method == http.MethodPost && strings.HasSuffix(u.Path, "/infer")) {
			t.Errorf("%q %q: got 200", method, target)
		}
		if w.Code == http.StatusOK && strings.HasPrefix(u.Path, "/debug") {
			t.Errorf("%q %q: got 200 without profiles", method, target)
		}
	})
}

// Beyond the bound of labels the highest of the others stands for all of them.
func TestGuardMetrics(t *testing.T) {
	var guards []guard.Status
	for i := range ops.MaxClusterLabels + 3 {
		guards = append(guards, guard.Status{Cluster: fmt.Sprintf("c%03d", i), Novelty: float64(i % 100), Unfamiliar: i%2 == 0, Regret: -0.5, Compared: i % 2, BreakerOpen: i == 7, Helped: i / 102})
	}
	guards[5].Novelty = -1
	families := scrape(t, open(t, ops.Config{Service: fake{stats: serve.Stats{Guards: guards, Programs: map[string]int64{"stopped": 3}, ProgramGap: 0.25}}}))
	if n := len(families["yardmaster_policy_ood_score"].GetMetric()); n != ops.MaxClusterLabels+1 {
		t.Errorf("got %d scores, want %d", n, ops.MaxClusterLabels+1)
	}
	for _, want := range []struct {
		value  float64
		name   string
		labels []string
	}{
		{3, "yardmaster_policy_ood_score", []string{"c003"}},
		{2, "yardmaster_policy_ood_score", []string{ops.Others}},
		{-0.5, "yardmaster_regret_ratio", []string{"c001"}},
		{52, "yardmaster_guard_active", []string{"ood"}},
		{1, "yardmaster_guard_active", []string{"breaker"}},
		{1, "yardmaster_guard_active", []string{"starving"}},
		{0, "yardmaster_guard_active", []string{"regret"}},
		{3, "yardmaster_lp_status_total", []string{"stopped"}},
		{0.25, "yardmaster_lp_gap_ratio", nil},
	} {
		if got := value(t, families, want.name, want.labels...); got != want.value {
			t.Errorf("%s %v: got %v, want %v", want.name, want.labels, got, want.value)
		}
	}
}
