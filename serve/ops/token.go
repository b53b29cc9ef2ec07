package ops

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"strings"
)

// open are the paths that need no token: they say one word each.
var open = map[string]bool{"/healthz": true, "/readyz": true, "/v2/health/live": true, "/v2/health/ready": true}

// guarded asks for the token, as a bearer token or, for browsers, as the password
// of anybody. Probes need none, but then say no reasons.
func guarded(token string, next http.Handler) http.Handler {
	if token == "" {
		return next
	}
	want := sha256.Sum256([]byte(token)) // of one length, whatever is offered
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, offered, basic := r.BasicAuth()
		if !basic {
			offered, _ = strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		}
		got := sha256.Sum256([]byte(offered))
		switch {
		case subtle.ConstantTimeCompare(got[:], want[:]) == 1:
			next.ServeHTTP(w, r)
		case open[r.URL.Path] && (r.Method == http.MethodGet || r.Method == http.MethodHead):
			next.ServeHTTP(terse{w, r.URL.Path == "/readyz"}, r)
		default:
			w.Header().Set("WWW-Authenticate", `Basic realm="yardmaster", charset="UTF-8"`)
			http.Error(w, "a token is needed: Authorization: Bearer …, or any name with the token as password", http.StatusUnauthorized)
		}
	})
}

// terse keeps the reasons of /readyz from those without a token: they name hosts
// and subjects.
type terse struct {
	http.ResponseWriter
	hide bool
}

// Write implements http.ResponseWriter.
func (t terse) Write(text []byte) (int, error) {
	if !t.hide {
		return t.ResponseWriter.Write(text)
	}
	lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	_, err := t.ResponseWriter.Write([]byte(lines[len(lines)-1] + "\n"))
	return len(text), err
}
