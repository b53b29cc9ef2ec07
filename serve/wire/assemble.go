package wire

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

// Bounds of what waits to be put together.
const (
	// maxPartial is how many messages of one cluster may be incomplete: one
	// that is published and one that is asked for.
	maxPartial = 2
	// maxPartials is how many messages of all clusters may be incomplete.
	maxPartials = 1024
	// maxPartialBytes bounds the chunks of all clusters together. The longest
	// waiting message is given up for a new one.
	maxPartialBytes = 256 << 20
	// ChunkTimeout is how long chunks wait for the rest of their message.
	ChunkTimeout = 10 * time.Second
)

// Assembler puts messages together that came in chunks. It is safe for
// concurrent use. The zero value is ready.
type Assembler struct {
	Now func() time.Time // nil is time.Now; only differences matter

	mu       sync.Mutex
	partials []*partial // oldest first; few
	bytes    int
	dropped  int64
	arrived  chan struct{} // closed when a message becomes complete; nil if nobody waits
}

// partial is a message of which some chunks came.
type partial struct {
	cluster string
	digest  string
	chunks  [][]byte
	missing int
	bytes   int
	since   time.Time
}

// Parts are all chunks of one message.
type Parts struct {
	digest string
	chunks [][]byte
	bytes  int
}

// Bytes returns the size of the message.
func (p *Parts) Bytes() int { return p.bytes }

// Join returns the message, or an error if it is not what its sender cut.
func (p *Parts) Join() ([]byte, error) {
	data := make([]byte, 0, p.bytes)
	for _, c := range p.chunks {
		data = append(data, c...)
	}
	if Digest(data) != p.digest {
		return nil, Errorf(CodeMalformed, "", "chunks do not have the digest %s", p.digest)
	}
	return data, nil
}

// Add takes a chunk that came on a cluster's subject with these headers. It
// keeps data. A chunk that came before is ignored.
func (a *Assembler) Add(cluster, chunk, digest string, data []byte) error {
	i, n, err := ParseChunk(chunk)
	if err == nil {
		err = checkDigest(digest)
	}
	if err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.expire()
	p := a.find(cluster, digest)
	if p == nil {
		p = a.begin(cluster, digest, n)
	}
	switch {
	case len(p.chunks) != n:
		return Errorf(CodeMalformed, "", "header %s is %.16q, other chunks of this message say %d", HeaderChunk, chunk, len(p.chunks))
	case p.chunks[i] != nil || len(data) == 0:
		return nil
	case p.bytes+len(data) > MaxEncodedBytes:
		a.drop(p)
		return Errorf(CodeTooLarge, "", "chunks of more than %d bytes", MaxEncodedBytes)
	}
	p.chunks[i] = data
	p.missing--
	p.bytes += len(data)
	a.bytes += len(data)
	if p.missing == 0 && a.arrived != nil {
		close(a.arrived)
		a.arrived = nil
	}
	for a.bytes > maxPartialBytes {
		a.drop(a.partials[0])
	}
	return nil
}

// Await is Take, but waits until ctx ends for chunks that are missing: they may
// have taken another way than the message that announces them.
func (a *Assembler) Await(ctx context.Context, cluster, chunks, digest string) (*Parts, error) {
	for {
		arrived := a.next()
		parts, err := a.Take(cluster, chunks, digest)
		if refusal, ok := errors.AsType[*Error](err); !ok || refusal.Code != CodeIncomplete {
			return parts, err
		}
		select {
		case <-arrived:
		case <-ctx.Done():
			return nil, err
		}
	}
}

// next returns a channel that is closed when a message becomes complete.
func (a *Assembler) next() <-chan struct{} {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.arrived == nil {
		a.arrived = make(chan struct{})
	}
	return a.arrived
}

// Take returns the chunks of the message that a cluster announces with these
// headers, and forgets them. It fails with CodeIncomplete while some are missing.
func (a *Assembler) Take(cluster, chunks, digest string) (*Parts, error) {
	n, err := ParseChunks(chunks)
	if err == nil {
		err = checkDigest(digest)
	}
	if err != nil {
		return nil, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.expire()
	p := a.find(cluster, digest)
	switch {
	case p == nil:
		return nil, Errorf(CodeIncomplete, "", "none of the %d chunks of the message are here: send it again", n)
	case len(p.chunks) != n:
		return nil, Errorf(CodeMalformed, "", "header %s is %d, the chunks say %d", HeaderChunks, n, len(p.chunks))
	case p.missing > 0:
		return nil, Errorf(CodeIncomplete, "", "%d of the %d chunks of the message are missing: send it again", p.missing, n)
	}
	a.remove(p)
	return &Parts{digest, p.chunks, p.bytes}, nil
}

// Dropped returns how many chunks were given up.
func (a *Assembler) Dropped() int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.expire()
	return a.dropped
}

// Bytes returns how much waits.
func (a *Assembler) Bytes() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.bytes
}

func (a *Assembler) find(cluster, digest string) *partial {
	for _, p := range a.partials {
		if p.cluster == cluster && p.digest == digest {
			return p
		}
	}
	return nil
}

// begin makes room for another message of a cluster.
func (a *Assembler) begin(cluster, digest string, n int) *partial {
	var oldest *partial
	count := 0
	for _, p := range a.partials {
		if p.cluster == cluster {
			if count++; oldest == nil {
				oldest = p
			}
		}
	}
	switch {
	case count >= maxPartial:
		a.drop(oldest)
	case len(a.partials) >= maxPartials:
		a.drop(a.partials[0])
	}
	p := &partial{cluster: cluster, digest: digest, chunks: make([][]byte, n), missing: n, since: a.now()}
	a.partials = append(a.partials, p)
	return p
}

// expire gives up what waits for too long.
func (a *Assembler) expire() {
	for len(a.partials) > 0 && a.now().Sub(a.partials[0].since) > ChunkTimeout {
		a.drop(a.partials[0])
	}
}

func (a *Assembler) drop(p *partial) {
	a.dropped += int64(len(p.chunks) - p.missing)
	a.remove(p)
}

func (a *Assembler) remove(p *partial) {
	a.bytes -= p.bytes
	i := slices.Index(a.partials, p)
	a.partials = slices.Delete(a.partials, i, i+1)
}

func (a *Assembler) now() time.Time {
	if a.Now == nil {
		return time.Now()
	}
	return a.Now()
}
