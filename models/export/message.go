package export

import "google.golang.org/protobuf/encoding/protowire"

// message is a message of protocol buffers in the making.
type message []byte

func (m *message) number(field protowire.Number, n int) {
	*m = protowire.AppendTag(*m, field, protowire.VarintType)
	*m = protowire.AppendVarint(*m, uint64(n)) // of negative ones two's complement, as int64 has it
}

func (m *message) text(field protowire.Number, s string) {
	*m = protowire.AppendTag(*m, field, protowire.BytesType)
	*m = protowire.AppendString(*m, s)
}

func (m *message) bytes(field protowire.Number, b []byte) {
	*m = protowire.AppendTag(*m, field, protowire.BytesType)
	*m = protowire.AppendBytes(*m, b)
}
