package main

import (
	"bufio"
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// verdict is what another solver says of a model.
type verdict struct {
	status    string // optimal, infeasible, limit or failed
	objective float64
	time      time.Duration
}

// solver is another program that reads MPS files.
type solver interface {
	name() string // with its version
	solve(path, method string, limit time.Duration) (verdict, error)
	close() error
}

//go:embed highs.py
var highsScript string

// highs is a Python process with HiGHS in it.
type highs struct {
	version string
	process *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Scanner
}

// newHighs starts HiGHS. Where Python does not have it, it is installed from PyPI
// into a virtual environment in folder.
func newHighs(ctx context.Context, folder string) (*highs, error) {
	python, err := pythonWithHighs(ctx, folder)
	if err != nil {
		return nil, err
	}
	h := &highs{process: exec.CommandContext(ctx, python, "-c", highsScript)}
	h.process.Stderr = os.Stderr
	if h.in, err = h.process.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := h.process.StdoutPipe()
	if err != nil {
		return nil, err
	}
	h.out = bufio.NewScanner(out)
	if err := h.process.Start(); err != nil {
		return nil, err
	}
	for h.out.Scan() { // HiGHS may print a banner first
		if version := strings.TrimSpace(h.out.Text()); regexp.MustCompile(`^\d+\.\d+`).MatchString(version) {
			h.version = version
			return h, nil
		}
	}
	return nil, errors.New("lporacle: HiGHS did not start")
}

func pythonWithHighs(ctx context.Context, folder string) (string, error) {
	installed := filepath.Join(folder, "bin", "python")
	for _, python := range []string{installed, "python3"} {
		if exec.CommandContext(ctx, python, "-c", "import highspy").Run() == nil {
			return python, nil
		}
	}
	fmt.Fprintln(os.Stderr, "lporacle: installing highspy into", folder)
	for _, args := range [][]string{{"python3", "-m", "venv", folder}, {installed, "-m", "pip", "install", "-q", "highspy"}} {
		c := exec.CommandContext(ctx, args[0], args[1:]...)
		c.Stderr = os.Stderr
		if err := c.Run(); err != nil {
			return "", fmt.Errorf("lporacle: %s: %w", strings.Join(args, " "), err)
		}
	}
	return installed, nil
}

func (h *highs) name() string { return "HiGHS " + h.version }

func (h *highs) solve(path, method string, limit time.Duration) (verdict, error) {
	if _, err := fmt.Fprintf(h.in, "%s %s %g\n", path, method, limit.Seconds()); err != nil {
		return verdict{}, err
	}
	for h.out.Scan() {
		words := strings.Fields(h.out.Text())
		if len(words) != 3 {
			continue // something HiGHS had to say
		}
		objective, err1 := strconv.ParseFloat(words[1], 64)
		seconds, err2 := strconv.ParseFloat(words[2], 64)
		if err1 == nil && err2 == nil {
			return verdict{words[0], objective, time.Duration(seconds * float64(time.Second))}, nil
		}
	}
	return verdict{}, errors.New("lporacle: HiGHS ended")
}

func (h *highs) close() error {
	return errors.Join(h.in.Close(), h.process.Wait())
}

// command is a solver that is started anew for each file.
type command struct {
	ctx                 context.Context
	title               string
	args                func(path, method string, limit time.Duration) []string
	optimal, infeasible *regexp.Regexp // the first group of optimal is the objective
	seconds             *regexp.Regexp // time spent, nil if the program does not say
}

// newCLP returns CLP, or nil if it is not installed.
func newCLP(ctx context.Context) *command {
	if _, err := exec.LookPath("clp"); err != nil {
		return nil
	}
	return &command{
		ctx: ctx, title: "CLP " + version(ctx, "clp", "-stop"),
		args: func(path, _ string, limit time.Duration) []string {
			return []string{"clp", path, "-seconds", fmt.Sprint(limit.Seconds()), "-primalTolerance", "1e-10", "-dualTolerance", "1e-10", "-dualsimplex"}
		},
		optimal:    regexp.MustCompile(`Optimal objective (\S+)`),
		infeasible: regexp.MustCompile(`infeasible`),
		seconds:    regexp.MustCompile(`time (\d+\.\d+)`),
	}
}

// newGLPK returns GLPK, or nil if it is not installed.
func newGLPK(ctx context.Context) *command {
	if _, err := exec.LookPath("glpsol"); err != nil {
		return nil
	}
	return &command{
		ctx: ctx, title: "GLPK " + version(ctx, "glpsol", "--version"),
		args: func(path, _ string, limit time.Duration) []string {
			return []string{"glpsol", "--freemps", path, "--tmlim", fmt.Sprint(max(1, int(limit.Seconds()))), "-o", "/dev/stdout"}
		},
		optimal:    regexp.MustCompile(`Objective: +COST = (\S+)`),
		infeasible: regexp.MustCompile(`NO (?:PRIMAL )?FEASIBLE SOLUTION`),
	}
}

// version returns the first number with a point in it that a program prints.
func version(ctx context.Context, args ...string) string {
	out, _ := exec.CommandContext(ctx, args[0], args[1:]...).CombinedOutput() // a missing one is not fatal
	return string(regexp.MustCompile(`\d+\.\d+(\.\d+)?`).Find(out))
}

func (c *command) name() string { return c.title }
func (c *command) close() error { return nil }

func (c *command) solve(path, method string, limit time.Duration) (verdict, error) {
	args := c.args(path, method, limit)
	start := time.Now()
	// Solvers end with 1 for all kinds of reasons: what they print counts.
	// Their own limits are in processor time, which on a busy machine takes long.
	ctx, stop := context.WithTimeout(c.ctx, 2*limit)
	defer stop()
	out, _ := exec.CommandContext(ctx, args[0], args[1:]...).CombinedOutput()
	v := verdict{status: "failed", time: time.Since(start)}
	if c.ctx.Err() != nil {
		return v, c.ctx.Err()
	}
	if c.seconds != nil {
		if m := c.seconds.FindSubmatch(out); m != nil {
			if s, err := strconv.ParseFloat(string(m[1]), 64); err == nil {
				v.time = time.Duration(s * float64(time.Second))
			}
		}
	}
	switch m := c.optimal.FindSubmatch(out); {
	case c.infeasible.Match(out):
		v.status = "infeasible"
	case m != nil:
		if objective, err := strconv.ParseFloat(string(m[1]), 64); err == nil {
			v.status, v.objective = "optimal", objective
		}
	case ctx.Err() != nil:
		v.status = "limit"
	case bytes.Contains(bytes.ToLower(out), []byte("stopped")) || bytes.Contains(out, []byte("TIME LIMIT")):
		v.status = "limit"
	}
	return v, nil
}
