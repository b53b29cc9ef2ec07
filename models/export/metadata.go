package export

import (
	"encoding/json"
	"fmt"

	"github.com/yardmaster/yardmaster/models"
)

// Keys of the metadata.
const (
	metaKind         = "yardmaster.kind"
	metaArchitecture = "yardmaster.architecture"
	metaEncoder      = "yardmaster.encoder.version"
	metaGlobal       = "yardmaster.encoder.global"    // JSON: [{"name", "low", "high"}, …] in the order of columns
	metaCandidate    = "yardmaster.encoder.candidate" // likewise
	metaName         = "yardmaster.model.name"
	metaVersion      = "yardmaster.model.version" // left out where there is none
	metaWeights      = "yardmaster.weights_sha256"
	metaProvenance   = "yardmaster.provenance" // JSON, as in the manifest
	metaMetrics      = "yardmaster.metrics"    // JSON, as in the manifest
)

type property struct{ key, value string }

// metadata says what the model is and what its columns mean.
func (o Options) metadata(m *models.Manifest) ([]property, error) {
	list := []property{
		{metaKind, string(m.Kind)},
		{metaArchitecture, m.Architecture},
		{metaEncoder, m.Encoder.Version},
		{metaName, o.Name},
		{metaWeights, m.SHA256},
	}
	if o.Version != "" {
		list = append(list, property{metaVersion, o.Version})
	}
	for _, p := range []struct {
		key   string
		value any
	}{{metaGlobal, m.Encoder.Global}, {metaCandidate, m.Encoder.Candidate}, {metaProvenance, m.Provenance}, {metaMetrics, m.Metrics}} {
		text, err := json.Marshal(p.value)
		if err != nil {
			return nil, fmt.Errorf("export: %s: %w", p.key, err)
		}
		list = append(list, property{p.key, string(text)})
	}
	return list, nil
}
