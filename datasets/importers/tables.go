package importers

import (
	"strings"
	"time"

	"github.com/yardmaster/yardmaster/datasets"
)

// Pairs collects the rows of a colocation table, as [Points] does those of a
// throughput table.
type Pairs struct {
	Collector[datasets.ColocationRow]
}

// Finish is that of [Points].
func (p *Pairs) Finish(meta datasets.Meta) (*datasets.ColocationTable, Report, error) {
	c, report, err := p.Collect(meta)
	if err != nil {
		return nil, Report{}, err
	}
	return Checked(&datasets.ColocationTable{Name: c.Name, Meta: c.Meta, Rows: c.Rows}, report)
}

// Nodes collects the rows of a cluster_nodes table, as [Points] does those of a
// throughput table.
type Nodes struct {
	Collector[datasets.NodeRow]
}

// Finish is that of [Points].
func (n *Nodes) Finish(meta datasets.Meta) (*datasets.NodeTable, Report, error) {
	c, report, err := n.Collect(meta)
	if err != nil {
		return nil, Report{}, err
	}
	return Checked(&datasets.NodeTable{Name: c.Name, Meta: c.Meta, Rows: c.Rows}, report)
}

// Type gives the GPU type of a node the name it goes by, "" where it has no GPU;
// none are the source's words for that.
func (n *Nodes) Type(s string, gpus int32, known map[string]string) string {
	if gpus == 0 || IsNone(s) {
		return ""
	}
	return n.GPUType(s, known)
}

// Quotas collects the rows of a quotas table, as [Points] does those of a
// throughput table.
type Quotas struct {
	Collector[datasets.QuotaRow]
}

// Finish is that of [Points] for rows whose From counts from 1970-01-01 UTC. It
// sorts them; the epoch is the instant of the first, in zone.
func (q *Quotas) Finish(meta datasets.Meta, zone *time.Location) (*datasets.QuotaTable, Report, error) {
	c, report, err := q.Collect(meta)
	if err != nil {
		return nil, Report{}, err
	}
	t := &datasets.QuotaTable{Name: c.Name, Meta: c.Meta, Rows: c.Rows}
	t.Sort()
	first := t.Rows[0].From
	t.Meta.Epoch = unix(first).In(zone)
	for i := range t.Rows {
		t.Rows[i].From -= first
	}
	if err := uniqueQuotas(t.Rows); err != nil {
		err.File = t.Name
		return nil, Report{}, err
	}
	return Checked(t, report)
}

// uniqueQuotas complains of a quota that is there twice.
func uniqueQuotas(rows []datasets.QuotaRow) *datasets.RowError {
	for i := 1; i < len(rows); i++ {
		a, b := &rows[i-1], &rows[i]
		if a.From == b.From && a.Cluster == b.Cluster && a.Tenant == b.Tenant && a.GPUType == b.GPUType {
			return &datasets.RowError{Column: b.Tenant, Value: "there twice", Fix: "drop one"}
		}
	}
	return nil
}

// OwnName returns a copy of a value as a name, and complains where it is empty or
// too long.
func (v *Values) OwnName(column int) string {
	if s := v.text[column]; s == "" || len(s) > datasets.MaxName {
		v.Bad(column, "want a name of 1 to 256 bytes")
	}
	return strings.Clone(v.text[column])
}
