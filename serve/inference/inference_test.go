package inference_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/yardmaster/yardmaster/models"
	"github.com/yardmaster/yardmaster/models/nn"
	"github.com/yardmaster/yardmaster/serve/inference"
)

var dims = nn.Dims{Candidate: 3, Global: 2, Hidden: 5, Value: 4}

func network(seed uint64) *models.Model {
	p := nn.NewParams(dims)
	r := rand.New(rand.NewPCG(seed, 1))
	for i := range p.Flat {
		p.Flat[i] = float32(r.NormFloat64())
	}
	return models.New(models.JobStrategy, models.Encoder{}, p)
}

func server(served ...inference.Served) http.Handler {
	mux := http.NewServeMux()
	inference.New(func() []inference.Served { return served }, "1.2.3").Register(mux)
	return mux
}

func do(h http.Handler, method, path, body string) (int, string) {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(method, path, strings.NewReader(body)))
	return w.Code, w.Body.String()
}

const good = `{"id":"42","inputs":[
 {"name":"global","shape":[2],"datatype":"FP32","data":[0.5,-1]},
 {"name":"candidates","shape":[2,3],"datatype":"FP32","data":[1,2,3,4e-1,5,6]},
 {"name":"mask","shape":[2],"datatype":"BOOL","data":[true,false]}]}`

func TestMetadata(t *testing.T) {
	h := server(inference.Served{Name: "demo", Version: "2.0.0", Model: network(1)}, inference.Served{Name: "demo", Version: "1.0.0", Model: network(2)})
	for path, want := range map[string]string{
		"/v2":                                    `{"name":"yardmaster","version":"1.2.3","extensions":[]}`,
		"/v2/models/demo/ready":                  `{"name":"demo","ready":true}`,
		"/v2/models/demo/versions/1.0.0/ready":   `{"name":"demo","ready":true}`,
		"/v2/models/demo/versions/3.0.0/ready":   `{"error":"no model \"demo\" of version \"3.0.0\", there are [\"demo\"]"}`,
		"/v2/models/other":                       `{"error":"no model \"other\" of version \"\", there are [\"demo\"]"}`,
		"/v2/models/demo":                        `{"name":"demo","versions":["2.0.0","1.0.0"],"platform":"yardmaster_safetensors","inputs":[{"name":"global","datatype":"FP32","shape":[2]},{"name":"candidates","datatype":"FP32","shape":[-1,3]},{"name":"mask","datatype":"BOOL","shape":[-1]}],"outputs":[{"name":"scores","datatype":"FP32","shape":[-1]},{"name":"value","datatype":"FP32","shape":[1]}]}`,
		"/v2/models/demo/versions/1.0.0%2Fready": `{"error":"no model \"demo\" of version \"1.0.0/ready\", there are [\"demo\"]"}`,
	} {
		code, body := do(h, "GET", path, "")
		if want += "\n"; body != want || (code == http.StatusOK) == strings.Contains(want, "error") {
			t.Errorf("%s: got %d %s, want %s", path, code, body, want)
		}
	}
	if code, _ := do(h, "GET", "/v2/models/demo/infer", ""); code != http.StatusMethodNotAllowed {
		t.Errorf("GET infer: got %d, want 405", code)
	}
}

type answer struct {
	Model   string `json:"model_name"`
	Version string `json:"model_version"`
	ID      *string
	Outputs []struct {
		Name, Datatype string
		Shape          []int
		Data           []float32
	}
}

// The answer is what the network itself comes to, of the version that was asked.
func TestInfer(t *testing.T) {
	one, two := network(1), network(2)
	h := server(inference.Served{Name: "demo", Version: "2.0.0", Model: two}, inference.Served{Name: "demo", Version: "1.0.0", Model: one})
	for path, m := range map[string]*models.Model{"/v2/models/demo/infer": two, "/v2/models/demo/versions/1.0.0/infer": one} {
		var scratch nn.Scratch
		global, candidates, mask := []float32{0.5, -1}, []float32{1, 2, 3, 0.4, 5, 6}, []bool{true, false}
		scores := make([]float32, 2)
		nn.NewScorer(m.Params).Score(scores, global, candidates, mask, &scratch)
		value := nn.NewCritic(m.Params).Value(global, candidates, mask, &scratch)
		code, body := do(h, "POST", path, good)
		var a answer
		if err := json.Unmarshal([]byte(body), &a); err != nil || code != http.StatusOK {
			t.Fatalf("got %d %s", code, body)
		}
		if a.Model != "demo" || a.ID == nil || *a.ID != "42" || (a.Version == "2.0.0") != (m == two) {
			t.Errorf("got %s", body)
		}
		if len(a.Outputs) != 2 || !cmp.Equal(a.Outputs[0].Data, scores) || !cmp.Equal(a.Outputs[1].Data, []float32{value}) || !cmp.Equal(a.Outputs[0].Shape, []int{2}) {
			t.Errorf("%s: got %s, want scores %v and value %v", path, body, scores, value)
		}
	}
	_, body := do(h, "POST", "/v2/models/demo/infer", strings.Replace(good, `{"id":"42",`, `{"outputs":[{"name":"value"}],`, 1))
	if !strings.Contains(body, `"outputs":[{"name":"value"`) || strings.Contains(body, "scores") || strings.Contains(body, `"id"`) {
		t.Errorf("value alone: got %s", body)
	}
}

// nested writes elements as arrays in arrays of this shape, with some white
// space.
func nested(elements []string, shape []int) string {
	if len(shape) == 1 {
		return "[ " + strings.Join(elements, " ,\n") + "]"
	}
	step := len(elements) / max(shape[0], 1)
	var rows []string
	for i := range shape[0] {
		rows = append(rows, nested(elements[i*step:(i+1)*step], shape[1:]))
	}
	return "[" + strings.Join(rows, ",") + "]"
}

// Flat and nested data are the same.
func TestNestedData(t *testing.T) {
	h := server(inference.Served{Name: "m", Model: network(1)})
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 9).Draw(t, "candidates")
		var elements, mask []string
		for range n * dims.Candidate {
			elements = append(elements, fmt.Sprint(rapid.Float32Range(-9, 9).Draw(t, "feature")))
		}
		for range n {
			mask = append(mask, fmt.Sprint(rapid.Bool().Draw(t, "legal")))
		}
		mask[0] = "true"
		body := func(data string) string {
			return fmt.Sprintf(`{"inputs":[{"name":"mask","shape":[%d],"datatype":"BOOL","data":[%s]},{"name":"global","shape":[2],"datatype":"FP32","data":[0,1]},{"data":%s,"name":"candidates","shape":[%d,3],"datatype":"FP32"}]}`,
				n, strings.Join(mask, ","), data, n)
		}
		code, flat := do(h, "POST", "/v2/models/m/infer", body("["+strings.Join(elements, ",")+"]"))
		deep, other := do(h, "POST", "/v2/models/m/infer", body(nested(elements, []int{n, 3})))
		if code != http.StatusOK || deep != code || flat != other {
			t.Errorf("got %d %s and %d %s", code, flat, deep, other)
		}
	})
}

func TestRefusals(t *testing.T) {
	h := server(inference.Served{Name: "m", Model: network(1)})
	replaced := func(old, with string) string {
		if !strings.Contains(good, old) {
			t.Fatalf("%q is not in the good request", old)
		}
		return strings.Replace(good, old, with, 1)
	}
	for _, test := range []struct{ body, want string }{
		{"", "ends in the middle"},
		{"{", "ends in the middle"},
		{"[]", "no object"},
		{"nonsense", "not JSON"},
		{good + "{}", "text after"},
		{`{"inputs":[]}`, "input mask is missing"},
		{replaced(`"id":"42"`, `"id":42`), "id is no text"},
		{replaced(`"id":"42"`, `"id":"1","id":"2"`), `\"id\" twice`},
		{replaced(`"id"`, `"ID"`), "unknown field"},
		{replaced(`"id":"42"`, `"parameters":{"a":1}`), "not supported"},
		{replaced(`"global"`, `"mask"`), "given twice"},
		{replaced(`"global"`, `"x"`), "want global, candidates or mask"},
		{replaced(`[0.5,-1]`, `[0.5]`), "array of 1, want 2"},
		{replaced(`[0.5,-1]`, `[0.5,-1,2]`), "more than 2"},
		{replaced(`[0.5,-1]`, `[0.5,1e39]`), "finite number"},
		{replaced(`[0.5,-1]`, `[0.5,null]`), "finite number"},
		{replaced(`[0.5,-1]`, `[0.5,"1"]`), "finite number"},
		{replaced(`[0.5,-1]`, `[0.5,{"a":[1]}]`), "finite number"},
		{replaced(`[0.5,-1]`, `{"a":1}`), "want an array"},
		{replaced(`,"data":[0.5,-1]`, ``), "want an array"},
		{replaced(`[0.5,-1]`, `[[0.5,-1]]`), "finite number"},
		{replaced(`[1,2,3,4e-1,5,6]`, `[[1,2,3],[4,5]]`), "array of 2, want 3"},
		{replaced(`[1,2,3,4e-1,5,6]`, `[[1,2,3],4,5,6]`), "array of 3 is due"},
		{replaced(`[1,2,3,4e-1,5,6]`, `[[[1,2,3]],[[4,5,6]]]`), "finite number"},
		{replaced(`[2,3]`, `[3,2]`), "shape [3 2], want [2 3]"},
		{replaced(`[2,3]`, `[-1,3]`), "no shape"},
		{replaced(`[2,3]`, `[2.5,3]`), "no shape"},
		{replaced(`[2,3]`, `[1,1,1,1,6]`), "no shape"},
		{replaced(`[true,false]`, `[false,false]`), "at least one"},
		{replaced(`[true,false]`, `[1,0]`), "want true or false"},
		{replaced(`"BOOL"`, `"FP32"`), "want BOOL"},
		{replaced(`"FP32"`, `"FP64"`), "want FP32"},
		{strings.Replace(replaced(`[2],"datatype":"BOOL"`, `[16000000],"datatype":"BOOL"`), "[2,3]", "[16000000,3]", 1), "at most 262144 candidates"},
		{replaced(`{"id"`, `{"outputs":[{"name":"logits"}],"id"`), "want scores or value"},
		{replaced(`{"id"`, `{"outputs":[{"name":"value"},{"name":"value"}],"id"`), "wanted twice"},
		{`{"inputs":[` + strings.Repeat(`{"name":"mask"},`, 9) + `{}]}`, "given twice"},
		{`{"inputs":` + strings.Repeat("[", 100_000), "no object"},
		{replaced(`[0.5,-1]`, strings.Repeat("[", 100_000)), "not JSON"},
	} {
		code, body := do(h, "POST", "/v2/models/m/infer", test.body)
		var e struct{ Error string }
		if err := json.Unmarshal([]byte(body), &e); err != nil || code != http.StatusBadRequest || !strings.Contains(body, test.want) {
			t.Errorf("%.200s: got %d %s, want 400 with %q", test.body, code, body, test.want)
		}
	}
	if code, body := do(h, "POST", "/v2/models/m/infer", strings.Repeat(" ", inference.MaxBytes+1)); code != http.StatusRequestEntityTooLarge {
		t.Errorf("too large: got %d %s", code, body)
	}
}

// A network that overflows is told from a request that is wrong.
func TestNotFinite(t *testing.T) {
	m := network(1)
	for i := range m.Params.Flat {
		m.Params.Flat[i] = 3e38
	}
	if code, body := do(server(inference.Served{Name: "m", Model: m}), "POST", "/v2/models/m/infer", good); code != http.StatusInternalServerError || !strings.Contains(body, "not finite") {
		t.Errorf("got %d %s", code, body)
	}
}

// slowBody is a request that does not end.
type slowBody struct{ begun, release chan struct{} }

func (b slowBody) Read([]byte) (int, error) {
	b.begun <- struct{}{}
	<-b.release
	return 0, bytes.ErrTooLarge
}

// The largest requests cost a bounded memory: so many times their size, and what
// MaxCandidates come to.
func TestMemoryIsBounded(t *testing.T) {
	h := server(inference.Served{Name: "m", Model: network(1)})
	n := inference.MaxCandidates
	repeat := func(element string, times int) string {
		return "[" + strings.Repeat(element+",", times-1) + element + "]"
	}
	body := fmt.Sprintf(`{"inputs":[{"name":"mask","shape":[%d],"datatype":"BOOL","data":%s},{"name":"global","shape":[2],"datatype":"FP32","data":[0,1]},{"name":"candidates","shape":[%d,3],"datatype":"FP32","data":%s}]}`,
		n, repeat("true", n), n, repeat("0.123456789012", 3*n))
	if len(body) > inference.MaxBytes || len(body) < inference.MaxBytes*3/4 {
		t.Fatalf("the request has %d bytes", len(body))
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	code, answer := do(h, "POST", "/v2/models/m/infer", body)
	runtime.ReadMemStats(&after)
	if code != http.StatusOK {
		t.Fatalf("got %d %.200s", code, answer)
	}
	// All that was ever allocated, also what was given back meanwhile.
	if got := after.TotalAlloc - before.TotalAlloc; got > 10*inference.MaxBytes {
		t.Errorf("allocated %d MiB for %d MiB", got>>20, len(body)>>20)
	}
	t.Logf("%d MiB for %d MiB, the answer has %d MiB", (after.TotalAlloc-before.TotalAlloc)>>20, len(body)>>20, len(answer)>>20)
}

// Requests in work are bounded; one more is told to come again.
func TestBusy(t *testing.T) {
	h := server(inference.Served{Name: "m", Model: network(1)})
	b := slowBody{make(chan struct{}), make(chan struct{})}
	done := make(chan struct{})
	for range inference.MaxInFlight {
		go func() {
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequest("POST", "/v2/models/m/infer", b))
			done <- struct{}{}
		}()
		<-b.begun
	}
	if code, body := do(h, "POST", "/v2/models/m/infer", good); code != http.StatusServiceUnavailable {
		t.Errorf("got %d %s, want 503", code, body)
	}
	close(b.release)
	for range inference.MaxInFlight {
		<-done
	}
	if code, body := do(h, "POST", "/v2/models/m/infer", good); code != http.StatusOK {
		t.Errorf("afterwards: got %d %s", code, body)
	}
}

// FuzzInfer checks that no request makes the handler panic, and that every
// answer is JSON with the outputs or an error.
func FuzzInfer(f *testing.F) {
	f.Add([]byte(good))
	f.Add([]byte(`{"inputs":[{"name":"mask","shape":[1],"datatype":"BOOL","data":[true]}],"outputs":[{"name":"value","parameters":{}}]}`))
	f.Add([]byte(`{"id":"\ud800","parameters":{},"inputs":[{"data":[[[1e-46]]]}]}`))
	h := server(inference.Served{Name: "m", Version: "1.0.0", Model: network(1)})
	f.Fuzz(func(t *testing.T, body []byte) {
		code, got := do(h, "POST", "/v2/models/m/infer", string(body))
		var a struct {
			Error   string
			Outputs []any
		}
		if err := json.Unmarshal([]byte(got), &a); err != nil || (code == http.StatusOK) != (a.Error == "" && a.Outputs != nil) || code >= 500 && !strings.Contains(a.Error, "finite") {
			t.Errorf("got %d %s", code, got)
		}
	})
}
