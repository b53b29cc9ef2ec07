package ops_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/yardmaster/yardmaster/serve"
	"github.com/yardmaster/yardmaster/serve/ops"
)

// With a token, everything but the word of a probe needs it.
func TestToken(t *testing.T) {
	checks := []serve.Check{{Name: "nats", Err: errors.New("nats://secret.host:4222 is away")}}
	h := ops.Handler(ops.Config{Service: fake{checks: checks}, Token: "t0ken"})
	ask := func(method, path string, authorize func(*http.Request)) *httptest.ResponseRecorder {
		r := httptest.NewRequest(method, path, nil)
		authorize(r)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w
	}
	nobody := func(*http.Request) {}
	bearer := func(token string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+token) }
	}
	basic := func(r *http.Request) { r.SetBasicAuth("anybody", "t0ken") }
	for _, path := range []string{"/", "/status", "/metrics", "/page.js", "/v2", "/debug/pprof/", "/readyz/../metrics"} {
		for name, who := range map[string]func(*http.Request){"nobody": nobody, "wrong": bearer("t0keN"), "empty": bearer(""), "prefix": bearer("t0k"), "basic": func(r *http.Request) { r.SetBasicAuth("t0ken", "") }} {
			if w := ask("GET", path, who); w.Code != http.StatusUnauthorized || !strings.HasPrefix(w.Header().Get("WWW-Authenticate"), "Basic ") {
				t.Errorf("%s, %s: got %d, want 401", path, name, w.Code)
			}
		}
	}
	for _, who := range []func(*http.Request){bearer("t0ken"), basic} {
		for _, path := range []string{"/", "/status", "/metrics"} {
			if w := ask("GET", path, who); w.Code != http.StatusOK {
				t.Errorf("%s with the token: got %d", path, w.Code)
			}
		}
		if w := ask("GET", "/readyz?verbose", who); !strings.Contains(w.Body.String(), "secret.host") {
			t.Errorf("/readyz with the token: got %s", w.Body)
		}
	}
	for path, want := range map[string]string{"/healthz": "ok\n", "/readyz?verbose": "not ready\n", "/v2/health/live": "{\"live\":true}\n", "/v2/health/ready": "{\"live\":false}\n"} {
		if w := ask("GET", path, nobody); w.Body.String() != want {
			t.Errorf("%s without a token: got %d %q, want %q", path, w.Code, w.Body, want)
		}
	}
	if w := ask("POST", "/healthz", nobody); w.Code != http.StatusUnauthorized {
		t.Errorf("POST: got %d, want 401", w.Code)
	}
}
