package settings

import (
	"slices"
	"strings"
)

// Setting is one thing that the service can be told.
type Setting struct {
	Key     string   // where it stands in the file: section.name
	Flag    string   // without dashes; "" is Key with dashes for dots and underscores
	Default string   // as it would be written
	Min     string   // smallest value, "" is any; of numbers and durations
	Max     string   // largest value
	OneOf   []string // all values, if they are few
	Reload  bool     // takes effect on SIGHUP; others need a restart
	Doc     string   // meaning and unit

	at func(*Config) any // pointer to its field
}

// EnvPrefix begins the name of every environment variable. It is not
// YARDMASTER_: Kubernetes gives all pods beside a service of that name variables
// such as YARDMASTER_PORT=tcp://10.0.0.1:4222.
const EnvPrefix = "YM_"

// EnvFile names the environment variable with the path of the file.
const EnvFile = EnvPrefix + "CONFIG"

// Env returns the name of its environment variable.
func (s *Setting) Env() string {
	return EnvPrefix + strings.ToUpper(strings.ReplaceAll(s.Key, ".", "_"))
}

// FlagName returns the name of its flag.
func (s *Setting) FlagName() string {
	if s.Flag != "" {
		return s.Flag
	}
	return strings.NewReplacer(".", "-", "_", "-").Replace(s.Key)
}

// Type returns what its values are: string, bool, int, float, duration, list
// or map.
func (s *Setting) Type() string { return kindOf(s.at(new(Config))).name }

// Section returns the part of its key before the dot, "" at the top.
func (s *Setting) Section() string {
	section, _, nested := strings.Cut(s.Key, ".")
	if !nested {
		return ""
	}
	return section
}

// All returns the settings, in the order of the documentation.
func All() []Setting { return slices.Clone(table) }

// table is all settings: key, default, meaning and field.
var table = slices.Concat(general, guards, repositories, connections)

// general is about the service as a whole.
var general = []Setting{
	{Key: "run", Doc: "run directory whose models decide", at: func(c *Config) any { return &c.Run }},
	{Key: "fallback", Default: "lp:throughput", Doc: "linear program that answers where the learned policy does not (yardmaster agents lists them)", at: func(c *Config) any { return &c.Fallback }},
	{Key: "url_file", Doc: "write the broker's URL to this file once the service takes states", at: func(c *Config) any { return &c.URLFile }},
	{Key: "prefix", Default: "yardmaster", Doc: "prefix of all subjects", at: func(c *Config) any { return &c.Serve.Prefix }},
	{Key: "stream", Doc: "stream that keeps the decisions; empty is YM_DECISIONS, and with another prefix YM_DECISIONS_<prefix>", at: func(c *Config) any { return &c.Serve.Stream }},
	{Key: "window", Flag: "window", Default: "1h", Min: "1s", Doc: "how long a configuration holds, on the cluster's clock", at: func(c *Config) any { return &c.Serve.Window }},
	{Key: "max_clusters", Default: "1024", Min: "1", Doc: "clusters remembered; the longest idle one is forgotten first", at: func(c *Config) any { return &c.Serve.MaxClusters }},
	{Key: "concurrency", Default: "64", Min: "1", Doc: "decisions in the making at once, for published states and for requests each", at: func(c *Config) any { return &c.Serve.Concurrency }},
	{Key: "unready_after", Default: "5s", Min: "1ms", Doc: "how long NATS may be lost before the service is not ready", at: func(c *Config) any { return &c.Serve.UnreadyAfter }},
	{Key: "lease", Default: "auto", OneOf: []string{"auto", "on", "off"}, Doc: "publish for a cluster only while holding its lease, so that several services can share a broker; auto is on with nats.url", at: func(c *Config) any { return &c.Serve.Lease }},
	{Key: "lease_ttl", Default: "2s", Min: "500ms", Doc: "how long a lease outlives its holder", at: func(c *Config) any { return &c.Serve.LeaseTTL }},
	{Key: "id", Doc: "name of this service among those that share a broker; empty is a random one", at: func(c *Config) any { return &c.Serve.ID }},
	{Key: "replicas", Default: "1", Min: "1", Max: "5", Doc: "copies of the stream and the leases on a NATS cluster: 1, 3 or 5", at: func(c *Config) any { return &c.Serve.Replicas }},
	{Key: "max_rate", Default: "10000", Min: "0.001", Doc: "published states per second and cluster, with a burst of as many; more are refused as overloaded", at: func(c *Config) any { return &c.Serve.MaxRate }},
	{Key: "stale_after", Default: "0s", Min: "0s", Doc: "how long a cluster may be silent before it is called stale; 0 is three of its own rounds, at least 30 s", at: func(c *Config) any { return &c.Serve.StaleAfter }},
	{Key: "max_skew", Default: "2s", Min: "1ms", Doc: "how far a cluster's clock may be from this one's before that is told", at: func(c *Config) any { return &c.Serve.MaxSkew }},

	{Key: "log.level", Default: "info", OneOf: []string{"debug", "info", "warn", "error"}, Reload: true, Doc: "least level that is logged; debug logs every decision", at: func(c *Config) any { return &c.Log.Level }},
	{Key: "log.format", Default: "auto", OneOf: []string{"auto", "text", "json"}, Doc: "how log records are written; auto is text on a terminal, else JSON", at: func(c *Config) any { return &c.Log.Format }},
}

// connections is about who talks to the service, and to whom it talks.
var connections = []Setting{
	{Key: "broker.store", Flag: "store", Doc: "folder of the own broker's streams; empty is RUN/store", at: func(c *Config) any { return &c.Serve.Broker.StoreDir }},
	{Key: "broker.host", Default: "127.0.0.1", Doc: "loopback address of the own broker", at: func(c *Config) any { return &c.Serve.Broker.Host }},
	{Key: "broker.port", Flag: "port", Default: "4222", Min: "0", Max: "65535", Doc: "port of the own broker; 0 takes a free one", at: func(c *Config) any { return &c.Serve.Broker.Port }},

	{Key: "nats.url", Flag: "nats", Doc: "URL of an external NATS server or cluster, instead of the own broker", at: func(c *Config) any { return &c.Serve.URL }},
	{Key: "nats.context", Doc: "context of the nats command line tool that says how to connect: a name or the path of its file", at: func(c *Config) any { return &c.NATS.Context }},
	{Key: "nats.creds", Doc: "file with the JWT and key of the user (.creds)", at: func(c *Config) any { return &c.NATS.Creds }},
	{Key: "nats.nkey", Doc: "file with the seed of the user's nkey", at: func(c *Config) any { return &c.NATS.NKey }},
	{Key: "nats.user", Doc: "name of the user, with nats.password_file", at: func(c *Config) any { return &c.NATS.User }},
	{Key: "nats.password_file", Doc: "file with the user's password", at: func(c *Config) any { return &c.NATS.PasswordFile }},
	{Key: "nats.token_file", Doc: "file with a token, where the server asks for one", at: func(c *Config) any { return &c.NATS.TokenFile }},
	{Key: "nats.ca", Doc: "file with the certificates that sign the server's (PEM); empty is the system's", at: func(c *Config) any { return &c.NATS.CA }},
	{Key: "nats.cert", Doc: "file with the client's certificate (PEM), with nats.key", at: func(c *Config) any { return &c.NATS.Cert }},
	{Key: "nats.key", Doc: "file with the key of the client's certificate (PEM)", at: func(c *Config) any { return &c.NATS.Key }},
	{Key: "nats.tls_first", Default: "false", Doc: "start TLS before the server's greeting (handshake_first there)", at: func(c *Config) any { return &c.NATS.TLSFirst }},

	{Key: "http.addr", Flag: "http", Doc: "address of probes, metrics and the live page, such as 127.0.0.1:8088; empty is none", at: func(c *Config) any { return &c.HTTP.Addr }},
	{Key: "http.token_file", Doc: "file with a token that everything but probes needs, as bearer token or password; empty asks for none", at: func(c *Config) any { return &c.HTTP.TokenFile }},
	{Key: "http.pprof", Flag: "pprof", Default: "false", Doc: "serve profiles below /debug/pprof; http.addr must be a loopback address", at: func(c *Config) any { return &c.HTTP.Pprof }},
	{Key: "http.infer", Default: "true", Doc: "answer the Open Inference protocol below /v2/models", at: func(c *Config) any { return &c.HTTP.Infer }},

	{Key: "tracing.endpoint", Doc: "base URL of an OTLP/HTTP collector, such as http://127.0.0.1:4318; empty leaves tracing to OTEL_EXPORTER_OTLP_ENDPOINT, and off without it", at: func(c *Config) any { return &c.Tracing.Endpoint }},
}
