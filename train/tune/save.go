package tune

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/google/renameio/v2"

	"github.com/yardmaster/yardmaster/models"
	"github.com/yardmaster/yardmaster/train/bc"
	"github.com/yardmaster/yardmaster/train/eval"
)

// Names in a run directory.
const (
	ModelDir    = "configuration"               // the policy, see package models
	LessonsFile = "configuration_lessons.jsonl" // one line per searched window
	ResultFile  = "configuration.json"          // how the policy was fitted and how it compares
)

// lessonLine is a line of LessonsFile.
type lessonLine struct {
	Episode  int       `json:"episode"`
	Round    int64     `json:"round"`
	Choice   int       `json:"choice"`             // what the search put in force
	Relative []float64 `json:"relative_job_hours"` // cost of each configuration above the best
}

// resultFile is the content of ResultFile.
type resultFile struct {
	Configurations []string      `json:"configurations"`
	Lessons        int           `json:"lessons"`
	Clone          bc.SoftResult `json:"clone"`
	Regret         Regret        `json:"regret_job_hours"`
	Table          *eval.Table   `json:"table,omitempty"`
}

// save writes r and the lessons it comes from to the run directory dir. Each
// file appears whole or not at all; the model comes last.
func save(dir string, r *Result, episodes [][]Lesson) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("tune: save: %w", err)
	}
	var lessons bytes.Buffer
	lines := json.NewEncoder(&lessons)
	for i := range episodes {
		for k := range episodes[i] {
			l := &episodes[i][k]
			if err := lines.Encode(lessonLine{i, l.Observation.Epoch, l.Choice, l.Relative}); err != nil {
				return fmt.Errorf("tune: save lessons: %w", err)
			}
		}
	}
	if err := renameio.WriteFile(filepath.Join(dir, LessonsFile), lessons.Bytes(), 0o644, renameio.WithTempDir(dir)); err != nil {
		return fmt.Errorf("tune: save: %w", err)
	}
	result := resultFile{Lessons: r.Lessons, Clone: r.Clone, Regret: r.Regret, Table: r.Table}
	for i := range r.Configurations {
		result.Configurations = append(result.Configurations, r.Configurations[i].String())
	}
	raw, err := json.MarshalIndent(result, "", "  ")
	if err != nil {
		return fmt.Errorf("tune: save result: %w", err)
	}
	if err := renameio.WriteFile(filepath.Join(dir, ResultFile), append(raw, '\n'), 0o644, renameio.WithTempDir(dir)); err != nil {
		return fmt.Errorf("tune: save: %w", err)
	}
	return models.Save(filepath.Join(dir, ModelDir), r.Model)
}
