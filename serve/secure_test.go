package serve_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"github.com/yardmaster/yardmaster/serve"
	"github.com/yardmaster/yardmaster/serve/client"
	"github.com/yardmaster/yardmaster/serve/servetest"
	"github.com/yardmaster/yardmaster/serve/settings"
)

// authority signs certificates for this machine.
type authority struct {
	dir  string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{dir: t.TempDir()}
	a.cert, a.key = a.sign(t, "ca", &x509.Certificate{IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign})
	return a
}

// sign makes NAME.pem and NAME.key.
func (a *authority) sign(t *testing.T, name string, c *x509.Certificate) (*x509.Certificate, *ecdsa.PrivateKey) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c.SerialNumber, c.Subject = big.NewInt(time.Now().UnixNano()), pkix.Name{CommonName: name}
	c.NotBefore, c.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	c.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1)}
	c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	parent, signer := a.cert, a.key
	if parent == nil {
		parent, signer = c, key
	}
	der, err := x509.CreateCertificate(rand.Reader, c, parent, &key.PublicKey, signer)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for file, block := range map[string]*pem.Block{".pem": {Type: "CERTIFICATE", Bytes: der}, ".key": {Type: "PRIVATE KEY", Bytes: secret}} {
		if err := os.WriteFile(a.file(name+file), pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	signed, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return signed, key
}

func (a *authority) file(name string) string { return filepath.Join(a.dir, name) }

// issuer is an operator with one account, whose users have credentials.
type issuer struct {
	operator, account nkeys.KeyPair
	trusted           *jwt.OperatorClaims
	resolver          *server.MemAccResolver
	system            string // id of the system account
}

func newIssuer(t *testing.T) *issuer {
	t.Helper()
	must := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	var i issuer
	var err error
	i.operator, err = nkeys.CreateOperator()
	must(err)
	i.account, err = nkeys.CreateAccount()
	must(err)
	id, err := i.operator.PublicKey()
	must(err)
	i.trusted = jwt.NewOperatorClaims(id)
	i.resolver = new(server.MemAccResolver)
	add := func(account nkeys.KeyPair, limits jwt.JetStreamLimits) string {
		id, err := account.PublicKey()
		must(err)
		claims := jwt.NewAccountClaims(id)
		claims.Limits.JetStreamLimits = limits
		token, err := claims.Encode(i.operator)
		must(err)
		must(i.resolver.Store(id, token))
		return id
	}
	add(i.account, jwt.JetStreamLimits{MemoryStorage: -1, DiskStorage: -1, Streams: -1, Consumer: -1})
	system, err := nkeys.CreateAccount()
	must(err)
	i.system = add(system, jwt.JetStreamLimits{})
	return &i
}

// credentials writes the file that a user logs in with.
func (i *issuer) credentials(t *testing.T, file string) {
	t.Helper()
	user, err := nkeys.CreateUser()
	if err != nil {
		t.Fatal(err)
	}
	id, _ := user.PublicKey()
	claims := jwt.NewUserClaims(id)
	token, err := claims.Encode(i.account)
	if err != nil {
		t.Fatal(err)
	}
	seed, _ := user.Seed()
	text, err := jwt.FormatUserConfig(token, seed)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// Service and cluster over TLS with certificates on both sides, with credentials,
// with TLS from the first byte, and with a context of the nats tool that names all
// of it. Without any of these they are not let in.
func TestTLSAndCredentials(t *testing.T) {
	a, i := newAuthority(t), newIssuer(t)
	for _, name := range []string{"server", "service", "c1"} {
		a.sign(t, name, &x509.Certificate{})
	}
	i.credentials(t, a.file("service.creds"))
	i.credentials(t, a.file("c1.creds"))
	pair, err := tls.LoadX509KeyPair(a.file("server.pem"), a.file("server.key"))
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	broker, err := server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: server.RANDOM_PORT, NoSigs: true, NoLog: true, JetStream: true, StoreDir: t.TempDir(),
		TLS: true, TLSHandshakeFirst: true, TLSTimeout: patience.Seconds(),
		TLSConfig:        &tls.Config{Certificates: []tls.Certificate{pair}, ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert, MinVersion: tls.VersionTLS12},
		TrustedOperators: []*jwt.OperatorClaims{i.trusted}, AccountResolver: i.resolver, SystemAccount: i.system,
	})
	if err != nil {
		t.Fatal(err)
	}
	broker.Start()
	t.Cleanup(func() {
		broker.Shutdown()
		broker.WaitForShutdown()
	})
	if !broker.ReadyForConnections(patience) {
		t.Fatal("broker is not ready")
	}
	context := a.file("context.json")
	text := `{"url": "` + broker.ClientURL() + `", "creds": "` + a.file("service.creds") + `", "ca": "` + a.file("ca.pem") + `",
		"cert": "` + a.file("service.pem") + `", "key": "` + a.file("service.key") + `", "tls_first": true}`
	if err := os.WriteFile(context, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	reach := func(n settings.NATS, url string) (string, []nats.Option) {
		t.Helper()
		url, options, err := n.Connection(url)
		if err != nil {
			t.Fatal(err)
		}
		return url, options
	}
	url, options := reach(settings.NATS{Context: context}, "")
	startQuietly(t, serve.Config{URL: url, Options: options, Guard: servetest.Guard(t)})

	c1 := settings.NATS{Creds: a.file("c1.creds"), CA: a.file("ca.pem"), Cert: a.file("c1.pem"), Key: a.file("c1.key"), TLSFirst: true}
	url, options = reach(c1, broker.ClientURL())
	c, err := client.Connect(t.Context(), client.Config{URL: url, Options: options, Cluster: "c1"})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	decision(t, c, &servetest.State(t, 1, 1).State)

	for name, spoil := range map[string]func(*settings.NATS){
		"no credentials": func(n *settings.NATS) { n.Creds = "" },
		"no certificate": func(n *settings.NATS) { n.Cert, n.Key = "", "" },
		"no authority":   func(n *settings.NATS) { n.CA = "" },
	} {
		less := c1
		spoil(&less)
		url, options = reach(less, broker.ClientURL())
		if c, err := client.Connect(t.Context(), client.Config{URL: url, Options: options, Cluster: "c1", ConnectTimeout: 500 * time.Millisecond}); err == nil {
			t.Errorf("%s: connected", name)
			c.Close()
		}
	}
}
