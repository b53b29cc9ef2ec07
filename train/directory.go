package train

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/google/renameio/v2"

	"github.com/yardmaster/yardmaster/models"
)

// Names in a run directory.
const (
	ModelDir      = "model"
	checkpointDir = "checkpoints"
	runFile       = "run.json"
	metricsFile   = "metrics.jsonl"
)

// directory is the run directory of a run in progress.
type directory struct {
	path    string
	metrics *os.File
	start   time.Time
}

// openDirectory makes the run directory and removes what an earlier training
// left there, and nothing else: other parts of the program keep files in it.
func openDirectory(path string) (*directory, error) {
	if err := os.MkdirAll(path, 0o755); err != nil {
		return nil, fmt.Errorf("train: %w", err)
	}
	for _, name := range []string{ModelDir, checkpointDir, runFile, metricsFile} {
		if err := os.RemoveAll(filepath.Join(path, name)); err != nil {
			return nil, fmt.Errorf("train: clear the run directory: %w", err)
		}
	}
	f, err := os.Create(filepath.Join(path, metricsFile))
	if err != nil {
		return nil, fmt.Errorf("train: %w", err)
	}
	return &directory{path: path, metrics: f, start: time.Now()}, nil
}

func (d *directory) close() error { return d.metrics.Close() }

// line is one line of metrics.jsonl.
type line struct {
	Stage       Stage    `json:"stage"`
	Step        int      `json:"step"`
	Score       *float64 `json:"score,omitempty"`
	Metrics     any      `json:"metrics,omitempty"`
	WallSeconds float64  `json:"wall_seconds"` // since the start of the run
}

func (d *directory) log(l line) error {
	l.WallSeconds = time.Since(d.start).Seconds()
	raw, err := json.Marshal(l)
	if err != nil {
		return fmt.Errorf("train: metrics of %s %d: %w", l.Stage, l.Step, err)
	}
	if _, err := d.metrics.Write(append(raw, '\n')); err != nil {
		return fmt.Errorf("train: %w", err)
	}
	return nil
}

// checkpoint saves m under the name of its stage and step.
func (d *directory) checkpoint(stage Stage, step int, m *models.Model) error {
	return models.Save(filepath.Join(d.path, checkpointDir, fmt.Sprintf("%s-%04d", stage, step)), m)
}

// best saves m as the result so far.
func (d *directory) best(m *models.Model) error {
	return models.Save(filepath.Join(d.path, ModelDir), m)
}

// record is run.json.
type record struct {
	Seed       uint64            `json:"seed"`
	TrainSeeds []uint64          `json:"train_seeds"`
	Kind       models.Kind       `json:"kind"`
	Teacher    bool              `json:"teacher"`
	Network    Network           `json:"network"`
	Prior      Prior             `json:"prior"`
	BC         Cloning           `json:"bc"`
	ES         Evolution         `json:"es"`
	PPO        Reinforcement     `json:"ppo"`
	Encoder    string            `json:"encoder"`
	Format     int               `json:"model_format"`
	Go         string            `json:"go"`
	Platform   string            `json:"platform"`
	Provenance map[string]string `json:"provenance"`
	Result     *Result           `json:"result,omitempty"` // once the run has ended
}

// write replaces run.json.
func (d *directory) write(c *Config, encoder string, r *Result) error {
	raw, err := json.MarshalIndent(record{
		Seed: c.Seed, TrainSeeds: c.TrainSeeds, Kind: c.Kind, Teacher: c.Teacher != nil,
		Network: c.Network, Prior: c.Prior, BC: c.BC, ES: c.ES, PPO: c.PPO,
		Encoder: encoder, Format: models.FormatVersion, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
		Provenance: c.Provenance, Result: r,
	}, "", "  ")
	if err != nil {
		return fmt.Errorf("train: %s: %w", runFile, err)
	}
	if err := renameio.WriteFile(filepath.Join(d.path, runFile), append(raw, '\n'), 0o644); err != nil {
		return fmt.Errorf("train: %w", err)
	}
	return nil
}
