package page

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/yardmaster/yardmaster/serve"
	"github.com/yardmaster/yardmaster/serve/guard"
)

type fixed serve.Overview

func (f fixed) Overview() serve.Overview { return serve.Overview(f) }

func get(t *testing.T, s Service, method, path string) *httptest.ResponseRecorder {
	t.Helper()
	mux := http.NewServeMux()
	Register(mux, s)
	w := httptest.NewRecorder()
	mux.ServeHTTP(w, httptest.NewRequest(method, path, nil))
	return w
}

const evil = `"><script>alert(1)</script><img src=x onerror=alert(2)>' style="x`

// hostile is a service where every text is somebody's attempt.
func hostile() fixed {
	d := serve.Decided{Cluster: evil, ID: evil, At: time.Unix(1e9, 0), Source: evil, Reason: evil, Model: evil, Jobs: 9, Running: 3, Took: 1234}
	counts := map[string]int64{evil: 3, "late": 1}
	return fixed{
		At: time.Unix(1e9+90, 0), Checks: []serve.CheckView{{Name: "nats", Problem: evil}, {Name: evil}},
		Stats: serve.Stats{Version: evil, Model: evil, ID: evil, BySource: counts, Fallbacks: counts, Refused: counts, Leaders: map[string]string{evil: evil}, Models: serve.ModelStats{
			Loaded: []serve.ModelInfo{{Role: evil, Kind: evil, Name: evil, Version: evil, SHA: evil}}, LastError: evil, Mode: evil, Modes: map[string]int64{evil: 1},
		}},
		Clusters: []serve.ClusterView{{ID: evil, Leader: evil, Mode: evil, Last: &d, Guard: &guard.Status{Novelty: 2, Unfamiliar: true, BreakerOpen: true, Helped: 3, Compared: 1}}, {ID: "c2", Age: -1}},
		Recent:   []serve.Decided{d},
		Latency:  []serve.LatencyBucket{{UpTo: 131.072, Count: 3}, {Count: 1}},
	}
}

// Texts of others are shown as texts, and the page asks for nothing from
// elsewhere.
func TestHostileTexts(t *testing.T) {
	w := get(t, hostile(), "GET", "/")
	body := w.Body.String()
	if w.Code != http.StatusOK {
		t.Fatalf("got %d %s", w.Code, body)
	}
	if n := strings.Count(body, "&lt;script&gt;alert(1)"); n < 20 {
		t.Errorf("the text is shown %d times, want it everywhere:\n%s", n, body)
	}
	// Of the markup, without what stands in quotes: text has none unescaped.
	markup := regexp.MustCompile(`"[^"]*"`).ReplaceAllString(body, `""`)
	for _, bad := range []*regexp.Regexp{
		regexp.MustCompile(`<[^>]* on[a-z]+\s*=`), // a handler
		regexp.MustCompile(`<[^>]* style\s*=`),    // the policy forbids it
	} {
		if at := bad.FindString(markup); at != "" {
			t.Errorf("the page has %s", at)
		}
	}
	for _, bad := range []*regexp.Regexp{
		regexp.MustCompile(`<script[^>]*>[^<]`), // a script with a body
		regexp.MustCompile(`<img`),              // an element that is not the page's
		regexp.MustCompile(`(src|href)="[^/]`),  // from elsewhere
		regexp.MustCompile(`(src|href)="//`),
		regexp.MustCompile(`ZgotmplZ`), // the template's mark for what it had to remove
	} {
		if at := bad.FindString(body); at != "" {
			t.Errorf("the page has %s", at)
		}
	}
}

func TestHeaders(t *testing.T) {
	for path, kind := range map[string]string{"/": "text/html; charset=utf-8", "/status": "application/json", "/page.js": "text/javascript; charset=utf-8", "/page.css": "text/css; charset=utf-8"} {
		w := get(t, hostile(), "GET", path)
		h := w.Header()
		if w.Code != http.StatusOK || h.Get("Content-Type") != kind || h.Get("Content-Security-Policy") != Policy || h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Cache-Control") != "no-store" {
			t.Errorf("%s: got %d %v", path, w.Code, h)
		}
		if w := get(t, hostile(), "POST", path); w.Code != http.StatusMethodNotAllowed {
			t.Errorf("POST %s: got %d, want 405", path, w.Code)
		}
	}
	if w := get(t, hostile(), "GET", "/other"); w.Code != http.StatusNotFound {
		t.Errorf("/other: got %d, want 404", w.Code)
	}
}

// The policy forbids what the page's parts would need if they did not keep to
// it.
func TestPartsKeepToThePolicy(t *testing.T) {
	for _, name := range []string{"page.js", "page.css", "page.html"} {
		data, err := files.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, bad := range []string{"http://", "https://", "innerHTML", "eval(", "@import", "url(", "insertAdjacentHTML", "document.write"} {
			if strings.Contains(string(data), bad) {
				t.Errorf("%s has %s", name, bad)
			}
		}
	}
}

// /status is what the page shows, as JSON that reads back.
func TestStatus(t *testing.T) {
	want := hostile()
	var got serve.Overview
	if err := json.Unmarshal(get(t, want, "GET", "/status").Body.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if len(got.Clusters) != 2 || got.Clusters[0].ID != evil || got.Clusters[0].Last.Took != 1234 || got.Checks[0].Problem != evil {
		t.Errorf("got %+v", got)
	}
}

// A page is bounded, whatever there is, and the troubled clusters come first.
func TestManyClusters(t *testing.T) {
	var f fixed
	for i := range 1000 {
		f.Clusters = append(f.Clusters, serve.ClusterView{ID: fmt.Sprintf("c%04d", i), Silent: i == 777, Last: &serve.Decided{Source: "policy"}})
	}
	body := get(t, f, "GET", "/").Body.String()
	if n := strings.Count(body, `<th scope="row">c`); n != maxClusters {
		t.Errorf("got %d clusters, want %d", n, maxClusters)
	}
	if !strings.Contains(body, "c0777") || !strings.Contains(body, "and 900 more") {
		t.Error("the silent cluster is not shown, or the rest is not counted")
	}
}

// A service that was just started has a page.
func TestNothingYet(t *testing.T) {
	if body := get(t, fixed{}, "GET", "/").Body.String(); !strings.Contains(body, "No cluster has sent a state yet") || !strings.Contains(body, "not ready") {
		t.Errorf("got %s", body)
	}
}

// blocked is a service that does not answer.
type blocked struct{ begun, release chan struct{} }

func (b blocked) Overview() serve.Overview {
	b.begun <- struct{}{}
	<-b.release
	return serve.Overview{}
}

func TestBusy(t *testing.T) {
	b := blocked{make(chan struct{}), make(chan struct{})}
	mux := http.NewServeMux()
	Register(mux, b)
	done := make(chan int)
	ask := func() {
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, httptest.NewRequest("GET", "/status", nil))
		done <- w.Code
	}
	for range maxRendering {
		go ask()
		<-b.begun
	}
	go ask()
	if code := <-done; code != http.StatusServiceUnavailable {
		t.Errorf("got %d, want 503", code)
	}
	close(b.release)
	for range maxRendering {
		if code := <-done; code != http.StatusOK {
			t.Errorf("got %d, want 200", code)
		}
	}
}

func TestUnits(t *testing.T) {
	for us, want := range map[float64]string{0: "0 µs", 0.256: "0.26 µs", 131.072: "131 µs", 999.6: "1 ms", 12345: "12.3 ms", 999999: "1 s", 17e6: "17 s", 5e8: "500 s"} {
		if got := micros(us); got != want {
			t.Errorf("micros(%v): got %s, want %s", us, got, want)
		}
	}
	for s, want := range map[float64]string{-1: "–", math.NaN(): "–", 0.04: "0.0 s", 59.9: "59 s", 61: "1 min 1 s", 3661: "1 h 1 min", 90061: "1 d 1 h"} {
		if got := seconds(s); got != want {
			t.Errorf("seconds(%v): got %s, want %s", s, got, want)
		}
	}
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1\u202f000", 1234567: "1\u202f234\u202f567"} {
		if got := count(n); got != want {
			t.Errorf("count(%d): got %s, want %s", n, got, want)
		}
	}
}
