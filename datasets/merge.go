package datasets

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// MergeConfig says how [Merge] puts traces together. The zero value is the
// default.
type MergeConfig struct {
	// AlignStart makes all traces begin at once: the first job of each is
	// submitted at the same time, that of the first trace. Default: instants stay
	// as they are, which needs an epoch in every trace or in none.
	AlignStart bool
	// PrefixTenants puts the name of its table before each tenant, as in
	// "philly/11cb48": traces that name their tenants alike then have none in
	// common. Jobs without tenant get the name of the table.
	PrefixTenants bool
}

// Merge returns one table with the jobs of all traces. Jobs that are submitted
// at once are in the order of the traces, then of their ids; ids are then
// numbered from 1 in the order of the table. The epoch is the earliest of all.
// Of the metadata, what traces agree on stays; sources, licences and filters
// are joined.
func Merge(cfg MergeConfig, traces ...*Jobs) (*Jobs, error) {
	if err := checkMerge(cfg, traces); err != nil {
		return nil, err
	}
	merged := &Jobs{Name: "merged", Meta: mergeMeta(traces)}
	merged.Meta.Epoch = mergedEpoch(cfg, traces)
	for _, j := range traces {
		part := Jobs{Name: j.Name, Rows: slices.Clone(j.Rows)}
		part.shift(mergedShift(cfg, traces[0], j, merged.Meta.Epoch))
		if err := part.prefixTenants(cfg.PrefixTenants); err != nil {
			return nil, err
		}
		merged.Rows = append(merged.Rows, part.Rows...)
	}
	// Rows of each trace are in order already: a stable sort keeps that and the
	// order of the traces.
	slices.SortStableFunc(merged.Rows, func(a, b Row) int { return cmp.Compare(a.Submit, b.Submit) })
	for i := range merged.Rows {
		merged.Rows[i].ID = int64(i) + 1
	}
	if err := merged.Validate(); err != nil {
		return nil, err
	}
	return merged, nil
}

func checkMerge(cfg MergeConfig, traces []*Jobs) error {
	if len(traces) == 0 {
		return errors.New("datasets: merge of no traces")
	}
	with, without := "", ""
	for _, j := range traces {
		if err := j.Validate(); err != nil {
			return err
		}
		if j.Meta.Epoch.IsZero() {
			without = j.Name
		} else {
			with = j.Name
		}
	}
	if with != "" && without != "" && !cfg.AlignStart {
		return &RowError{File: without, Value: "has no epoch, but " + with + " has one", Fix: "say that all begin at once (--align start), or set its yardmaster.epoch"}
	}
	return nil
}

// mergedEpoch returns the instant of submission 0 of the merged table.
func mergedEpoch(cfg MergeConfig, traces []*Jobs) time.Time {
	epoch := traces[0].Meta.Epoch
	if cfg.AlignStart {
		return epoch
	}
	for _, j := range traces[1:] {
		if j.Meta.Epoch.Before(epoch) {
			epoch = j.Meta.Epoch
		}
	}
	return epoch
}

// mergedShift returns what to add to the submissions of j.
func mergedShift(cfg MergeConfig, first, j *Jobs, epoch time.Time) time.Duration {
	if cfg.AlignStart {
		return first.Rows[0].Submit - j.Rows[0].Submit
	}
	return j.Meta.Epoch.Sub(epoch)
}

func (j *Jobs) prefixTenants(asked bool) error {
	if !asked {
		return nil
	}
	for i := range j.Rows {
		r := &j.Rows[i]
		if r.Tenant == "" {
			r.Tenant = j.Name
		} else {
			r.Tenant = j.Name + "/" + r.Tenant
		}
		if len(r.Tenant) > MaxName {
			return &RowError{File: j.Name, Row: int64(i) + 1, Column: columnTenant, Value: Excerpt(r.Tenant), Fix: "give the table a shorter name, or merge without names before tenants"}
		}
	}
	return nil
}

// mergeMeta joins the metadata of traces, but for the epoch.
func mergeMeta(traces []*Jobs) Meta {
	m := traces[0].Meta
	m.SchemaVersion, m.RowsIn, m.Filters = SchemaVersion, 0, nil
	var sources, licences, generators []string
	for _, j := range traces {
		sources, licences, generators = joined(sources, j.Meta.Source), joined(licences, j.Meta.Licence), joined(generators, j.Meta.Generator)
		m.RowsIn += j.Meta.RowsIn
		if j.Meta.SourceSHA256 != m.SourceSHA256 {
			m.SourceSHA256 = ""
		}
		if j.Meta.Zone != m.Zone {
			m.Zone = ""
		}
		if j.Meta.Seed != m.Seed {
			m.Seed = 0
		}
		m.Filters = append(m.Filters, partFilter(j))
		for _, filter := range j.Meta.Filters {
			m.Filters = append(m.Filters, j.Name+": "+filter)
		}
	}
	m.Source, m.Licence, m.Generator = strings.Join(sources, "; "), strings.Join(licences, "; "), strings.Join(generators, "; ")
	m.Filters = append(m.Filters, fmt.Sprintf("merged %d tables, ids numbered anew", len(traces)))
	return m
}

// partFilter says what of its metadata a merged table may lose.
func partFilter(j *Jobs) string {
	s := fmt.Sprintf("%s: %d rows", j.Name, len(j.Rows))
	if j.Meta.SourceSHA256 != "" {
		s += ", source SHA-256 " + j.Meta.SourceSHA256
	}
	if j.Meta.Generator != "" {
		s += fmt.Sprintf(", seed %d", j.Meta.Seed)
	}
	if j.Meta.Zone != "" {
		s += ", zone " + j.Meta.Zone
	}
	return s
}

// joined appends s to parts unless it is empty or among them.
func joined(parts []string, s string) []string {
	if s == "" || slices.Contains(parts, s) {
		return parts
	}
	return append(parts, s)
}
