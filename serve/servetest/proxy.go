package servetest

import (
	"io"
	"net"
	"net/url"
	"sync"
	"testing"
)

// Proxy is a TCP proxy in front of a broker that can be cut.
type Proxy struct {
	listener net.Listener
	target   string
	work     sync.WaitGroup

	mu    sync.Mutex
	cut   bool
	conns map[net.Conn]struct{}
}

// NewProxy returns a proxy for the broker at this URL that lasts as long as the
// test.
func NewProxy(t testing.TB, broker string) *Proxy {
	t.Helper()
	p, err := ListenProxy(broker)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

// ListenProxy is NewProxy without a test. The caller closes the proxy.
func ListenProxy(broker string) (*Proxy, error) {
	u, err := url.Parse(broker)
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &Proxy{listener: l, target: u.Host, conns: make(map[net.Conn]struct{})}
	p.work.Go(p.accept)
	return p, nil
}

// Close breaks all connections and listens no more.
func (p *Proxy) Close() {
	p.listener.Close()
	p.Cut()
	p.work.Wait()
}

// URL returns where clients connect.
func (p *Proxy) URL() string { return "nats://" + p.listener.Addr().String() }

// Cut breaks all connections and refuses new ones.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut = true
	for c := range p.conns {
		c.Close()
	}
	clear(p.conns)
}

// Mend lets connections through again.
func (p *Proxy) Mend() {
	p.mu.Lock()
	p.cut = false
	p.mu.Unlock()
}

func (p *Proxy) accept() {
	for {
		from, err := p.listener.Accept()
		if err != nil {
			return
		}
		to, err := net.Dial("tcp", p.target)
		if err != nil || !p.keep(from, to) {
			from.Close()
			if to != nil {
				to.Close()
			}
			continue
		}
		p.work.Go(func() { pump(from, to) })
		p.work.Go(func() { pump(to, from) })
	}
}

// keep registers a pair of connections unless the proxy is cut.
func (p *Proxy) keep(from, to net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cut {
		return false
	}
	p.conns[from], p.conns[to] = struct{}{}, struct{}{}
	return true
}

// pump copies until either side closes, then closes both.
func pump(from, to net.Conn) {
	_, _ = io.Copy(to, from) // the error is how it ends
	from.Close()
	to.Close()
}
