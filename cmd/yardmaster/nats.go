package main

import (
	"context"
	"os"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/spf13/pflag"

	"github.com/yardmaster/yardmaster/serve/bus"
	"github.com/yardmaster/yardmaster/serve/client"
	"github.com/yardmaster/yardmaster/serve/settings"
)

// natsFlags say how to reach a broker, and as whom. The service itself has the
// same as settings.
type natsFlags struct {
	url     string
	inbox   string
	secrets settings.NATS
}

func (f *natsFlags) add(set *pflag.FlagSet) {
	set.StringVar(&f.url, "nats", "", "URL of the NATS server (default that of the context, else nats://127.0.0.1:4222)")
	set.StringVar(&f.secrets.Context, "nats-context", "", "context of the nats command line tool: a name or a file (default $NATS_CONTEXT)")
	set.StringVar(&f.secrets.Creds, "nats-creds", "", "file with the user's JWT and key")
	set.StringVar(&f.secrets.NKey, "nats-nkey", "", "file with the user's seed")
	set.StringVar(&f.secrets.User, "nats-user", "", "user name")
	set.StringVar(&f.secrets.PasswordFile, "nats-password-file", "", "file with the password")
	set.StringVar(&f.secrets.TokenFile, "nats-token-file", "", "file with the token")
	set.StringVar(&f.secrets.CA, "nats-ca", "", "file with the certificates that sign the server's")
	set.StringVar(&f.secrets.Cert, "nats-cert", "", "file with the client's certificate")
	set.StringVar(&f.secrets.Key, "nats-key", "", "file with the key of that")
	set.BoolVar(&f.secrets.TLSFirst, "nats-tls-first", false, "begin with the TLS handshake, as the server asks for with handshake_first")
	set.StringVar(&f.inbox, "inbox", "", "prefix of reply subjects that the user may subscribe to, such as _INBOX_ops")
}

// resolve returns the server's URL and how to connect to it.
func (f *natsFlags) resolve() (url string, options []nats.Option, err error) {
	if f.secrets.Context == "" && f.url == "" {
		f.secrets.Context = os.Getenv("NATS_CONTEXT")
	}
	url, options, err = f.secrets.Connection(f.url)
	if url == "" {
		url = nats.DefaultURL
	}
	if f.inbox != "" {
		options = append(options, nats.CustomInboxPrefix(f.inbox))
	}
	return url, options, err
}

// connect connects as an operator.
func (f *natsFlags) connect(ctx context.Context) (*nats.Conn, error) {
	url, options, err := f.resolve()
	if err != nil {
		return nil, err
	}
	return bus.Connect(ctx, bus.Config{URL: url, Name: "yardmaster/operator", Options: options, Timeout: 5 * time.Second})
}

// client returns how a cluster connects.
func (f *natsFlags) client(cluster, prefix string) (client.Config, error) {
	url, options, err := f.resolve()
	return client.Config{URL: url, Options: options, Cluster: cluster, Prefix: prefix}, err
}
