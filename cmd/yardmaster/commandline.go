package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/yardmaster/yardmaster/env/spelling"
)

// usageError marks what the user can mend by reading --help.
type usageError struct{ error }

func (u usageError) Unwrap() error { return u.error }

// wrongUsage is a usage error that says where the help is.
func wrongUsage(c *cobra.Command, format string, args ...any) error {
	return usageError{fmt.Errorf(format+" (see %s --help)", append(args, c.CommandPath())...)}
}

// exactArgs takes these arguments, no more and no less.
func exactArgs(names ...string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		switch {
		case len(args) < len(names):
			return wrongUsage(c, "%s is missing", strings.Join(names[len(args):], " and "))
		case len(args) == len(names):
			return nil
		case len(names) == 0 && c.HasAvailableSubCommands():
			return unknownCommand(c, args[0])
		default:
			return wrongUsage(c, "unexpected argument %q", args[len(names)])
		}
	}
}

// wrapped writes names as lines of help: indented by two, of at most 84 characters.
func wrapped(names []string) string {
	var b strings.Builder
	line := " "
	for i, name := range names {
		if i < len(names)-1 {
			name += ","
		}
		if len(line)+1+len(name) > 84 {
			b.WriteString(line + "\n")
			line = " "
		}
		line += " " + name
	}
	b.WriteString(line)
	return b.String()
}

// refuseUnknownCommands makes commands that only have others below them refuse what is
// none of those. Of its own cobra prints their help and succeeds, and a script goes on.
func refuseUnknownCommands(c *cobra.Command) {
	for _, sub := range c.Commands() {
		refuseUnknownCommands(sub)
	}
	if !c.HasSubCommands() || c.Runnable() {
		return
	}
	c.Args = exactArgs()
	c.RunE = func(c *cobra.Command, _ []string) error { return c.Help() }
	c.DisableFlagsInUseLine = true // "yardmaster trace [command]" is all of it
}

// refuseUnknownTopics makes help refuse what is no command, for the same reason.
func refuseUnknownTopics(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	help, _, _ := root.Find([]string{"help"}) // was just added
	show := help.Run
	help.Run = nil
	help.RunE = func(c *cobra.Command, args []string) error {
		topic, rest, _ := root.Find(args)
		if err := exactArgs()(topic, rest); err != nil {
			return err
		}
		show(c, args)
		return nil
	}
}

func unknownCommand(c *cobra.Command, name string) error {
	var names []string
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			names = append(names, sub.Name())
		}
	}
	if near := spelling.Nearest(name, names); near != "" {
		return wrongUsage(c, "%s has no command %q: perhaps %s", c.CommandPath(), name, near)
	}
	return wrongUsage(c, "%s has no command %q", c.CommandPath(), name)
}

// refuseZeros returns an error for each of these flags that was given as 0, which would
// silently stand for its default.
func refuseZeros(f *pflag.FlagSet, names ...string) (errs []error) {
	for _, name := range names {
		if value := f.Lookup(name).Value.String(); f.Changed(name) && (value == "0" || value == "0s") {
			errs = append(errs, fmt.Errorf("--%s is %s, want more than 0: leave it out for its default", name, value))
		}
	}
	return errs
}

// wants says what the types of pflag take, in other words than strconv.
var wants = map[string]string{
	"bool":         "true or false",
	"int":          "a whole number",
	"int64":        "a whole number",
	"uint64":       "a whole number of at least 0",
	"float64":      "a number",
	"duration":     "a time of less than 292 years with its unit, such as 90s, 6m or 1h30m",
	"intSlice":     "whole numbers with commas between them",
	"int64Slice":   "whole numbers with commas between them",
	"float64Slice": "numbers with commas between them",
}

// flagError makes what is wrong with a flag a usage error that names the value and
// what the flag takes, or the flag that was meant.
func flagError(c *cobra.Command, err error) error {
	if invalid, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		name, value := invalid.GetFlag().Name, invalid.GetValue()
		want, known := wants[invalid.GetFlag().Value.Type()]
		switch {
		case !known:
			return wrongUsage(c, "--%s: %w", name, invalid.Unwrap())
		case errors.Is(err, strconv.ErrRange):
			return wrongUsage(c, "--%s is %s, which is too large or too small", name, value)
		}
		return wrongUsage(c, "--%s is %q, want %s", name, value, want)
	}
	unknown, ok := errors.AsType[*pflag.NotExistError](err)
	if !ok || unknown.GetSpecifiedShortnames() != "" {
		return wrongUsage(c, "%w", err)
	}
	var names []string
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, f.Name)
		}
	})
	if near := spelling.Nearest(unknown.GetSpecifiedName(), names); near != "" {
		return wrongUsage(c, "%w: perhaps --%s", err, near)
	}
	return wrongUsage(c, "%w", err)
}
