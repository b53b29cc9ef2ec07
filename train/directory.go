package train

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"time"

	"github.com/gofrs/flock"
	"github.com/google/renameio/v2"

	"github.com/yardmaster/yardmaster/models"
	"github.com/yardmaster/yardmaster/train/checkpoint"
)

// Names in a run directory.
const (
	ModelDir      = "model"
	checkpointDir = "checkpoints"
	resumeDir     = "resume"
	runFile       = "run.json"
	metricsFile   = "metrics.jsonl"
)

// Owned returns the names in a run directory that training writes, and that it removes
// where it begins anew.
func Owned() []string {
	return []string{resumeDir, ModelDir, checkpointDir, runFile, metricsFile}
}

// directory is the run directory of a run in progress.
type directory struct {
	path    string
	lock    *flock.Flock // on the metrics
	metrics *os.File
	length  int64         // of metrics
	start   time.Time     // of this process
	before  time.Duration // that earlier ones took
}

// ErrInUse is wrapped by the error of a run in whose directory another one is under way,
// of this process or of another one.
var ErrInUse = errors.New("train: run directory is in use")

// take keeps other runs out of the directory, until close.
func (d *directory) take() error {
	d.lock = flock.New(filepath.Join(d.path, metricsFile), flock.SetFlag(os.O_RDWR|os.O_CREATE), flock.SetPermissions(0o644))
	switch free, err := d.lock.TryLock(); {
	case err != nil:
		return fmt.Errorf("train: lock: %w", err)
	case !free:
		return fmt.Errorf("%w: %s", ErrInUse, d.path)
	}
	return nil
}

// clear makes the run directory and removes what an earlier training left there,
// and nothing else: other parts of the program keep files in it.
func (d *directory) clear() error {
	if err := os.MkdirAll(d.path, 0o755); err != nil {
		return fmt.Errorf("train: %w", err)
	}
	if err := d.take(); err != nil {
		return err
	}
	old := slices.DeleteFunc(Owned(), func(name string) bool { return name == metricsFile }) // those are cut below
	batches, err := filepath.Glob(filepath.Join(d.path, nonFinitePattern))
	if err != nil {
		return fmt.Errorf("train: %w", err)
	}
	for _, path := range batches {
		old = append(old, filepath.Base(path))
	}
	for _, name := range old {
		if err := os.RemoveAll(filepath.Join(d.path, name)); err != nil {
			return fmt.Errorf("train: clear the run directory: %w", err)
		}
	}
	if err := d.cleanTop(); err != nil {
		return err
	}
	return d.open(0)
}

// open opens the metrics, of which the first length bytes are kept.
func (d *directory) open(length int64) error {
	path := filepath.Join(d.path, metricsFile)
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return fmt.Errorf("train: %w", err)
	}
	info, err := f.Stat()
	if err != nil || info.Size() < length {
		return errors.Join(fmt.Errorf("%w: %s has fewer than the %d bytes that it had then", checkpoint.ErrDamaged, path, length), err, f.Close())
	}
	kept := make([]byte, length)
	if _, err := io.ReadFull(f, kept); err != nil {
		return errors.Join(fmt.Errorf("train: %s: %w", path, err), f.Close())
	}
	if err := f.Truncate(length); err != nil {
		return errors.Join(fmt.Errorf("train: %w", err), f.Close())
	}
	d.metrics, d.length, d.start, d.before = f, length, time.Now(), 0
	var last line
	if lines := bytes.Split(bytes.TrimSuffix(kept, []byte("\n")), []byte("\n")); length > 0 && json.Unmarshal(lines[len(lines)-1], &last) == nil {
		d.before = time.Duration(last.WallSeconds * float64(time.Second))
	}
	return nil
}

// clean removes what a process that was killed left half written.
func (d *directory) clean() error {
	dirs := []string{filepath.Join(d.path, ModelDir), filepath.Join(d.path, resumeDir)}
	models, err := filepath.Glob(filepath.Join(d.path, checkpointDir, "*"))
	for _, dir := range append(dirs, models...) {
		err = errors.Join(err, checkpoint.Clean(dir))
	}
	return errors.Join(err, d.cleanTop())
}

// halfWritten is how renameio names the files that the program writes in the run
// directory until they are whole, such as .run.json1626071361.
var halfWritten = regexp.MustCompile(`^\.(run\.json|run\.yaml|scenario\.json|configuration\.json|configuration_lessons\.jsonl|trial\.json)\d+$`)

// cleanTop does so in the run directory itself, where users may keep files of their own.
func (d *directory) cleanTop() error {
	entries, err := os.ReadDir(d.path)
	for _, e := range entries {
		if e.Type().IsRegular() && halfWritten.MatchString(e.Name()) {
			err = errors.Join(err, os.Remove(filepath.Join(d.path, e.Name())))
		}
	}
	if err != nil {
		return fmt.Errorf("train: clean the run directory: %w", err)
	}
	return nil
}

func (d *directory) close() (err error) {
	if d.metrics != nil {
		err = d.metrics.Close()
	}
	if d.lock != nil {
		err = errors.Join(err, d.lock.Close())
	}
	return err
}

// line is one line of metrics.jsonl.
type line struct {
	Stage       Stage    `json:"stage"`
	Step        int      `json:"step"`
	Score       *float64 `json:"score,omitempty"`
	Metrics     any      `json:"metrics,omitempty"`
	WallSeconds float64  `json:"wall_seconds"` // since the start of the run
}

func (d *directory) log(l line) error {
	l.WallSeconds = (d.before + time.Since(d.start)).Seconds()
	raw, err := json.Marshal(l)
	if err != nil {
		return fmt.Errorf("train: metrics of %s %d: %w", l.Stage, l.Step, err)
	}
	n, err := d.metrics.WriteAt(append(raw, '\n'), d.length)
	d.length += int64(n)
	if err != nil {
		return fmt.Errorf("train: %w", err)
	}
	return nil
}

// saveModel saves m under the name of its stage and step.
func (d *directory) saveModel(stage Stage, step int, m *models.Model) error {
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

// record returns run.json as it is before the run.
func (c *Config) record(encoder string) record {
	return record{
		Seed: c.Seed, TrainSeeds: c.TrainSeeds, Kind: c.Kind, Teacher: c.Teacher != nil,
		Network: c.Network, Prior: c.Prior, BC: c.BC, ES: c.ES, PPO: c.PPO,
		Encoder: encoder, Format: models.FormatVersion, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
		Provenance: c.Provenance,
	}
}

// write replaces run.json.
func (d *directory) write(c *Config, encoder string, r *Result) error {
	out := c.record(encoder)
	out.Result = r
	raw, err := json.MarshalIndent(out, "", "  ")
	if err != nil {
		return fmt.Errorf("train: %s: %w", runFile, err)
	}
	if err := renameio.WriteFile(filepath.Join(d.path, runFile), append(raw, '\n'), 0o644, renameio.WithTempDir(d.path)); err != nil {
		return fmt.Errorf("train: %w", err)
	}
	return nil
}
