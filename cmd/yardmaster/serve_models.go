package main

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/yardmaster/yardmaster/agent/lp"
	"github.com/yardmaster/yardmaster/agent/neural"
	"github.com/yardmaster/yardmaster/models"
	"github.com/yardmaster/yardmaster/models/repository"
	"github.com/yardmaster/yardmaster/serve"
	"github.com/yardmaster/yardmaster/serve/guard"
	"github.com/yardmaster/yardmaster/serve/inference"
	"github.com/yardmaster/yardmaster/serve/live"
	"github.com/yardmaster/yardmaster/serve/settings"
	"github.com/yardmaster/yardmaster/train/tune"
)

// assemble returns the configuration of the service that the settings ask for,
// with its policies, and the models of the run.
func assemble(c *settings.Config, logger *slog.Logger) (serve.Config, []inference.Served, error) {
	cfg := c.Serve
	cfg.Logger, cfg.Version = logger, version
	if cfg.Broker.StoreDir == "" {
		cfg.Broker.StoreDir = filepath.Join(c.Run, "store")
	}
	var err error
	if cfg.URL, cfg.Options, err = c.NATS.Connection(cfg.URL); err != nil {
		return cfg, nil, err
	}
	if cfg.Models.Log.Dir != "" {
		cfg.Models.Log.Create = createDecisionFile
	}
	if _, err := os.Stat(c.Run); err != nil {
		return cfg, nil, fmt.Errorf("run: %w: want a folder, an empty one is served by the linear program", err)
	}
	if err := loadPrograms(c, &cfg.Guard); err != nil {
		return cfg, nil, err
	}
	served, err := loadRunModels(c, &cfg.Guard)
	return cfg, served, err
}

// loadPrograms makes the policies that need no model.
func loadPrograms(c *settings.Config, cfg *guard.Config) (err error) {
	fallback, err := policies().New(c.Fallback)
	if err != nil {
		return usageError{err}
	}
	cfg.Fallback = fallback
	if program, ok := fallback.(*lp.Policy); ok {
		cfg.Fallback = guard.LP{Policy: program}
	}
	cfg.Greedy, err = policies().New("density")
	return err
}

// loadRunModels loads the models of the run. A model that is not there is no fault: the
// linear program decides. A model that does not fit, or does not come to what it
// came to where it was trained, is one.
func loadRunModels(c *settings.Config, cfg *guard.Config) (served []inference.Served, err error) {
	cfg.NonFinite = neural.ErrNonFinite
	dirs := []string{"model", tune.ModelDir}
	if c.Serve.Models.Root != "" || c.Serve.Models.Bucket != "" {
		dirs = dirs[1:] // policies come from there
	}
	for _, dir := range dirs {
		dir = filepath.Join(c.Run, dir)
		m, err := models.Load(dir)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		warm, err := live.Warm(repository.ID{}, m)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", dir, err)
		}
		if warm.Policy != nil {
			cfg.Policy, cfg.ModelName = warm.Policy, warm.Name
		} else {
			cfg.Configurer, cfg.ConfigurerName = warm.Configurer, warm.Name
		}
		served = append(served, inference.Served{Name: string(m.Manifest.Kind), Model: m})
	}
	return served, nil
}
