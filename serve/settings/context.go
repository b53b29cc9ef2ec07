package settings

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/nats-io/nats.go"
)

// natsContext is a connection as the nats command line tool stores it (NATS
// ADR-21): $XDG_CONFIG_HOME/nats/context/NAME.json.
type natsContext struct {
	NATS
	URL, User, Password, Token string
}

// contextFile is the file; of its other fields (colours, JetStream domain,
// inbox prefix) the service has its own.
type contextFile struct {
	URL        string `json:"url"`
	User       string `json:"user"`
	Password   string `json:"password"`
	Token      string `json:"token"`
	Creds      string `json:"creds"`
	NKey       string `json:"nkey"`
	Cert       string `json:"cert"`
	Key        string `json:"key"`
	CA         string `json:"ca"`
	TLSFirst   bool   `json:"tls_first"`
	NSC        string `json:"nsc"`
	UserJWT    string `json:"user_jwt"`
	UserSeed   string `json:"user_seed"`
	SocksProxy string `json:"socks_proxy"`
}

func contextPath(name string) (string, error) {
	if strings.ContainsRune(name, filepath.Separator) || strings.HasSuffix(name, ".json") {
		return name, nil
	}
	root := os.Getenv("XDG_CONFIG_HOME")
	if root == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", err
		}
		root = filepath.Join(home, ".config")
	}
	return filepath.Join(root, "nats", "context", name+".json"), nil
}

func readContext(name string) (*natsContext, error) {
	path, err := contextPath(name)
	if err != nil {
		return nil, fmt.Errorf("nats.context: %w", err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("nats.context: %w (nats context ls lists them)", err)
	}
	var f contextFile
	if err := json.Unmarshal(data, &f); err != nil {
		return nil, fmt.Errorf("nats.context: %s: %w", path, err)
	}
	for field, value := range map[string]string{"nsc": f.NSC, "user_jwt": f.UserJWT, "user_seed": f.UserSeed, "socks_proxy": f.SocksProxy} {
		if value != "" {
			return nil, fmt.Errorf("nats.context: %s: %s is not supported: give nats.creds", path, field)
		}
	}
	return &natsContext{
		NATS: NATS{Creds: home(f.Creds), NKey: home(f.NKey), CA: home(f.CA), Cert: home(f.Cert), Key: home(f.Key), TLSFirst: f.TLSFirst},
		URL:  f.URL, User: f.User, Password: f.Password, Token: f.Token,
	}, nil
}

// secrets returns the options for what the context holds itself.
func (c *natsContext) secrets() []nats.Option {
	switch {
	case c.User != "" && c.Password == "": // older files keep a token there
		return []nats.Option{nats.Token(c.User)}
	case c.User != "":
		return []nats.Option{nats.UserInfo(c.User, c.Password)}
	case c.Token != "":
		return []nats.Option{nats.Token(c.Token)}
	}
	return nil
}

// home resolves the ~ that nats writes into its contexts.
func home(path string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		if dir, err := os.UserHomeDir(); err == nil {
			return filepath.Join(dir, rest)
		}
	}
	return path
}
