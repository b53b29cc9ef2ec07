package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/yardmaster/yardmaster/serve/wire"
)

func newSchema() *cobra.Command {
	c := &cobra.Command{
		Use:   "schema",
		Short: "Show the JSON Schemas of the service's messages, or check a message",
		Args:  exactArgs(),
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newSchemaShow(), newSchemaValidate())
	return c
}

func newSchemaShow() *cobra.Command {
	return &cobra.Command{
		Use:   "show [NAME]",
		Short: "Print the JSON Schema of one message, or list all",
		Long: `Print the JSON Schema (draft 2020-12) of one message. Without a name, list all.

  yardmaster schema show                        the names
  yardmaster schema show state                  yardmaster.state.v1
  yardmaster schema show yardmaster.ack.v1      the same by its full name`,
		RunE: func(c *cobra.Command, args []string) error {
			switch len(args) {
			case 0:
				_, err := fmt.Fprintln(c.OutOrStdout(), strings.Join(wire.Schemas(), "\n"))
				return err
			case 1:
				return showSchema(c.OutOrStdout(), args[0])
			}
			return usageError{fmt.Errorf("got %d arguments, want at most one name (see yardmaster schema show --help)", len(args))}
		},
	}
}

func showSchema(w io.Writer, name string) error {
	full := name
	if !strings.Contains(name, ".") {
		full = "yardmaster." + name + "." + wire.Version
	}
	text, ok := wire.Schema(full)
	if !ok {
		return fmt.Errorf("no schema %q, want one of %s", name, strings.Join(wire.Schemas(), ", "))
	}
	_, err := w.Write(text)
	return err
}

func newSchemaValidate() *cobra.Command {
	return &cobra.Command{
		Use:   "validate FILE|-",
		Short: "Check a message as its receiver would",
		Long: `Check a message, such as a state, as the service and its clients do when they
receive it: that is stricter than its JSON Schema, because it also checks that
indexes point at something, that ids occur once and that all is in order.
Says where the faults are, what stands there and what should: of a state all of
them, of other messages the first. Exits with 1 if there is one. With - it reads standard input.

  nats sub yardmaster.v1.state.c1 --count 1 --raw | yardmaster schema validate -`,
		Args: exactArgs("FILE"),
		RunE: func(c *cobra.Command, args []string) error {
			data, err := readMessage(c.InOrStdin(), args[0])
			if err != nil {
				return err
			}
			schema, err := wire.Validate(data)
			if err != nil {
				return explainAll(args[0], data, schema, err)
			}
			_, err = fmt.Fprintf(c.OutOrStdout(), "%s: a valid %s of %d bytes\n", args[0], schema, len(data))
			return err
		},
	}
}

// readMessage reads at most one byte more than a message may have.
func readMessage(stdin io.Reader, name string) ([]byte, error) {
	from := stdin
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		from = f
	}
	data, err := io.ReadAll(io.LimitReader(from, wire.MaxBytes+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	return data, nil
}

// explainAll explains every fault of a state, of another message the one that its
// receiver met.
func explainAll(file string, data []byte, schema string, err error) error {
	if schema != wire.StateSchema {
		return explain(file, data, schema, err)
	}
	v := wire.Inspect(data)
	all := make([]error, len(v.Faults))
	for i, f := range v.Faults {
		all[i] = explain(file, data, schema, wire.Errorf(f.Code, f.Path, "%s", f.Message))
	}
	if v.More {
		all = append(all, fmt.Errorf("%s: and more faults than these %d", file, len(v.Faults)))
	}
	return errors.Join(all...)
}

// explain adds to a fault what stands at its place and what should.
func explain(file string, data []byte, schema string, err error) error {
	fault, ok := errors.AsType[*wire.Error](err)
	if !ok {
		return fmt.Errorf("%s: %w", file, err)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s", file, fault.Name)
	if fault.Path != "" {
		fmt.Fprintf(&b, ": %s", fault.Path)
	}
	fmt.Fprintf(&b, ": %s", fault.Message)
	value, there := wire.At(data, fault.Path)
	if fault.Path != "" && there {
		fmt.Fprintf(&b, "\n  value: %s", clip(strings.Join(strings.Fields(string(value)), " "), 120))
	}
	if part, ok := wire.Describe(schema, fault.Path); ok && fault.Path != "" {
		fmt.Fprintf(&b, "\n  want:  %s", part.Want)
		if part.Description != "" {
			fmt.Fprintf(&b, ": %s", part.Description)
		}
		if len(part.Fields) > 0 {
			fmt.Fprintf(&b, "\n         fields %s", strings.Join(part.Fields, ", "))
		}
	}
	fmt.Fprintf(&b, "\n  fix:   %s", fix(fault, there))
	return errors.New(b.String())
}

// fix says what to do about a fault.
func fix(fault *wire.Error, there bool) string {
	switch {
	case fault.Code == wire.CodeMalformed:
		return "send one JSON object in UTF-8, whole, with nothing after it"
	case fault.Code == wire.CodeTooLarge:
		return "send less: fewer jobs, fewer strategies of each, shorter names"
	case fault.Code == wire.CodeSchema:
		return "set schema to one of `yardmaster schema show`"
	case strings.HasPrefix(fault.Message, "unknown field"):
		return "remove the field or spell it as in `yardmaster schema show`"
	case !there && fault.Path != "":
		return "add the field"
	}
	return "change the value to what is wanted"
}

// clip shortens text to about n bytes.
func clip(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return strings.ToValidUTF8(text[:n], "") + " …"
}
