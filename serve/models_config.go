package serve

import (
	"errors"
	"fmt"
	"time"

	"github.com/yardmaster/yardmaster/models/repository"
	"github.com/yardmaster/yardmaster/serve/decisionlog"
	"github.com/yardmaster/yardmaster/serve/live"
)

// Models says where the learned policies come from. With neither Root nor Bucket
// they are those of Guard, for the life of the service; with one of them Guard's
// policy is ignored, its configurer decides until one is loaded, and models are
// loaded, promoted and taken back at run time.
type Models struct {
	Root   string // folder of a repository (package models/repository)
	Bucket string // object store bucket of JetStream (package serve/modelstore)
	// Cache is a folder for Bucket: a copy of each model that was ready, for the
	// time when the bucket cannot be read, and what is in use. It must be given
	// with Bucket and belong to one service.
	Cache string

	// Name is the model that is loaded at the start where nothing was in use
	// before; "" loads none. Version is which of it: a version or "latest", the
	// default.
	Name    string
	Version string

	// Modes is a folder that keeps the modes of clusters; default Root, or Cache,
	// or none: then they are forgotten at the end.
	Modes string
	// Mode is that of all clusters until it is changed; default policy.
	Mode live.Setting

	LoadTimeout  time.Duration // bounds one load: fetching, checking, warming up; 60 s
	FetchTimeout time.Duration // bounds one read of Bucket; 10 s
	// RollbackAfter is after how many decisions in a row that the guard took from
	// the active model for its regret, or because it failed again and again, the
	// previous model is put back, if there is one; 0 is 100, negative never.
	RollbackAfter int

	// ShadowTimeout bounds the learned decision of a cluster in mode shadow, which
	// nobody waits for; 10 s.
	ShadowTimeout time.Duration
	// Log gets the decisions of clusters in mode shadow, and those the guard
	// compared. Without Log.Create there is none.
	Log decisionlog.Config
}

func (m *Models) fillDefaults() {
	if m.Version == "" {
		m.Version = repository.Latest
	}
	if m.Modes == "" {
		m.Modes = m.Root
	}
	if m.Modes == "" {
		m.Modes = m.Cache
	}
	if m.Mode.Mode == "" {
		m.Mode.Mode = live.Policy
	}
	if m.LoadTimeout == 0 {
		m.LoadTimeout = time.Minute
	}
	if m.FetchTimeout == 0 {
		m.FetchTimeout = 10 * time.Second
	}
	if m.RollbackAfter == 0 {
		m.RollbackAfter = 100
	}
	if m.ShadowTimeout == 0 {
		m.ShadowTimeout = 10 * time.Second
	}
}

func (m *Models) validate() []error {
	var errs []error
	if m.Root != "" && m.Bucket != "" {
		errs = append(errs, fmt.Errorf("serve: config: Models has Root %q and Bucket %q, want one", m.Root, m.Bucket))
	}
	if m.Bucket != "" && m.Cache == "" {
		errs = append(errs, errors.New("serve: config: Models.Cache is empty, want a folder for the copies of what Bucket holds"))
	}
	if m.Bucket == "" && m.Cache != "" {
		errs = append(errs, errors.New("serve: config: Models.Cache is given without Models.Bucket"))
	}
	if m.Bucket != "" && !streamPattern.MatchString(m.Bucket) {
		errs = append(errs, fmt.Errorf("serve: config: Models.Bucket is %q, want 1 to 255 of A-Z a-z 0-9 _ -", m.Bucket))
	}
	if m.Name != "" {
		if err := repository.CheckName(m.Name); err != nil {
			errs = append(errs, fmt.Errorf("serve: config: Models.Name: %w", err))
		}
		if m.Root == "" && m.Bucket == "" {
			errs = append(errs, errors.New("serve: config: Models.Name is given without Models.Root or Models.Bucket"))
		}
	}
	if m.Version != repository.Latest {
		if _, err := repository.ParseVersion(m.Version); err != nil {
			errs = append(errs, fmt.Errorf("serve: config: Models.Version: %w, or latest", err))
		}
	}
	if err := m.Mode.Validate(); err != nil {
		errs = append(errs, fmt.Errorf("serve: config: Models.Mode: %w", err))
	}
	if m.LoadTimeout < 0 || m.FetchTimeout < 0 || m.ShadowTimeout < 0 {
		errs = append(errs, fmt.Errorf("serve: config: Models has LoadTimeout %v, FetchTimeout %v and ShadowTimeout %v, want all > 0", m.LoadTimeout, m.FetchTimeout, m.ShadowTimeout))
	}
	return append(errs, m.Log.Validate()...)
}
