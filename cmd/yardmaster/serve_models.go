package main

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/yardmaster/yardmaster/agent/heuristic"
	"github.com/yardmaster/yardmaster/agent/lp"
	"github.com/yardmaster/yardmaster/agent/neural"
	"github.com/yardmaster/yardmaster/models"
	"github.com/yardmaster/yardmaster/serve"
	"github.com/yardmaster/yardmaster/serve/guard"
	"github.com/yardmaster/yardmaster/serve/inference"
	"github.com/yardmaster/yardmaster/serve/settings"
	"github.com/yardmaster/yardmaster/train/tune"
)

// assemble returns the configuration of the service that the settings ask for,
// with its policies, and the models that can be asked over HTTP.
func assemble(c *settings.Config, logger *slog.Logger) (serve.Config, inference.Source, error) {
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
	served, err := loadPolicies(c, &cfg.Guard)
	return cfg, func() []inference.Served { return served }, err
}

// loadPolicies loads the models of the run. A model that is not there is no
// fault: the linear program decides. A model that does not fit is one.
func loadPolicies(c *settings.Config, cfg *guard.Config) (served []inference.Served, err error) {
	cfg.NonFinite = neural.ErrNonFinite
	if _, err := os.Stat(c.Run); err != nil {
		return nil, err
	}
	fallback, err := policies().New(c.Fallback)
	if err != nil {
		return nil, usageError{err}
	}
	cfg.Fallback = fallback
	if program, ok := fallback.(*lp.Policy); ok {
		cfg.Fallback = guard.LP{Policy: program}
	}
	if cfg.Greedy, err = policies().New("density"); err != nil {
		return nil, err
	}
	m, err := loadModel(filepath.Join(c.Run, "model"))
	if err != nil {
		return nil, err
	}
	if m != nil {
		if cfg.Policy, err = neural.NewPolicy(m); err != nil {
			return nil, err
		}
		cfg.ModelName = modelName(m)
		served = append(served, inference.Served{Name: string(m.Manifest.Kind), Model: m})
	}
	m, err = loadModel(filepath.Join(c.Run, tune.ModelDir))
	if err != nil {
		return nil, err
	}
	if m != nil {
		if cfg.Configurer, err = neural.NewConfigurer(m, heuristic.TiresiasConfigurations()); err != nil {
			return nil, err
		}
		cfg.ConfigurerName = modelName(m)
		served = append(served, inference.Served{Name: string(m.Manifest.Kind), Model: m})
	}
	return served, nil
}

// loadModel returns nil where there is no model.
func loadModel(dir string) (*models.Model, error) {
	m, err := models.Load(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return m, err
}

// modelName identifies a model in messages by its kind and weights.
func modelName(m *models.Model) string {
	return fmt.Sprintf("%s@%.12s", m.Manifest.Kind, m.Manifest.SHA256)
}
