package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/yardmaster/yardmaster/serve/settings"
)

// defaultHTTP is where an endpoint is looked for if no setting says it.
const defaultHTTP = "127.0.0.1:8088"

func newHealthcheck() *cobra.Command {
	var file, addr string
	var live bool
	var timeout time.Duration
	c := &cobra.Command{
		Use:   "healthcheck",
		Short: "Ask a running service whether it is ready",
		Long: `Ask a running service whether it is ready, over its HTTP endpoint, as a container's
HEALTHCHECK does. It finds the endpoint as serve does: --http, YM_HTTP_ADDR, http.addr
in the file of --config or YM_CONFIG, else ` + defaultHTTP + `. Exits with 0 if it is, with 1 if
it is not or does not answer, and then says why.`,
		Args: exactArgs(),
		RunE: func(c *cobra.Command, _ []string) error {
			if timeout <= 0 {
				return usageError{fmt.Errorf("--timeout is %v, want more than 0", timeout)}
			}
			if addr == "" {
				r, err := settings.Load(settings.Input{File: file, Env: os.Environ()})
				if err != nil {
					return usageError{err}
				}
				addr = r.Config.HTTP.Addr
			}
			path := "/readyz"
			if live {
				path = "/healthz"
			}
			ctx, cancel := context.WithTimeout(c.Context(), timeout)
			defer cancel()
			return probe(ctx, endpointURL(addr)+path)
		},
	}
	c.Flags().StringVar(&addr, "http", "", "address of the endpoint, as serve was given it")
	c.Flags().StringVar(&file, "config", "", "YAML file with the settings of the service")
	c.Flags().BoolVar(&live, "live", false, "ask only whether the process answers")
	c.Flags().DurationVar(&timeout, "timeout", 3*time.Second, "how long to wait")
	return c
}

// endpointURL returns the URL of an endpoint that listens on addr: one that
// listens everywhere also does here.
func endpointURL(addr string) string {
	if addr == "" {
		addr = defaultHTTP
	}
	if host, port, err := net.SplitHostPort(addr); err == nil {
		if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
			addr = net.JoinHostPort("127.0.0.1", port)
		}
	}
	return "http://" + addr
}

// maxProbe bounds the answer that is read.
const maxProbe = 64 << 10

func probe(ctx context.Context, url string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return err
	}
	// No proxy: the service is on this machine.
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := client.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(io.LimitReader(answer.Body, maxProbe))
	if err != nil {
		return err
	}
	if answer.StatusCode != http.StatusOK {
		return errors.New(strings.ReplaceAll(strings.TrimSpace(fmt.Sprintf("%s: %s", url, body)), "\n", "; "))
	}
	return nil
}
