package broker

import (
	"fmt"
	"log/slog"
)

// logger sends the server's log to slog. Notices become debug messages: what
// the broker says on a normal day interests nobody.
type logger struct {
	to    *slog.Logger
	fatal chan string // the first fatal message; the server goes on without what failed
}

func (l *logger) Noticef(format string, v ...any) { l.to.Debug(message(format, v)) }
func (l *logger) Warnf(format string, v ...any)   { l.to.Warn(message(format, v)) }
func (l *logger) Errorf(format string, v ...any)  { l.to.Error(message(format, v)) }
func (l *logger) Debugf(format string, v ...any)  { l.to.Debug(message(format, v)) }
func (l *logger) Tracef(format string, v ...any)  { l.to.Debug(message(format, v)) }

// Fatalf does not end the process, as the server's own logger would.
func (l *logger) Fatalf(format string, v ...any) {
	l.to.Error(message(format, v))
	select {
	case l.fatal <- fmt.Sprintf(format, v...):
	default:
	}
}

func message(format string, v []any) string { return "broker: " + fmt.Sprintf(format, v...) }
