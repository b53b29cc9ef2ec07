package env

import (
	"errors"
	"fmt"
	"strings"
)

// AnyType as Quota.Type means GPUs of all types together.
const AnyType = -1

// Quota limits what the jobs of one tenant hold together.
type Quota struct {
	Tenant string `json:"tenant"`
	Type   int    `json:"type"` // index into Cluster.Types, or AnyType
	GPUs   int    `json:"gpus"` // >= 0; shared GPUs count in part
}

// compareQuotas orders quotas by (Tenant, Type).
func compareQuotas(a, b *Quota) int {
	if c := strings.Compare(a.Tenant, b.Tenant); c != 0 {
		return c
	}
	return a.Type - b.Type
}

// ValidateQuotas reports everything that is wrong with quotas of c, up to ten
// problems at once: they are ordered by (Tenant, Type), one for each.
func ValidateQuotas(quotas []Quota, c *Cluster) error {
	if len(quotas) > MaxQuotas {
		return fmt.Errorf("env: %d quotas, want at most %d", len(quotas), MaxQuotas)
	}
	var errs []error
	for i := range quotas {
		q := &quotas[i]
		if q.Type < AnyType || q.Type >= len(c.Types) {
			errs = append(errs, fmt.Errorf("env: quotas[%d].type is %d, want %d to %d", i, q.Type, AnyType, len(c.Types)-1))
		}
		if q.GPUs < 0 || q.GPUs > MaxNodes*MaxGPUsPerNode {
			errs = append(errs, fmt.Errorf("env: quotas[%d].gpus is %d, want 0 to %d", i, q.GPUs, MaxNodes*MaxGPUsPerNode))
		}
		if i > 0 && compareQuotas(&quotas[i-1], q) >= 0 {
			errs = append(errs, fmt.Errorf("env: quotas[%d] of tenant %.64q is out of order, want quotas ordered by (tenant, type), each once", i, q.Tenant))
		}
		if len(errs) >= MaxReported {
			break
		}
	}
	return errors.Join(errs...)
}
