package wire

import (
	"bytes"
	"encoding/json"
	"runtime"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// Where a value ends is where the decoder of encoding/json ends it, and what that
// refuses is refused. So is what no message can go on with, which that leaves to others.
func TestSkipValue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[ \n]?([\[\]{}":,1-]|\\"|\\\\|true|null|1e5|"a"|\{"a":\[1, "\\"\]"\]\}| ){0,12}[,}\] ]?`).Draw(t, "text")
		s := scanner{data: []byte(text)}
		err := s.skipValue()
		d := json.NewDecoder(strings.NewReader(text))
		var value json.RawMessage
		want := d.Decode(&value)
		rest := text[d.InputOffset():]
		goesOn := rest == "" || strings.ContainsRune(",]} \n", rune(rest[0]))
		if want == nil && s.pos != int(d.InputOffset()) && (goesOn || err == nil) {
			t.Fatalf("%q: got %d, %v, want %d", text, s.pos, err, d.InputOffset())
		}
		if want != nil && err == nil {
			t.Fatalf("%q: skipped to %d, the decoder says %v", text, s.pos, want)
		}
	})
}

// A message that is small while compressed may be large: what it holds is passed over
// where it is.
func TestSkippingTakesNoMemory(t *testing.T) {
	const size = 32 << 20
	message := slices.Concat([]byte(`{"x":"`), bytes.Repeat([]byte("a"), size), []byte(`"}`))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	v := Inspect(message)
	runtime.ReadMemStats(&after)
	if v.Valid || len(v.Faults) == 0 {
		t.Errorf("got %+v, want faults", v)
	}
	if took := after.TotalAlloc - before.TotalAlloc; took > size/8 {
		t.Errorf("Inspect allocated %d bytes for a message of %d", took, size)
	}
}
