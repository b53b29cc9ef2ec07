package wire_test

import (
	"testing"

	"github.com/yardmaster/yardmaster/serve/servetest"
	"github.com/yardmaster/yardmaster/serve/wire"
)

// BenchmarkLargeState is the way of a state of 10,000 jobs with 16 strategies each
// through the wire, step by step. KB is the size that a step makes.
func BenchmarkLargeState(b *testing.B) {
	s := &wire.State{Schema: wire.StateSchema, Cluster: "c1", Epoch: 1, Seq: 1, State: *servetest.Large(10_000, 16)}
	plain := servetest.Body(b, s)
	small := wire.Compress(plain)
	step := func(name string, size int, f func() error) {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if err := f(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(size)/1e3, "KB")
		})
	}
	step("encode", len(plain), func() error { _, err := wire.Encode(s); return err })
	step("compress", len(small), func() error { wire.Compress(plain); return nil })
	buf := make([]byte, 0, len(plain)+1<<20)
	step("decompress", len(plain), func() error { _, err := wire.Decompress(small, wire.EncodingZstd, buf); return err })
	step("decode", len(plain), func() error { _, err := wire.DecodeState(plain); return err })
	step("digest", 64, func() error { wire.Digest(small); return nil })
}
