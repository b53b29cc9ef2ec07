package settings

import (
	"fmt"
	"net"
	"net/url"
	"strings"

	"github.com/yardmaster/yardmaster/serve/live"
)

// whole reports what is wrong with settings together, each with where it was
// given.
func (r *Resolved) whole() (errs []error) {
	c := &r.Config
	fail := func(key, format string, args ...any) {
		v := r.Value(key)
		where := v.Where
		if where == "" {
			where = string(v.Source)
		}
		errs = append(errs, mistake(where, key, "%s %s", key, fmt.Sprintf(format, args...)))
	}
	c.wholeHTTP(fail)
	c.wholeModels(fail)
	r.wholeNATS(fail)
	if g := c.Serve.Guard; g.Hedge >= 1-g.Reserve {
		fail("guard.hedge", "is %v, want less than 1 - guard.reserve (%.3g)", g.Hedge, 1-g.Reserve)
	}
	return errs
}

// fail reports what is wrong about a key.
type fail = func(key, format string, args ...any)

func (c *Config) wholeModels(fail fail) {
	m := &c.Serve.Models
	repository := m.Root != "" || m.Bucket != ""
	if m.Mode.Mode != live.Canary && m.Mode.Share != 0 {
		fail("models.share", "is for models.mode canary")
	}
	if m.Root != "" && m.Bucket != "" {
		fail("models.bucket", "and models.root exclude each other")
	}
	if m.Bucket != "" && m.Cache == "" {
		fail("models.bucket", "needs models.cache, a folder for the copies of what it holds")
	}
	if m.Bucket == "" && m.Cache != "" {
		fail("models.cache", "is of no use without models.bucket")
	}
	if m.Name != "" && !repository {
		fail("models.name", "is of no use without models.root or models.bucket")
	}
}

func (c *Config) wholeHTTP(fail fail) {
	if c.HTTP.Pprof && c.HTTP.Addr == "" {
		fail("http.pprof", "needs http.addr, such as --http 127.0.0.1:8088")
	}
	if host, _, err := net.SplitHostPort(c.HTTP.Addr); c.HTTP.Addr != "" {
		switch {
		case err != nil:
			fail("http.addr", "is %q, want host:port such as 127.0.0.1:8088", c.HTTP.Addr)
		case c.HTTP.Pprof && !Loopback(host):
			fail("http.addr", "is %q, want a loopback address such as 127.0.0.1:8088: profiles (http.pprof) tell everything about the process", c.HTTP.Addr)
		}
	}
}

func (r *Resolved) wholeNATS(fail fail) {
	c := &r.Config
	if c.Serve.URL == "" && c.NATS.Context == "" {
		for _, v := range r.Values {
			if v.Setting.Section() == "nats" && v.Source != FromDefault && v.Text != v.Setting.Default {
				fail(v.Setting.Key, "is of no use without nats.url or nats.context: the own broker asks for nothing")
			}
		}
	}
	for one := range strings.SplitSeq(c.Serve.URL, ",") {
		if u, err := url.Parse(strings.TrimSpace(one)); err == nil && u.User != nil {
			if _, secret := u.User.Password(); secret {
				fail("nats.url", "holds a password: give nats.user and nats.password_file, which no list of processes shows")
			}
		}
	}
	if (c.NATS.User == "") != (c.NATS.PasswordFile == "") {
		fail("nats.user", "and nats.password_file go together")
	}
	if (c.NATS.Cert == "") != (c.NATS.Key == "") {
		fail("nats.cert", "and nats.key go together")
	}
}

// Loopback reports whether host is this machine alone.
func Loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
