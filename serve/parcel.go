package serve

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/yardmaster/yardmaster/serve/wire"
)

// Bounds of what large states may take, all clusters together.
const (
	// largePlaces is how many large states are read and decided at once.
	largePlaces = 4
	// largeAsides is the same for requests of people: they take no place of those.
	largeAsides = 1
	// largeBytes is from where on a state is large: about 1,500 jobs with 16
	// strategies each.
	largeBytes = 4 << 20
	// chunkWait is how long a message waits for the rest of its chunks, which
	// come before it.
	chunkWait = 2 * time.Second
)

// parcel is a state as it came in, before it is read.
type parcel struct {
	wire.Payload
	key    wire.Key // as the headers say, where it is not plain
	accept bool     // its decisions may be compressed
	chunks string   // header; "" where the state is one message
	digest string   // of the chunks
	aside  bool     // of people: nothing is decided by it
}

// parcelOf reads the headers of a message of this cluster.
func parcelOf(header nats.Header, data []byte, cluster string) parcel {
	p := parcel{Payload: wire.Payload{Data: data}}
	if len(header) == 0 {
		return p
	}
	p.Encoding = header.Get(wire.HeaderEncoding)
	p.accept = header.Get(wire.HeaderAccept) == wire.EncodingZstd
	p.chunks, p.digest = header.Get(wire.HeaderChunks), header.Get(wire.HeaderDigest)
	if !p.plain() {
		p.key.Cluster = cluster
		p.key.Epoch, _ = strconv.ParseUint(header.Get(wire.HeaderEpoch), 10, 64) // 0 is refused
		p.key.Seq, _ = strconv.ParseUint(header.Get(wire.HeaderStateSeq), 10, 64)
	}
	return p
}

// plain reports whether the body is the message itself.
func (p *parcel) plain() bool { return p.Encoding == "" && p.chunks == "" }

// identify returns which state it is, without reading more of it than needed.
func (p *parcel) identify() (wire.Key, error) {
	if p.plain() {
		return wire.PeekState(p.Data)
	}
	return p.key, wire.CheckKey(p.key)
}

// opener turns parcels into states. It bounds the memory that this takes, also
// for messages that are small and hold much.
type opener struct {
	*Handler
	parts      wire.Assembler
	large      chan struct{} // places
	largeAside chan struct{} // of requests of people
	buffer     sync.Pool     // of *[]byte: what decompressed messages were read from
}

func newOpener(h *Handler) *opener {
	return &opener{Handler: h, large: make(chan struct{}, largePlaces), largeAside: make(chan struct{}, largeAsides)}
}

// addChunk takes a chunk of a message that is announced later.
func (o *opener) addChunk(m *nats.Msg) {
	o.stats.count(func(s *Stats) *int64 { return &s.Chunks })
	cluster := wire.LastToken(m.Subject)
	err := wire.CheckCluster(cluster)
	if err == nil {
		err = o.parts.Add(cluster, m.Header.Get(wire.HeaderChunk), m.Header.Get(wire.HeaderDigest), m.Data)
	}
	if err != nil {
		o.stats.refuse(asRefusal(err).Code)
		o.logger.Debug("chunk refused", "cluster", cluster, "error", err)
	}
}

// open reads a state. The caller calls done once it is decided, also after an
// error. A refusal is counted.
func (o *opener) open(ctx context.Context, p *parcel) (s *wire.State, done func(), err error) {
	done, err = o.unpack(ctx, p, func(body []byte) error {
		if s, err = o.decode(ctx, body); err != nil {
			return err
		}
		return o.agrees(p, s.Key())
	})
	return s, done, err
}

// unpack joins and decompresses a parcel and calls use with the message, which is
// use's only while it runs. What use makes of a large one may be kept until done,
// which the caller calls also after an error.
func (o *opener) unpack(ctx context.Context, p *parcel, use func(body []byte) error) (done func(), err error) {
	done = func() {}
	if p.plain() && len(p.Data) <= largeBytes {
		return done, use(p.Data)
	}
	places := o.large
	if p.aside {
		places = o.largeAside
	}
	select {
	case places <- struct{}{}:
	case <-ctx.Done():
		refusal := wire.Errorf(wire.CodeUnavailable, "", "the service is draining")
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			refusal = wire.Errorf(wire.CodeOverloaded, "", "other large states were in work until the time was up")
		}
		o.stats.refuse(refusal.Code)
		return done, refusal
	}
	done = sync.OnceFunc(func() { <-places })
	data, err := o.join(ctx, p)
	if err != nil {
		o.stats.refuse(asRefusal(err).Code)
		return done, err
	}
	buf, _ := o.buffer.Get().(*[]byte)
	if buf == nil {
		buf = new([]byte)
	}
	defer o.buffer.Put(buf)
	body, err := wire.Decompress(data, p.Encoding, *buf)
	if err != nil {
		o.stats.refuse(asRefusal(err).Code)
		return done, err
	}
	if p.Encoding != "" {
		*buf = body // states hold no part of it
		o.stats.unpack(len(data), len(body))
	}
	err = use(body)
	if len(body) <= largeBytes {
		done()
	}
	return done, err
}

// agrees refuses a state whose headers name another, and counts that.
func (o *opener) agrees(p *parcel, k wire.Key) error {
	conflict := p.conflict(k)
	if conflict == nil {
		return nil
	}
	o.stats.refuse(conflict.Code)
	return conflict
}

// conflict returns the refusal of a message whose headers name another state than k,
// which it holds, or nil.
func (p *parcel) conflict(k wire.Key) *wire.Error {
	if p.key.Cluster == "" || k == p.key {
		return nil
	}
	return wire.Errorf(wire.CodeConflict, "", "headers say state %s, the message %s", wire.DecisionID(p.key, "state"), wire.DecisionID(k, "state"))
}

// join returns the body, put together from its chunks if it came in some.
func (o *opener) join(ctx context.Context, p *parcel) ([]byte, error) {
	if p.chunks == "" {
		return p.Data, nil
	}
	ctx, cancel := context.WithTimeout(ctx, chunkWait)
	defer cancel()
	parts, err := o.parts.Await(ctx, p.key.Cluster, p.chunks, p.digest)
	if err != nil {
		return nil, err
	}
	return parts.Join()
}
