package serve

import (
	"strings"

	"github.com/yardmaster/yardmaster/models"
	"github.com/yardmaster/yardmaster/serve/live"
)

// ModelStats tells which models are in use and what became of them.
type ModelStats struct {
	// Degraded is whether no learned policy is in charge: the linear program
	// decides for all.
	Degraded  bool             `json:"degraded"`
	Loaded    []ModelInfo      `json:"loaded"`     // what is in use
	Loads     map[string]int64 `json:"loads"`      // by result
	LastError string           `json:"last_error"` // of the last load, empty where it went well
	Swaps     int64            `json:"swaps"`      // of the policy in charge
	Rollbacks int64            `json:"rollbacks"`  // that the service made by itself
	Mode      string           `json:"mode"`       // of clusters without one of their own
	Modes     map[string]int64 `json:"modes"`      // clusters with a mode of their own, by mode
	Shadow    ShadowStats      `json:"shadow"`
	Log       LogStats         `json:"log"`
}

// ModelInfo is one model in use.
type ModelInfo struct {
	Role    string `json:"role"` // active, previous or candidate
	Kind    string `json:"kind"`
	Name    string `json:"name"`    // of the model in the repository; the whole name where there is none
	Version string `json:"version"` // empty where there is none
	SHA     string `json:"sha"`     // first 12 digits of the hash of its weights
}

// LogStats counts decisions on their way to the log.
type LogStats struct {
	Written int64 `json:"written"`
	Dropped int64 `json:"dropped"` // too many waited
	Failed  int64 `json:"failed"`  // could not be written
	Files   int64 `json:"files"`   // completed
}

// snapshot returns a copy that the caller owns.
func (r *roster) snapshot() ModelStats {
	a := r.modes.Get()
	s := ModelStats{
		Degraded: r.current.Load().active == nil, Loaded: []ModelInfo{}, Loads: map[string]int64{}, Swaps: r.swaps.Load(), Rollbacks: r.rollbacks.Load(),
		Mode: a.Default.String(), Modes: map[string]int64{}, Shadow: r.shadow.snapshot(), Log: LogStats(r.log.Load().Stats()),
	}
	for _, setting := range a.Clusters {
		s.Modes[string(setting.Mode)]++
	}
	for _, result := range live.Results() { // zeros are told too: a reader sees what there is
		s.Loads[result] = 0
	}
	if r.set == nil {
		s.Loaded = append(s.Loaded, fixedInfo(models.JobStrategy, r.guards.Load().ModelName)...)
		s.Loaded = append(s.Loaded, fixedInfo(models.Configuration, r.guards.Load().ConfigurerName)...)
		return s
	}
	s.Loads, s.LastError = r.set.Loads()
	v := r.set.View()
	if v.Configuration.Active == nil { // until one is loaded
		s.Loaded = append(s.Loaded, fixedInfo(models.Configuration, r.cfg.Guard.ConfigurerName)...)
	}
	for _, slot := range []live.Slot{v.JobStrategy, v.Configuration} {
		for _, of := range []struct {
			role string
			m    *live.Model
		}{{"active", slot.Active}, {"previous", slot.Previous}, {"candidate", slot.Candidate}} {
			if of.m != nil {
				s.Loaded = append(s.Loaded, ModelInfo{of.role, string(of.m.Kind()), of.m.ID.Name, of.m.ID.Version.String(), of.m.Sha12()})
			}
		}
	}
	return s
}

// fixedInfo describes a model of Config.Guard by its name, such as
// job-strategy@0123456789ab.
func fixedInfo(kind models.Kind, name string) []ModelInfo {
	if name == "" {
		return nil
	}
	left, sha, _ := strings.Cut(name, "@")
	return []ModelInfo{{Role: "active", Kind: string(kind), Name: left, SHA: sha}}
}

// policyName names the learned policy in charge, "" without one.
func (r *roster) policyName() string {
	jobs, _ := r.slots()
	return jobs.Active
}
