package settings

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"
)

// authority makes certificates for 127.0.0.1, as files.
func authority(t *testing.T) (ca, cert, key string) {
	t.Helper()
	secret, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	signed, err := x509.CreateCertificate(rand.Reader, template, template, secret.Public(), secret)
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := x509.MarshalPKCS8PrivateKey(secret)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for path, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: signed}, key: {Type: "PRIVATE KEY", Bytes: encoded}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return cert, cert, key
}

// listening starts a server and returns its URL.
func listening(t *testing.T, o server.Options) string {
	t.Helper()
	o.Host, o.Port, o.NoLog, o.NoSigs = "127.0.0.1", server.RANDOM_PORT, true, true
	s, err := server.NewServer(&o)
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() {
		s.Shutdown()
		s.WaitForShutdown()
	})
	if !s.ReadyForConnections(20 * time.Second) {
		t.Fatal("the server does not listen")
	}
	return s.ClientURL()
}

func file(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// context writes a context as the nats tool does, and returns its name.
func context(t *testing.T, fields map[string]any) string {
	t.Helper()
	root := t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", root)
	data, err := json.Marshal(fields)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(root, "nats", "context")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "prod.json"), data, 0o600); err != nil {
		t.Fatal(err)
	}
	return "prod"
}

// Real servers let in who proves who it is in each of the ways, and nobody else.
func TestConnection(t *testing.T) {
	ca, cert, key := authority(t)
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(pair.Leaf)
	secure := server.Options{TLSConfig: &tls.Config{Certificates: []tls.Certificate{pair}, ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert}, TLSTimeout: 20, TLSVerify: true}
	first := secure
	first.TLSHandshakeFirst = true
	user, err := nkeys.CreateUser()
	if err != nil {
		t.Fatal(err)
	}
	seed, err := user.Seed()
	if err != nil {
		t.Fatal(err)
	}
	public, err := user.PublicKey()
	if err != nil {
		t.Fatal(err)
	}
	open := listening(t, server.Options{Username: "ym", Password: "s3cret:@/"})
	for name, test := range map[string]struct {
		url  string
		nats func(t *testing.T) NATS
	}{
		"password":  {open, func(t *testing.T) NATS { return NATS{User: "ym", PasswordFile: file(t, "s3cret:@/\n")} }},
		"token":     {listening(t, server.Options{Authorization: "t0ken"}), func(t *testing.T) NATS { return NATS{TokenFile: file(t, "t0ken")} }},
		"nkey":      {listening(t, server.Options{Nkeys: []*server.NkeyUser{{Nkey: public}}}), func(t *testing.T) NATS { return NATS{NKey: file(t, string(seed))} }},
		"tls":       {listening(t, secure), func(*testing.T) NATS { return NATS{CA: ca, Cert: cert, Key: key} }},
		"tls first": {listening(t, first), func(*testing.T) NATS { return NATS{CA: ca, Cert: cert, Key: key, TLSFirst: true} }},
		"context": {"", func(t *testing.T) NATS {
			return NATS{Context: context(t, map[string]any{"url": open, "user": "ym", "password": "s3cret:@/", "inbox_prefix": "_INBOX", "color_scheme": "red"})}
		}},
		"context with TLS": {"", func(t *testing.T) NATS {
			return NATS{Context: context(t, map[string]any{"url": listening(t, first), "ca": ca, "cert": cert, "key": key, "tls_first": true})}
		}},
		"over the context": {"", func(t *testing.T) NATS {
			return NATS{Context: context(t, map[string]any{"url": open, "nkey": "/nowhere"}), User: "ym", PasswordFile: file(t, "s3cret:@/")}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			url, options, err := test.nats(t).Connection(test.url)
			if err != nil {
				t.Fatal(err)
			}
			nc, err := nats.Connect(url, append(options, nats.Timeout(20*time.Second))...)
			if err != nil {
				t.Fatal(err)
			}
			nc.Close()
			patience := 20 * time.Second
			if strings.Contains(name, "TLS") || name == "tls first" { // the server waits for TLS without a word
				patience = 100 * time.Millisecond
			}
			if nc, err := nats.Connect(url, nats.Timeout(patience)); err == nil {
				nc.Close()
				t.Error("anybody is let in")
			}
		})
	}
}

func TestConnectionMistakes(t *testing.T) {
	for name, test := range map[string]struct {
		nats func(t *testing.T) NATS
		want string
	}{
		"no context":     {func(*testing.T) NATS { return NATS{Context: "/nowhere/x.json"} }, "/nowhere/x.json"},
		"no JSON":        {func(t *testing.T) NATS { return NATS{Context: file(t, "{") + ".json"} }, "nats.context"},
		"unsupported":    {func(t *testing.T) NATS { return NATS{Context: context(t, map[string]any{"nsc": "nsc://a"})} }, "nsc is not supported"},
		"no password":    {func(*testing.T) NATS { return NATS{User: "a", PasswordFile: "/nowhere"} }, "nats.password_file"},
		"empty password": {func(t *testing.T) NATS { return NATS{User: "a", PasswordFile: file(t, "\nx")} }, "empty line"},
		"no token":       {func(*testing.T) NATS { return NATS{TokenFile: "/nowhere"} }, "nats.token_file"},
		"no seed":        {func(t *testing.T) NATS { return NATS{NKey: file(t, "hello")} }, "nats.nkey"},
		"no certificate": {func(t *testing.T) NATS { return NATS{CA: file(t, "hello")} }, "no certificate in PEM"},
		"no pair":        {func(t *testing.T) NATS { return NATS{Cert: file(t, "a"), Key: file(t, "b")} }, "nats.cert and nats.key"},
	} {
		if _, _, err := test.nats(t).Connection("nats://127.0.0.1:1"); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want an error with %q", name, err, test.want)
		}
	}
}
