package settings

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/nats-io/nats.go"
)

// NATS says how the service proves who it is to an external server. Secrets are
// in files.
type NATS struct {
	Context      string // of the nats command line tool: a name, or the path of its file
	Creds        string // JWT and key of the user
	NKey         string // seed
	User         string
	PasswordFile string
	TokenFile    string
	CA           string // certificates that sign the server's, PEM
	Cert, Key    string // the client's, PEM
	TLSFirst     bool
}

// maxSecretBytes bounds the files of passwords and tokens.
const maxSecretBytes = 64 << 10

// Connection returns the server's URL, that of the context where url is empty,
// and the options that connect to it. What the settings say wins over the
// context.
func (n NATS) Connection(url string) (string, []nats.Option, error) {
	var options []nats.Option
	if n.Context != "" {
		c, err := readContext(n.Context)
		if err != nil {
			return "", nil, err
		}
		options = c.secrets()
		n = n.over(c.NATS)
		if url == "" {
			url = c.URL
		}
	}
	if n.Creds != "" {
		options = append(options, nats.UserCredentials(n.Creds))
	}
	if n.NKey != "" {
		o, err := nats.NkeyOptionFromSeed(n.NKey)
		if err != nil {
			return "", nil, fmt.Errorf("nats.nkey: %s: %w", n.NKey, err)
		}
		options = append(options, o)
	}
	if n.PasswordFile != "" {
		password, err := ReadSecret(n.PasswordFile)
		if err != nil {
			return "", nil, fmt.Errorf("nats.password_file: %w", err)
		}
		options = append(options, nats.UserInfo(n.User, password))
	}
	if n.TokenFile != "" {
		token, err := ReadSecret(n.TokenFile)
		if err != nil {
			return "", nil, fmt.Errorf("nats.token_file: %w", err)
		}
		options = append(options, nats.Token(token))
	}
	secure, err := n.tls()
	if err != nil {
		return "", nil, err
	}
	return url, append(options, secure...), nil
}

// over returns n where it says something, else base.
func (n NATS) over(base NATS) NATS {
	pick := func(own *string, other string) {
		if *own == "" {
			*own = other
		}
	}
	if n.Creds == "" && n.NKey == "" && n.PasswordFile == "" && n.TokenFile == "" { // one way to prove it, not two
		n.Creds, n.NKey = base.Creds, base.NKey
	}
	pick(&n.CA, base.CA)
	pick(&n.Cert, base.Cert)
	pick(&n.Key, base.Key)
	n.TLSFirst = n.TLSFirst || base.TLSFirst
	return n
}

func (n NATS) tls() ([]nats.Option, error) {
	var options []nats.Option
	if n.CA != "" {
		pem, err := os.ReadFile(n.CA)
		if err != nil {
			return nil, fmt.Errorf("nats.ca: %w", err)
		}
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("nats.ca: %s holds no certificate in PEM", n.CA)
		}
		options = append(options, nats.RootCAs(n.CA))
	}
	if n.Cert != "" {
		if _, err := tls.LoadX509KeyPair(n.Cert, n.Key); err != nil {
			return nil, fmt.Errorf("nats.cert and nats.key: %w", err)
		}
		options = append(options, nats.ClientCert(n.Cert, n.Key))
	}
	if n.TLSFirst {
		options = append(options, nats.TLSHandshakeFirst())
	}
	return options, nil
}

// ReadSecret returns the first line of a file.
func ReadSecret(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxSecretBytes))
	if err != nil {
		return "", err
	}
	secret, _, _ := strings.Cut(string(data), "\n")
	if secret = strings.TrimSuffix(secret, "\r"); secret == "" {
		return "", errors.New(path + " begins with an empty line, want the secret")
	}
	return secret, nil
}
