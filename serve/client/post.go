package client

import (
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/yardmaster/yardmaster/serve/wire"
)

// compressAbove is the size from which states are compressed even where the
// broker would take them: 100 jobs with 16 strategies. Below it compressing costs
// more time than it saves.
const compressAbove = 256 << 10

// headerRoom is kept for a message's headers, which count as payload.
const headerRoom = wire.ChunkRoom

// body is a message in the forms that it may travel in.
type body struct {
	plain []byte
	small *wire.Payload // compressed; nil until it is needed
}

func newBody(plain []byte) *body { return &body{plain: plain} }

// within returns the body as it may travel in messages of at most limit bytes,
// or in chunks where it is larger; limit 0 is none.
func (b *body) within(limit int) (wire.Payload, error) {
	if len(b.plain) <= compressAbove && (limit == 0 || len(b.plain) <= limit) {
		return wire.Payload{Data: b.plain}, nil
	}
	if b.small == nil {
		p, err := wire.Pack(b.plain, 0)
		if err != nil {
			return p, fmt.Errorf("%w: %w", ErrTooLarge, err)
		}
		b.small = &p
	}
	return *b.small, nil
}

// post returns the message that carries b to subject, after it sent the chunks
// of one that is too large for the broker.
func (c *Client) post(subject string, b *body, seq uint64) (*nats.Msg, error) {
	limit := int(c.nc.MaxPayload())
	p, err := b.within(max(limit-headerRoom, 0))
	if err != nil {
		return nil, err
	}
	m := &nats.Msg{Subject: subject, Data: p.Data, Header: nats.Header{
		wire.HeaderSchema:   {wire.StateSchema},
		wire.HeaderEpoch:    {strconv.FormatUint(c.cfg.Epoch, 10)},
		wire.HeaderStateSeq: {strconv.FormatUint(seq, 10)},
		wire.HeaderAccept:   {wire.EncodingZstd},
		wire.HeaderTime:     {c.cfg.Now().UTC().Format(time.RFC3339Nano)},
		wire.HeaderCluster:  {c.cfg.Cluster},
	}}
	if p.Encoding != "" {
		m.Header.Set(wire.HeaderEncoding, p.Encoding)
	}
	c.mu.Lock()
	c.stats.SentBytes += int64(len(p.Data))
	c.mu.Unlock()
	if limit > 0 && len(p.Data)+headerRoom > limit {
		return m, c.cut(m, limit)
	}
	return m, nil
}

// cut sends the body of m in chunks, and leaves in m what announces them.
func (c *Client) cut(m *nats.Msg, limit int) error {
	digest, chunks, err := wire.Split(m.Data, limit-headerRoom)
	if err != nil {
		return fmt.Errorf("%w: the broker takes %d bytes at once: raise max_payload: %w", ErrTooLarge, limit, err)
	}
	for i, data := range chunks {
		chunk := &nats.Msg{Subject: c.subjects.Chunk(c.cfg.Cluster), Data: data, Header: nats.Header{
			wire.HeaderChunk: {wire.FormatChunk(i, len(chunks))}, wire.HeaderDigest: {digest},
		}}
		if err := c.nc.PublishMsg(chunk); err != nil {
			return fmt.Errorf("client: publish chunk: %w", err)
		}
	}
	m.Data = nil
	m.Header.Set(wire.HeaderChunks, strconv.Itoa(len(chunks)))
	m.Header.Set(wire.HeaderDigest, digest)
	c.mu.Lock()
	c.stats.Chunks += int64(len(chunks))
	c.mu.Unlock()
	return nil
}
