package tensorboard

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/yardmaster/yardmaster/train/runfile"
)

// What follows reads event files from the description of the format and shares
// nothing with the writer.

type event struct {
	Wall    float64
	Step    uint64
	Version string
	Values  []Scalar
}

// readEvents reads a file and checks every checksum.
func readEvents(r io.Reader) (events []event, err error) {
	for {
		head := make([]byte, 12)
		if _, err := io.ReadFull(r, head); errors.Is(err, io.EOF) {
			return events, nil
		} else if err != nil {
			return nil, fmt.Errorf("head of record %d: %w", len(events), err)
		}
		body := make([]byte, binary.LittleEndian.Uint64(head))
		if _, err := io.ReadFull(r, body); err != nil {
			return nil, err
		}
		var foot uint32
		if err := binary.Read(r, binary.LittleEndian, &foot); err != nil {
			return nil, err
		}
		if unmask(binary.LittleEndian.Uint32(head[8:])) != slowCRC(head[:8]) || unmask(foot) != slowCRC(body) {
			return nil, fmt.Errorf("record %d: checksum is wrong", len(events))
		}
		e, err := readEvent(body)
		if err != nil {
			return nil, fmt.Errorf("record %d: %w", len(events), err)
		}
		events = append(events, e)
	}
}

// unmask is crc32c::Unmask of tensorflow/core/lib/hash/crc32c.h.
func unmask(x uint32) uint32 {
	rot := x - 0xa282ead8
	return rot>>17 | rot<<15
}

// slowCRC is CRC-32C bit by bit: polynomial 0x1EDC6F41, reflected.
func slowCRC(data []byte) uint32 {
	crc := ^uint32(0)
	for _, b := range data {
		crc ^= uint32(b)
		for range 8 {
			bit := crc & 1
			crc >>= 1
			if bit == 1 {
				crc ^= 0x82F63B78
			}
		}
	}
	return ^crc
}

// field is a field of a message: number, wire type, and its number or bytes.
type field struct {
	number, kind uint64
	n            uint64
	bytes        []byte
}

// fields splits a message, as https://protobuf.dev/programming-guides/encoding says.
func fields(b []byte) (all []field, err error) {
	r := bytes.NewReader(b)
	for r.Len() > 0 {
		tag, err := binary.ReadUvarint(r)
		if err != nil {
			return nil, err
		}
		f := field{number: tag >> 3, kind: tag & 7}
		switch f.kind {
		case 0:
			f.n, err = binary.ReadUvarint(r)
		case 1:
			err = binary.Read(r, binary.LittleEndian, &f.n)
		case 5:
			var n uint32
			err = binary.Read(r, binary.LittleEndian, &n)
			f.n = uint64(n)
		case 2:
			var size uint64
			if size, err = binary.ReadUvarint(r); err == nil {
				f.bytes = make([]byte, size)
				_, err = io.ReadFull(r, f.bytes)
			}
		default:
			err = fmt.Errorf("wire type %d", f.kind)
		}
		if err != nil {
			return nil, err
		}
		all = append(all, f)
	}
	return all, nil
}

func readEvent(b []byte) (e event, err error) {
	all, err := fields(b)
	if err != nil {
		return e, err
	}
	for _, f := range all {
		switch [2]uint64{f.number, f.kind} {
		case [2]uint64{1, 1}:
			e.Wall = math.Float64frombits(f.n)
		case [2]uint64{2, 0}:
			e.Step = f.n
		case [2]uint64{3, 2}:
			e.Version = string(f.bytes)
		case [2]uint64{5, 2}:
			if e.Values, err = readSummary(f.bytes); err != nil {
				return e, err
			}
		default:
			return e, fmt.Errorf("event has field %d of type %d", f.number, f.kind)
		}
	}
	return e, nil
}

func readSummary(b []byte) (values []Scalar, err error) {
	all, err := fields(b)
	if err != nil {
		return nil, err
	}
	for _, f := range all {
		if f.number != 1 || f.kind != 2 {
			return nil, fmt.Errorf("summary has field %d of type %d", f.number, f.kind)
		}
		inner, err := fields(f.bytes)
		if err != nil {
			return nil, err
		}
		if len(inner) != 2 || inner[0].number != 1 || inner[0].kind != 2 || inner[1].number != 2 || inner[1].kind != 5 {
			return nil, fmt.Errorf("value has fields %+v, want a tag and a float", inner)
		}
		values = append(values, Scalar{string(inner[0].bytes), float64(math.Float32frombits(uint32(inner[1].n)))})
	}
	return values, nil
}

// readDir reads the one event file of dir.
func readDir(t *testing.T, dir string) []event {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "events.out.tfevents.*"))
	if err != nil || len(files) != 1 {
		t.Fatalf("found %v (%v), want one event file", files, err)
	}
	f, err := os.Open(files[0])
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	events, err := readEvents(f)
	if err != nil {
		t.Fatal(err)
	}
	return events
}

// The check value of CRC-32C, and one of RFC 3720, B.4: 32 bytes of zeros.
func TestSlowCRC(t *testing.T) {
	if got := slowCRC([]byte("123456789")); got != 0xE3069283 {
		t.Errorf("got %#x, want 0xE3069283", got)
	}
	if got := slowCRC(make([]byte, 32)); got != 0x8A9136AA {
		t.Errorf("got %#x, want 0x8A9136AA", got)
	}
	if a, b := slowCRC([]byte("x")), crc32.Checksum([]byte("x"), castagnoli); a != b {
		t.Errorf("got %#x and %#x", a, b)
	}
}

func TestEventsReadBack(t *testing.T) {
	dir := t.TempDir()
	start := time.Unix(1_700_000_000, 250_000_000)
	w, err := Create(dir, start, "test")
	if err != nil {
		t.Fatal(err)
	}
	want := []event{
		{Wall: 1_700_000_000.25, Version: "brain.Event:2"},
		{Wall: 1_700_000_001.25, Step: 1, Values: []Scalar{{"ppo/kl", 0.125}, {"ppo/größe", -3}}},
		{Wall: 1_700_000_002.25, Step: 1 << 40, Values: []Scalar{{"bc/loss", math.Inf(1)}}},
	}
	for i, e := range want[1:] {
		if err := w.Write(start.Add(time.Duration(i+1)*time.Second), int64(e.Step), e.Values); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, readDir(t, dir)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The reader finds every damaged byte: what it accepts is right.
func TestTheReaderSeesDamage(t *testing.T) {
	good := appendRecord(nil, appendEvent(nil, time.Unix(1, 0), 3, []Scalar{{"a/b", 1}}))
	if _, err := readEvents(bytes.NewReader(good)); err != nil {
		t.Fatal(err)
	}
	for i := 8; i < len(good); i++ { // the first 8 are a length, up to 2^64
		bad := bytes.Clone(good)
		bad[i] ^= 4
		if _, err := readEvents(bytes.NewReader(bad)); err == nil {
			t.Errorf("byte %d is damaged and the reader does not see it", i)
		}
	}
}

// The mirror has every metric of the log, at its stage and step.
func TestMirror(t *testing.T) {
	dir := t.TempDir()
	log := filepath.Join(dir, "metrics.jsonl")
	lines := `{"stage":"init","step":0,"score":50,"wall_seconds":1}
{"stage":"bc","step":1,"score":40.5,"metrics":{"loss":0.5,"steps":3},"wall_seconds":2}
{"stage":"ppo","step":1,"metrics":{"kl":0.25},"wall_seconds":3}
`
	if err := os.WriteFile(log, []byte(lines+`{"stage":"ppo","st`), 0o600); err != nil {
		t.Fatal(err)
	}
	now := time.Unix(1_700_000_000, 0)
	mirror := func(resumed bool, at time.Time) []event {
		m, err := NewMirror(filepath.Join(dir, "tensorboard"), at, resumed)
		if err != nil {
			t.Fatal(err)
		}
		tail := runfile.NewTail(log)
		for range 2 { // the second time there is nothing new
			all, err := tail.Next()
			if err != nil {
				t.Fatal(err)
			}
			if err := m.Add(all, at); err != nil {
				t.Fatal(err)
			}
		}
		if err := m.Close(); err != nil {
			t.Fatal(err)
		}
		return readDir(t, filepath.Join(dir, "tensorboard"))
	}
	want := []event{
		{Wall: 1.7e9, Version: "brain.Event:2"},
		{Wall: 1.7e9, Step: 0, Values: []Scalar{{ScoreTag, 50}}},
		{Wall: 1.7e9, Step: 0, Values: []Scalar{{"init/score", 50}}},
		{Wall: 1.7e9, Step: 1, Values: []Scalar{{ScoreTag, 40.5}}},
		{Wall: 1.7e9, Step: 1, Values: []Scalar{{"bc/loss", 0.5}, {"bc/steps", 3}, {"bc/score", 40.5}}},
		{Wall: 1.7e9, Step: 1, Values: []Scalar{{"ppo/kl", 0.25}}},
	}
	if diff := cmp.Diff(want, mirror(false, now)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	// An hour later the run goes on: what was logged keeps its times.
	for i := range want {
		want[i].Wall = []float64{1.7e9, 1.7e9 + 1, 1.7e9 + 1, 1.7e9 + 2, 1.7e9 + 2, 1.7e9 + 3}[i]
	}
	if diff := cmp.Diff(want, mirror(true, now.Add(time.Hour))); diff != "" {
		t.Errorf("of a run that goes on (-want +got):\n%s", diff)
	}
}
