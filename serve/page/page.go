// Package page is the service's live page: what it decides now, for whom, and
// what goes wrong. It only shows.
//
// The page is rendered here, so it works without scripts; with them it renews
// itself every two seconds. Nothing is loaded from elsewhere, and the browser is
// told to refuse anything that would be: names of clusters and texts of errors
// are the work of others.
package page

import (
	"bytes"
	"embed"
	"encoding/json"
	"html/template"
	"net/http"
	"time"

	"github.com/yardmaster/yardmaster/serve"
)

//go:embed page.html page.css page.js
var files embed.FS

// Policy is the Content-Security-Policy of every answer.
const Policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// maxRendering bounds how many pages are made at once; more are told to come
// again.
const maxRendering = 4

// Service is what the page shows; *serve.Server is one.
type Service interface{ Overview() serve.Overview }

var tmpl = template.Must(template.New("page.html").Funcs(template.FuncMap{
	"ago": ago, "seconds": seconds, "micros": micros, "count": count, "percent": percent, "score": score,
}).ParseFS(files, "page.html"))

// Register adds the page and its parts to mux: /, /page.css, /page.js, and
// /status, which says the same as JSON.
func Register(mux *http.ServeMux, s Service) {
	places := make(chan struct{}, maxRendering)
	limited := func(f http.HandlerFunc) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			harden(w)
			select {
			case places <- struct{}{}:
				defer func() { <-places }()
				f(w, r)
			default:
				w.Header().Set("Retry-After", "1")
				http.Error(w, "too many at once", http.StatusServiceUnavailable)
			}
		}
	}
	mux.HandleFunc("GET /{$}", limited(func(w http.ResponseWriter, _ *http.Request) { show(w, s) }))
	mux.HandleFunc("GET /status", limited(func(w http.ResponseWriter, _ *http.Request) { status(w, s) }))
	mux.HandleFunc("GET /page.css", limited(asset("page.css", "text/css; charset=utf-8")))
	mux.HandleFunc("GET /page.js", limited(asset("page.js", "text/javascript; charset=utf-8")))
}

func harden(w http.ResponseWriter) {
	h := w.Header()
	h.Set("Content-Security-Policy", Policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
}

func show(w http.ResponseWriter, s Service) {
	o := s.Overview()
	var b bytes.Buffer // an error is found before the first byte leaves
	if err := tmpl.Execute(&b, newView(&o)); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write(b.Bytes()) // a reader that went away is its own concern
}

func status(w http.ResponseWriter, s Service) {
	o := s.Overview()
	data, err := json.Marshal(&o)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(append(data, '\n'))
}

func asset(name, kind string) http.HandlerFunc {
	data, err := files.ReadFile(name)
	if err != nil {
		panic(err) // embedded
	}
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", kind)
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(data))
	}
}
