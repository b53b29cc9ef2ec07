package broker

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/gofrs/flock"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/yardmaster/yardmaster/serve/wire"
)

// MaxPayload is the largest message that the broker takes, headers included: what
// NATS advises at most.
const MaxPayload = wire.MaxPayload

// lockName is the file in the store folder that its owner locks.
const lockName = "yardmaster.lock"

// startTimeout bounds how long the server may take until it accepts clients.
const startTimeout = 30 * time.Second

// ErrLocked is wrapped by the error of Start on a store folder in use.
var ErrLocked = errors.New("broker: store folder is in use")

// Config configures a broker. StoreDir must be given; the zero value of every
// other field is its default.
type Config struct {
	StoreDir string       // folder of JetStream's files, made if missing
	Host     string       // loopback address to listen on; 127.0.0.1
	Port     int          // 0 takes a free one
	Logger   *slog.Logger // nil discards
}

func (c *Config) fillDefaults() {
	if c.Host == "" {
		c.Host = "127.0.0.1"
	}
	if c.Port == 0 {
		c.Port = server.RANDOM_PORT
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
}

func (c *Config) validate() error {
	var errs []error
	if c.StoreDir == "" {
		errs = append(errs, errors.New("broker: config: StoreDir is empty, want a folder"))
	}
	if ip := net.ParseIP(c.Host); c.Host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		errs = append(errs, fmt.Errorf("broker: config: Host is %q, want a loopback address: the embedded broker has no authentication", c.Host))
	}
	if c.Port != server.RANDOM_PORT && (c.Port < 1 || c.Port > 65535) {
		errs = append(errs, fmt.Errorf("broker: config: Port is %d, want 0 to 65535", c.Port))
	}
	return errors.Join(errs...)
}

// Broker is a running server. Close it. It is safe for concurrent use.
type Broker struct {
	cfg  Config // with the port that was taken
	lock *flock.Flock

	mu     sync.Mutex
	server *server.Server // the one that runs now
}

// Start starts a server and returns once it accepts clients.
func Start(cfg Config) (*Broker, error) {
	cfg.fillDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	lock, err := lockFolder(cfg.StoreDir)
	if err != nil {
		return nil, err
	}
	s, err := listen(&cfg)
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	if at, ok := s.Addr().(*net.TCPAddr); ok {
		cfg.Port = at.Port // a restart must not move it
	}
	return &Broker{cfg: cfg, lock: lock, server: s}, nil
}

// lockFolder makes the folder and locks it. The kernel drops the lock with the
// process, however it ends.
func lockFolder(dir string) (*flock.Flock, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("broker: make store folder: %w", err)
	}
	lock := flock.New(filepath.Join(dir, lockName))
	ok, err := lock.TryLock()
	if err != nil {
		return nil, fmt.Errorf("broker: lock store folder %s: %w", dir, err)
	}
	if !ok {
		return nil, fmt.Errorf("%w: %s: another service holds %s; stop it or give this one another folder", ErrLocked, dir, lockName)
	}
	return lock, nil
}

// listen starts the server proper.
func listen(cfg *Config) (*server.Server, error) {
	if cfg.Port != server.RANDOM_PORT {
		// The server retries nothing and only logs when the port is taken.
		l, err := net.Listen("tcp", net.JoinHostPort(cfg.Host, fmt.Sprint(cfg.Port)))
		if err != nil {
			return nil, fmt.Errorf("broker: listen: %w", err)
		}
		l.Close()
	}
	s, err := server.NewServer(&server.Options{
		ServerName:             "yardmaster",
		Host:                   cfg.Host,
		Port:                   cfg.Port,
		JetStream:              true,
		StoreDir:               cfg.StoreDir,
		SyncAlways:             true,
		MaxPayload:             MaxPayload,
		NoSigs:                 true,
		NoSystemAccount:        true,
		DisableJetStreamBanner: true,
	})
	if err != nil {
		return nil, fmt.Errorf("broker: configure: %w", err)
	}
	log := &logger{to: cfg.Logger, fatal: make(chan string, 1)}
	s.SetLoggerV2(log, false, false, false)
	s.Start()
	if err := awaitReady(s, log); err != nil {
		s.Shutdown()
		s.WaitForShutdown()
		return nil, fmt.Errorf("broker: start on %s, store %s: %w", cfg.Host, cfg.StoreDir, err)
	}
	return s, nil
}

// awaitReady returns once s accepts clients, or with the reason why it never
// will.
func awaitReady(s *server.Server, log *logger) error {
	for end := time.Now().Add(startTimeout); time.Now().Before(end); {
		select {
		case fault := <-log.fatal:
			return errors.New(fault)
		default:
		}
		if s.ReadyForConnections(20*time.Millisecond) && s.JetStreamEnabled() {
			return nil
		}
	}
	return fmt.Errorf("not ready within %v", startTimeout)
}

// URL returns where clients connect.
func (b *Broker) URL() string { return b.running().ClientURL() }

func (b *Broker) running() *server.Server {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.server
}

// InProcess returns the option that connects a client of this process without
// a socket, also after a restart.
func (b *Broker) InProcess() nats.Option { return nats.InProcessServer(provider{b}) }

// provider connects to the server that runs now.
type provider struct{ *Broker }

func (p provider) InProcessConn() (net.Conn, error) { return p.running().InProcessConn() }

// Close stops the server, waits until its files are closed, and unlocks the
// folder.
func (b *Broker) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.server.Shutdown()
	b.server.WaitForShutdown()
	if err := b.lock.Close(); err != nil {
		return fmt.Errorf("broker: unlock store folder: %w", err)
	}
	return nil
}
