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
	} else if err := s.apply(next); err != nil {
		s.logger.Error("reload: the configuration cannot be applied, the old one is kept", "error", err)
		status += ", with an older configuration: the new one cannot be applied"
	}
	if err := systemd.Ready(status); err != nil {
		s.logger.Warn("systemd", "error", err)
	}
}

// apply applies what differs in next, and the models of the run, which may be new.
func (s *service) apply(next *settings.Resolved) error {
	merged := s.settings.With(next)
	cfg := merged.Config.Serve.Guard
	served, err := loadRunModels(&merged.Config, &cfg)
	if err != nil {
		return err
	}
	if err := s.server.Retune(cfg); err != nil {
		return err
	}
	s.served.Store(&served)
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
	// Operators may have changed it meanwhile: only what the file changes counts.
	if mode := merged.Config.Serve.Models.Mode; mode != s.settings.Config.Serve.Models.Mode {
		if err := s.server.SetMode(mode); err != nil {
			s.logger.Error("reload: the mode is kept", "error", err)
		}
	}
	s.settings = merged
	setLevel(s.level, merged.Config.Log.Level)
	s.logger.Info("reloaded", "config", merged.File, "changed", changed, "model", cfg.ModelName, "configurer", cfg.ConfigurerName)
	return nil
}
