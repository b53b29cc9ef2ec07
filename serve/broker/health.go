package broker

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
)

// Health reports what is wrong with the server's streams. A stream that met a
// write error, a full disk included, takes no message any more, and does not
// say so to those who publish: only Restart makes it store again.
func (b *Broker) Health() error {
	// The server tells its health over HTTP alone; this is that handler, without
	// a port.
	req, err := http.NewRequest(http.MethodGet, "/healthz", http.NoBody)
	if err != nil {
		return err
	}
	a := answer{code: http.StatusOK, header: http.Header{}}
	b.running().HandleHealthz(&a, req)
	if a.code != http.StatusOK {
		return fmt.Errorf("broker: %s", strings.TrimSpace(a.body.String()))
	}
	return nil
}

// answer keeps what a handler says.
type answer struct {
	code   int
	header http.Header
	body   bytes.Buffer
}

func (a *answer) Header() http.Header         { return a.header }
func (a *answer) WriteHeader(code int)        { a.code = code }
func (a *answer) Write(p []byte) (int, error) { return a.body.Write(p) }

// probeBytes is more than a stream needs to take up work.
const probeBytes = 256 << 10

// Probe reports whether the store folder takes files.
func (b *Broker) Probe() (err error) {
	f, err := os.CreateTemp(b.cfg.StoreDir, "probe-*")
	if err != nil {
		return fmt.Errorf("broker: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close(), os.Remove(f.Name())) }()
	if _, err := f.Write(bytes.Repeat([]byte{1}, probeBytes)); err != nil {
		return fmt.Errorf("broker: %w", err)
	}
	return f.Sync()
}

// Restart stops the server and starts another on the same folder and port.
// Clients reconnect by themselves. After an error the old one is stopped and
// none runs; Restart may be called again.
func (b *Broker) Restart() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.server.Shutdown()
	b.server.WaitForShutdown()
	s, err := listen(&b.cfg)
	if err != nil {
		return fmt.Errorf("broker: restart: %w", err)
	}
	b.server = s
	return nil
}
