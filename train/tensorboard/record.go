package tensorboard

import (
	"encoding/binary"
	"hash/crc32"
	"math"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
)

// Field numbers of event.proto and summary.proto.
const (
	eventWallTime    = 1 // double, seconds since the epoch
	eventStep        = 2 // int64
	eventFileVersion = 3 // string, in the first event of a file only
	eventSummary     = 5 // Summary

	summaryValue = 1 // repeated Value

	valueTag    = 1 // string
	valueSimple = 2 // float
)

// fileVersion is what the first event of a file has to say.
const fileVersion = "brain.Event:2"

// Scalar is the value of a metric.
type Scalar struct {
	Tag   string // as in ppo/kl: what stands before the slash is a group on the page
	Value float64
}

// appendEvent appends an Event with the scalars; without any, the one that begins
// a file.
func appendEvent(b []byte, wall time.Time, step int64, scalars []Scalar) []byte {
	b = protowire.AppendTag(b, eventWallTime, protowire.Fixed64Type)
	b = protowire.AppendFixed64(b, math.Float64bits(float64(wall.UnixMicro())/1e6))
	if len(scalars) == 0 {
		b = protowire.AppendTag(b, eventFileVersion, protowire.BytesType)
		return protowire.AppendString(b, fileVersion)
	}
	b = protowire.AppendTag(b, eventStep, protowire.VarintType)
	b = protowire.AppendVarint(b, uint64(step))
	var summary, value []byte
	for _, s := range scalars {
		value = protowire.AppendTag(value[:0], valueTag, protowire.BytesType)
		value = protowire.AppendString(value, s.Tag)
		value = protowire.AppendTag(value, valueSimple, protowire.Fixed32Type)
		value = protowire.AppendFixed32(value, math.Float32bits(float32(s.Value)))
		summary = protowire.AppendTag(summary, summaryValue, protowire.BytesType)
		summary = protowire.AppendBytes(summary, value)
	}
	b = protowire.AppendTag(b, eventSummary, protowire.BytesType)
	return protowire.AppendBytes(b, summary)
}

// castagnoli is the polynomial of CRC-32C.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// masked is the CRC-32C of data as records store it: rotated and shifted, so that
// the checksum of something that holds checksums stays good.
func masked(data []byte) uint32 {
	crc := crc32.Checksum(data, castagnoli)
	return (crc>>15 | crc<<17) + 0xa282ead8
}

// appendRecord appends data as a record: its length (8 bytes, little-endian), the
// length's checksum, data, its checksum.
func appendRecord(b, data []byte) []byte {
	start := len(b)
	b = binary.LittleEndian.AppendUint64(b, uint64(len(data)))
	b = binary.LittleEndian.AppendUint32(b, masked(b[start:]))
	b = append(b, data...)
	return binary.LittleEndian.AppendUint32(b, masked(data))
}
