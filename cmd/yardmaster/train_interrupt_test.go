//go:build unix

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
)

// deafEnv makes TestDeafProgram a program that does not stop when it is asked to.
const deafEnv = "YARDMASTER_TEST_DEAF"

func TestDeafProgram(t *testing.T) {
	if os.Getenv(deafEnv) == "" {
		return // it is the other process of the next test
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	defer quitOnSecondInterrupt(ctx, os.Stderr)()
	fmt.Fprintln(os.Stderr, "ready")
	select {}
}

// The first Ctrl-C says what happens, the second ends even a program that does not
// stop.
func TestSecondInterruptQuits(t *testing.T) {
	c := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestDeafProgram$")
	c.Env = append(os.Environ(), deafEnv+"=1")
	stderr, err := c.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	var said []string
	for lines := bufio.NewScanner(stderr); lines.Scan(); {
		line := lines.Text()
		said = append(said, line)
		if line == "ready" || strings.HasPrefix(line, "yardmaster: stopping") {
			if err := c.Process.Signal(os.Interrupt); err != nil {
				t.Fatal(err)
			}
		}
	}
	exit, ok := errors.AsType[*exec.ExitError](c.Wait())
	if !ok || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGINT || len(said) != 3 {
		t.Errorf("got %v after %q, want the end by the second interrupt", exit, said)
	}
}
