package synth

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/yardmaster/yardmaster/env/strictyaml"
)

// MaxModelSize is the most bytes of a workload file.
const MaxModelSize = 4 << 20

// ReadModel reads a workload file. Unknown keys, aliases and values out of bounds
// are errors that name the field. name is that of the file, for messages.
func ReadModel(r io.Reader, name string) (*Model, error) {
	data, err := io.ReadAll(io.LimitReader(r, MaxModelSize+1))
	if err != nil {
		return nil, fmt.Errorf("synth: read %s: %w", name, err)
	}
	if len(data) > MaxModelSize {
		return nil, fmt.Errorf("synth: %s: more than %d bytes, want a workload file as trace fit writes it", name, MaxModelSize)
	}
	if bytes.HasPrefix(data, []byte("PAR1")) {
		return nil, fmt.Errorf("synth: %s: a Parquet table, want a workload file, which trace fit makes of one", name)
	}
	m, err := parseModel(data)
	if err != nil {
		return nil, fmt.Errorf("synth: %s: %w", name, err)
	}
	if err := m.validate(); err != nil {
		return nil, fmt.Errorf("synth: %s: %w", name, err)
	}
	return m, nil
}

// parseModel reads one YAML document.
func parseModel(data []byte) (*Model, error) {
	m := new(Model)
	if err := strictyaml.Decode(data, m); errors.Is(err, strictyaml.ErrEmpty) {
		return nil, errors.New("empty, want a workload file as trace fit writes it")
	} else if err != nil {
		return nil, err
	}
	return m, nil
}

// header explains a workload file to its reader.
const header = `# A workload: a generative model of a trace, which "yardmaster trace synth --workload"
# draws from. Documented in datasets/synth/README.md. All times are in seconds.
# A distribution is a list of [probability, value], both ascending; between two
# points the logarithm of the value is linear, two points with one value are an atom.
`

// Encode returns m as a workload file. Equal models give equal bytes, and
// [ReadModel] returns an equal model.
func (m *Model) Encode() []byte {
	e := new(encoder)
	e.WriteString(header)
	e.line(0, "version", strconv.Itoa(m.Version))
	e.provenance(&m.Source)
	e.WriteString("clock:\n")
	e.line(1, "resolution_s", number(m.Clock.Resolution))
	e.comment(len(m.Clock.ByHour) > 0, "  # activity of the hours of the day from midnight, and of the weekdays from Monday; 1 on average")
	e.list(1, "by_hour", m.Clock.ByHour)
	e.list(1, "by_weekday", m.Clock.ByWeekday)
	e.WriteString("streams:\n")
	for i := range m.Streams {
		e.stream(&m.Streams[i])
	}
	return e.Bytes()
}

// encoder writes YAML in a form that reads well: lists of numbers on one line.
type encoder struct{ bytes.Buffer }

func (e *encoder) line(indent int, key, value string) {
	if value != "" {
		fmt.Fprintf(e, "%s%s: %s\n", strings.Repeat("  ", indent), key, value)
	}
}

func (e *encoder) comment(shown bool, text string) {
	if shown {
		e.WriteString(text + "\n")
	}
}

func (e *encoder) list(indent int, key string, x []float64) {
	if len(x) > 0 {
		e.line(indent, key, numbers(x))
	}
}

func (e *encoder) provenance(p *Provenance) {
	e.WriteString("source:\n")
	e.line(1, "title", quoted(p.Title))
	e.line(1, "licence", quoted(p.Licence))
	e.line(1, "table_sha256", quoted(p.Table))
	e.line(1, "source_sha256", quoted(p.File))
	e.line(1, "epoch", quoted(p.Epoch))
	e.line(1, "zone", quoted(p.Zone))
	e.line(1, "from", quoted(p.From))
	e.line(1, "to", quoted(p.To))
	if p.Jobs != 0 {
		e.line(1, "jobs", strconv.Itoa(p.Jobs))
	}
	for _, h := range []struct {
		key  string
		days float64
	}{{"arrivals_half_life_days", p.ArrivalsHalfLife}, {"jobs_half_life_days", p.JobsHalfLife}} {
		if h.days != 0 {
			e.line(1, h.key, number(h.days))
		}
	}
}

func (e *encoder) stream(s *Stream) {
	fmt.Fprintf(e, "  - name: %s\n", orEmpty(quoted(s.Name)))
	e.line(2, "steady_for_s", number(s.SteadyFor))
	e.WriteString("    gaps:\n")
	for _, g := range s.Gaps {
		fmt.Fprintf(e, "      - seconds: %s\n", points(g.Seconds))
		if g.Repeat != 0 {
			e.line(4, "repeat", number(g.Repeat))
		}
	}
	e.list(2, "busy_s", s.Busy)
	if len(s.Next) > 0 {
		e.WriteString("    next:\n")
		for _, row := range s.Next {
			fmt.Fprintf(e, "      - %s\n", numbers(row))
		}
	}
	e.WriteString("    kinds:\n")
	for i := range s.Kinds {
		e.kind(&s.Kinds[i])
	}
}

func (e *encoder) kind(k *Kind) {
	fmt.Fprintf(e, "      - share: %s\n", number(k.Share))
	e.line(4, "tenant", quoted(k.Tenant))
	e.line(4, "gpus", strconv.Itoa(int(k.GPUs)))
	e.line(4, "model", quoted(k.Model))
	if k.Batch != 0 {
		e.line(4, "batch", strconv.Itoa(int(k.Batch)))
	}
	e.line(4, "reference_gpu", quoted(k.ReferenceGPU))
	if len(k.Seconds) > 0 {
		e.line(4, "duration_s", points(k.Seconds))
	}
	if len(k.Steps) > 0 {
		e.line(4, "steps", points(k.Steps))
	}
}

func number(x float64) string {
	s := strconv.FormatFloat(x, 'g', -1, 64)
	if x == float64(int64(x)) && x < 1e15 && x > -1e15 {
		s = strconv.FormatInt(int64(x), 10)
	}
	return s
}

func numbers(x []float64) string {
	parts := make([]string, len(x))
	for i, v := range x {
		parts[i] = number(v)
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

func points(q Quantiles) string {
	parts := make([]string, len(q))
	for i, k := range q {
		parts[i] = numbers(k[:])
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

// openBrackets would count as nested, see brackets.
var openBrackets = strings.NewReplacer("[", `\u005b`, "{", `\u007b`)

// quoted returns s as a JSON string, which is one of YAML, or "" for "".
func quoted(s string) string {
	if s == "" {
		return ""
	}
	b, err := json.Marshal(s)
	if err != nil {
		panic("synth: a string has no JSON form: " + err.Error()) // cannot happen
	}
	return openBrackets.Replace(string(b))
}

func orEmpty(s string) string {
	if s == "" {
		return `""`
	}
	return s
}
