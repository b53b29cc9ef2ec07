package main

import (
	"io"
	"log/slog"
	"os"

	"golang.org/x/term"

	"github.com/yardmaster/yardmaster/serve/settings"
)

// newLogger returns the logger that the settings ask for; level follows changes.
func newLogger(stderr io.Writer, l settings.Log, level *slog.LevelVar) (*slog.Logger, error) {
	setLevel(level, l.Level)
	options := &slog.HandlerOptions{Level: level}
	text := l.Format == "text"
	if l.Format == "auto" {
		f, ok := stderr.(*os.File)
		text = ok && term.IsTerminal(int(f.Fd()))
	}
	if text {
		return slog.New(slog.NewTextHandler(stderr, options)), nil
	}
	return slog.New(slog.NewJSONHandler(stderr, options)), nil
}

// setLevel sets a level by its name, which the settings have checked.
func setLevel(level *slog.LevelVar, name string) {
	var l slog.Level
	if err := l.UnmarshalText([]byte(name)); err == nil {
		level.Set(l)
	}
}
