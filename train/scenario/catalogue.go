package scenario

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"

	"github.com/yardmaster/yardmaster/datasets"
	"github.com/yardmaster/yardmaster/env/perf"
)

// Catalogue is the built-in catalogue with what the files of a user add to it or
// replace in it, those of later files last.
type Catalogue struct {
	*perf.Catalogue
	Texts [][]byte // of the files
}

// ReadCatalogue reads the files of a user's GPU types and models, in the form of
// env/perf/gpus.yaml and env/perf/models.yaml. Errors name the file.
func ReadCatalogue(paths []string) (*Catalogue, error) {
	c := &Catalogue{Catalogue: perf.Default()}
	for _, path := range paths {
		text, err := readBounded(path)
		if err != nil {
			return nil, err
		}
		if err := c.Extend(bytes.NewReader(text), path); err != nil {
			return nil, err
		}
		c.Texts = append(c.Texts, text)
	}
	return c, nil
}

// readBounded reads a file, or as much of it as shows that it is too large.
func readBounded(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, perf.MaxFileSize+1))
}

// Hash returns a hash of the user's files in their order, wherever they are; "" without
// any.
func (c *Catalogue) Hash() string {
	if len(c.Texts) == 0 {
		return ""
	}
	h := sha256.New()
	for _, text := range c.Texts {
		fmt.Fprintf(h, "%d\n", len(text))
		h.Write(text)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// families are the models given to jobs of traces that name none: those of
// Gavel's workloads (OSDI 2020, table 2), each with its usual batch sizes.
var families = []string{"A3C", "CycleGAN", "LM", "Recommendation", "ResNet-18", "ResNet-50", "Transformer"}

// Models returns what jobs of traces that name no model are given: models of
// Gavel's workloads with their usual batch sizes. The caller owns the result.
func Models(c *perf.Catalogue) ([]datasets.ModelChoice, error) { return Choices(c, families) }

// Choices lists models of the catalogue with their usual batch sizes.
func Choices(c *perf.Catalogue, names []string) ([]datasets.ModelChoice, error) {
	var all []datasets.ModelChoice
	for _, name := range names {
		m, ok := c.Model(name)
		if !ok {
			return nil, c.UnknownModel(name)
		}
		for _, batch := range m.Batches {
			all = append(all, datasets.ModelChoice{Model: name, Batch: batch})
		}
	}
	return all, nil
}
