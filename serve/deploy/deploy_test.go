// Package deploy_test checks the files that operators copy: each against the
// program it is for, as far as that is here.
package deploy_test

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/yardmaster/yardmaster/serve/ops"
	"github.com/yardmaster/yardmaster/serve/settings"
)

func read(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// library are the metrics of the Go runtime and the process that the files use;
// a test of package ops finds both kinds in a scrape.
var library = []string{"process_resident_memory_bytes", "process_cpu_seconds_total", "go_goroutines"}

var (
	series  = regexp.MustCompile(`\b((?:yardmaster|process|go)_[a-z0-9_]+)(?:\{([^}]*)\})?`)
	matcher = regexp.MustCompile(`([a-z_]+)\s*(?:=~|!=|=)`)
	grouped = regexp.MustCompile(`\bby \(([^)]*)\)`)
)

// known returns the labels of a metric. Histograms have three names.
func known(name string) (labels []string, ok bool) {
	if slices.Contains(library, name) {
		return nil, true
	}
	for _, m := range ops.Metrics() {
		switch {
		case m.Name == name && m.Type != "histogram":
			return m.Labels, true
		case m.Type == "histogram" && name == m.Name+"_bucket":
			return append([]string{"le"}, m.Labels...), true
		case m.Type == "histogram" && (name == m.Name+"_sum" || name == m.Name+"_count"):
			return m.Labels, true
		}
	}
	return nil, false
}

// checkExpr checks that the metrics in a PromQL expression exist and have the
// labels that it asks for.
func checkExpr(t *testing.T, where, expr string) {
	t.Helper()
	found := series.FindAllStringSubmatch(expr, -1)
	if len(found) == 0 {
		t.Errorf("%s: no metric in %s", where, expr)
	}
	all := []string{"instance", "alertname"}
	for _, m := range found {
		labels, ok := known(m[1])
		if !ok {
			t.Errorf("%s: the service has no metric %s", where, m[1])
		}
		labels = append([]string{"instance"}, labels...)
		all = append(all, labels...)
		for _, l := range matcher.FindAllStringSubmatch(m[2], -1) {
			if !slices.Contains(labels, l[1]) {
				t.Errorf("%s: %s has no label %s", where, m[1], l[1])
			}
		}
	}
	for _, m := range grouped.FindAllStringSubmatch(expr, -1) {
		for label := range strings.SplitSeq(m[1], ",") {
			if !slices.Contains(all, strings.TrimSpace(label)) {
				t.Errorf("%s: grouped by %s, which no metric in %s has", where, label, expr)
			}
		}
	}
}

type rules struct {
	Groups []struct {
		Name  string
		Rules []struct {
			Alert, Expr, For    string
			Labels, Annotations map[string]string
		}
	}
}

func TestAlerts(t *testing.T) {
	var r rules
	if err := yaml.UnmarshalWithOptions([]byte(read(t, "alerts.yaml")), &r, yaml.Strict()); err != nil {
		t.Fatal(err)
	}
	tests := read(t, "alerts_test.yaml")
	seen := map[string]bool{}
	for _, group := range r.Groups {
		for _, rule := range group.Rules {
			if !strings.HasPrefix(rule.Alert, "Yardmaster") || seen[rule.Alert] {
				t.Errorf("%s: want a name of its own that begins with Yardmaster", rule.Alert)
			}
			seen[rule.Alert] = true
			checkExpr(t, rule.Alert, rule.Expr)
			if s := rule.Labels["severity"]; s != "page" && s != "ticket" {
				t.Errorf("%s: severity is %q, want page or ticket", rule.Alert, s)
			}
			if rule.Annotations["summary"] == "" {
				t.Errorf("%s: no summary", rule.Alert)
			}
			// Quiet while all is well, and firing in some other case.
			if n := strings.Count(tests, rule.Alert+"}") + strings.Count(tests, rule.Alert+`"}`) + strings.Count(tests, "alertname: "+rule.Alert+"\n"); n < 2 {
				t.Errorf("%s: alerts_test.yaml has it %d times, want it quiet and firing", rule.Alert, n)
			}
		}
	}
	if len(seen) < 10 {
		t.Errorf("got %d alerts", len(seen))
	}
	checkExpr(t, "alerts_test.yaml", strings.Join(series.FindAllString(tests, -1), " + "))
	t.Run("promtool", func(t *testing.T) {
		tool, err := exec.LookPath("promtool")
		if err != nil {
			t.Skip("no promtool here: names and labels were checked above, what the alerts find was not")
		}
		for _, args := range [][]string{{"check", "rules", "alerts.yaml"}, {"test", "rules", "alerts_test.yaml"}} {
			if out, err := exec.Command(tool, args...).CombinedOutput(); err != nil {
				t.Errorf("promtool %v: %v: %s", args, err, out)
			}
		}
	})
}

type dashboard struct {
	UID        string
	Templating struct{ List []struct{ Name string } }
	Panels     []struct {
		ID      int
		Type    string
		Title   string
		GridPos struct{ X, Y, W, H int }
		Targets []struct{ Expr, RefID string }
	}
}

func TestDashboard(t *testing.T) {
	var d dashboard
	if err := json.Unmarshal([]byte(read(t, "dashboard.json")), &d); err != nil {
		t.Fatal(err)
	}
	ids := map[int]bool{}
	type cell struct{ x, y int }
	taken := map[cell]string{}
	for _, p := range d.Panels {
		if ids[p.ID] || p.Title == "" || len(p.Targets) == 0 {
			t.Errorf("panel %d %q: want an id of its own, a title and a query", p.ID, p.Title)
		}
		ids[p.ID] = true
		for _, target := range p.Targets {
			expr := regexp.MustCompile(`\$__(rate_interval|range)`).ReplaceAllString(target.Expr, "5m")
			checkExpr(t, p.Title, expr)
			if strings.Count(expr, "(") != strings.Count(expr, ")") {
				t.Errorf("%s: brackets of %s", p.Title, expr)
			}
		}
		g := p.GridPos
		if g.X < 0 || g.W < 1 || g.X+g.W > 24 || g.H < 1 {
			t.Errorf("%s: lies outside of the grid: %+v", p.Title, g)
		}
		for x := g.X; x < g.X+g.W; x++ {
			for y := g.Y; y < g.Y+g.H; y++ {
				if other := taken[cell{x, y}]; other != "" {
					t.Fatalf("%s and %s overlap", p.Title, other)
				}
				taken[cell{x, y}] = p.Title
			}
		}
	}
	if d.UID == "" || len(d.Panels) < 10 || len(d.Templating.List) != 2 {
		t.Errorf("got uid %q, %d panels and %d variables", d.UID, len(d.Panels), len(d.Templating.List))
	}
}

// settingsOf checks the assignments YM_…=value in a text as serve would read
// them.
func settingsOf(t *testing.T, text string) *settings.Resolved {
	t.Helper()
	env := regexp.MustCompile(`\bYM_[A-Z_]+=[^\s"]+`).FindAllString(text, -1)
	r, err := settings.Load(settings.Input{Env: env})
	if err != nil {
		t.Fatal(err)
	}
	if len(env) == 0 || len(r.Notes) > 0 {
		t.Errorf("got %v: %v", env, r.Notes)
	}
	return r
}

// directives returns the assignments of a unit, by section and name.
func directives(t *testing.T, text string) map[string][]string {
	t.Helper()
	all := map[string][]string{}
	section := ""
	for lines := bufio.NewScanner(strings.NewReader(text)); lines.Scan(); {
		line := strings.TrimSpace(lines.Text())
		switch name, value, ok := strings.Cut(line, "="); {
		case line == "" || line[0] == '#':
		case line[0] == '[':
			section = strings.Trim(line, "[]")
		case !ok:
			t.Errorf("%q is no assignment", line)
		default:
			all[section+"."+name] = append(all[section+"."+name], value)
		}
	}
	return all
}

func TestUnit(t *testing.T) {
	text := read(t, "yardmaster.service")
	d := directives(t, text)
	for name, want := range map[string]string{
		"Type": "notify", "Restart": "on-failure", "NoNewPrivileges": "yes", "ProtectSystem": "strict", "PrivateTmp": "yes", "CapabilityBoundingSet": "",
		"UMask": "0077", "StateDirectory": "yardmaster", "DynamicUser": "yes", "WatchdogSec": "30s", "TimeoutStopSec": "60s", "ExecReload": "/bin/kill -HUP $MAINPID",
	} {
		if got := d["Service."+name]; len(got) != 1 || got[0] != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if got := d["Service.SystemCallFilter"]; !slices.Equal(got, []string{"@system-service", "~@privileged @resources"}) {
		t.Errorf("SystemCallFilter is %q", got)
	}
	r := settingsOf(t, strings.Join(d["Service.Environment"], " "))
	if r.Config.Run != "/var/lib/yardmaster/run" {
		t.Errorf("the run is %s, which is not in the state directory", r.Config.Run)
	}
	t.Run("systemd-analyze", func(t *testing.T) {
		tool, err := exec.LookPath("systemd-analyze")
		if err != nil {
			t.Skip("no systemd here: the directives above were checked, their grammar was not")
		}
		self, err := os.Executable() // the program has to exist
		if err != nil {
			t.Fatal(err)
		}
		unit := filepath.Join(t.TempDir(), "yardmaster.service")
		if err := os.WriteFile(unit, []byte(strings.ReplaceAll(text, "/usr/local/bin/yardmaster", self)), 0o600); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command(tool, "verify", unit).CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("verify: %v: %s", err, out)
		}
	})
}

// The image is small, static and not root, and asks itself how it is.
func TestDockerfile(t *testing.T) {
	text := read(t, "Dockerfile")
	module := read(t, "../../go.mod")
	stages := regexp.MustCompile(`(?m)^FROM (\S+)`).FindAllStringSubmatch(text, -1)
	version := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindStringSubmatch(module)
	if len(stages) != 2 || stages[0][1] != "golang:"+version[1] || stages[1][1] != "scratch" {
		t.Errorf("got stages %v, want golang:%s and scratch", stages, version[1])
	}
	for _, want := range []string{
		"CGO_ENABLED=0 go build -trimpath", "\nUSER 65532:65532\n", "\nSTOPSIGNAL SIGTERM\n", `CMD ["/usr/local/bin/yardmaster", "healthcheck"]`,
		`ENTRYPOINT ["/usr/local/bin/yardmaster"]`, `CMD ["serve"]`, "ca-certificates.crt",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the Dockerfile has no %q", want)
		}
	}
	if strings.Contains(text, "\nADD ") || strings.Contains(text, ":latest") {
		t.Error("the Dockerfile fetches what it does not name")
	}
	known := regexp.MustCompile(`^(#.*|\s.*| && .*|(FROM|WORKDIR|COPY|RUN|USER|VOLUME|ENV|EXPOSE|STOPSIGNAL|HEALTHCHECK|ENTRYPOINT|CMD) .*|)$`)
	for line := range strings.SplitSeq(text, "\n") {
		if !known.MatchString(line) {
			t.Errorf("unknown instruction: %s", line)
		}
	}
	settingsOf(t, regexp.MustCompile(`(?m)^ENV .*$`).FindString(text))
	for _, path := range regexp.MustCompile(`(?m)^COPY (?:--\S+ )*([^\n]+)`).FindAllStringSubmatch(text, -1) {
		fields := strings.Fields(path[1])
		for _, source := range fields[:len(fields)-1] {
			if !filepath.IsAbs(source) {
				if _, err := os.Stat(filepath.Join("../..", source)); err != nil {
					t.Errorf("COPY: %v", err)
				}
			}
		}
	}
}
