package main

import (
	"github.com/yardmaster/yardmaster/serve/settings"
	"github.com/yardmaster/yardmaster/serve/systemd"
)

// reload reads the settings again and applies what can change while the service
// runs. If anything is wrong, nothing changes.
func (s *service) reload() {
	if err := systemd.Reloading(); err != nil {
		s.logger.Warn("systemd", "error", err)
	}
	status := "serving on " + s.server.URL()
	if next, err := s.load(); err != nil {
		for _, m := range settings.Mistakes(err) {
			s.logger.Error("reload: the configuration is wrong, the old one is kept", "where", m.Where, "key", m.Key, "error", m.Text)
		}
		status += ", with an older configuration: the new one is wrong"
	} else {
		s.apply(next)
	}
	if err := systemd.Ready(status); err != nil {
		s.logger.Warn("systemd", "error", err)
	}
}

// apply applies what differs in next.
func (s *service) apply(next *settings.Resolved) {
	changed := 0
	for _, x := range s.settings.Changes(next) {
		from, to := s.settings.Value(x.Key), next.Value(x.Key)
		if !x.Reload {
			s.logger.Warn("reload: a setting changed that needs a restart", "key", x.Key, "from", from.Text, "to", to.Text, "where", to.Where)
			continue
		}
		changed++
		s.logger.Info("reload: a setting changed", "key", x.Key, "from", from.Text, "to", to.Text, "where", to.Where)
	}
	s.settings = s.settings.With(next)
	setLevel(s.level, s.settings.Config.Log.Level)
	s.logger.Info("reloaded", "config", s.settings.File, "changed", changed)
}
