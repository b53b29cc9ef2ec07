package decisionlog

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/yardmaster/yardmaster/env"
)

// Row is one decision on which a learned policy and a linear program both have an
// answer. Whoever gets it must not modify what it points to.
type Row struct {
	Decided  time.Time // by the service's clock
	Cluster  string
	Epoch    uint64
	StateSeq uint64
	State    *env.State // what was decided on, whole
	Mode     string     // of the cluster: who was in charge
	Source   string     // who made Published
	Reason   string     // why that was not the learned policy, "" where it was
	Model    string     // the learned policy that was asked
	// Published is what the cluster was told, Learned what the learned policy
	// answered, Program the linear program's answer; nil where there is none.
	Published, Learned, Program env.Allocation
	Failure                     string // why Learned is nil
	// The values of the allocations by the linear program's objective; 0 where
	// there is none.
	PublishedValue, LearnedValue, ProgramValue float64
	// Regret is (ProgramValue − LearnedValue) / ProgramValue, within −1 to 1.
	Regret  float64
	Latency time.Duration // of the learned policy; 0 where it was not taken
}

// File is a file in the making.
type File interface {
	// Append adds a row. It may keep nothing of it.
	Append(*Row) error
	// Size returns about the bytes that a reader of the file needs for its rows.
	Size() int64
	// Close completes the file under its name.
	Close() error
	// Abort gives it up and leaves nothing.
	Abort() error
}

// Config configures a log. The zero value of every field but Create and Dir is its
// default; without Create there is no log.
type Config struct {
	Create func(path string) (File, error)
	Dir    string // of the files, made if need be
	Suffix string // of their names; .parquet

	MaxFileBytes int64         // what a file may take to read before it is completed; 64 MiB
	MaxFileAge   time.Duration // the same; 10 min
	MaxFiles     int           // kept, the newest; 32
	Queue        int           // decisions that wait to be written; 64
	// MaxQueued bounds the candidates of the states that wait: their memory; 1 Mi,
	// some 200 MB.
	MaxQueued int64

	Logger *slog.Logger // nil discards
}

func (c *Config) fillDefaults() {
	if c.Suffix == "" {
		c.Suffix = ".parquet"
	}
	if c.MaxFileBytes == 0 {
		c.MaxFileBytes = 64 << 20
	}
	if c.MaxFileAge == 0 {
		c.MaxFileAge = 10 * time.Minute
	}
	if c.MaxFiles == 0 {
		c.MaxFiles = 32
	}
	if c.Queue == 0 {
		c.Queue = 64
	}
	if c.MaxQueued == 0 {
		c.MaxQueued = 1 << 20
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
}

// Validate reports everything that is wrong with c.
func (c *Config) Validate() []error {
	var errs []error
	if c.Create != nil && c.Dir == "" {
		errs = append(errs, errors.New("decisionlog: config: Dir is empty, want a folder"))
	}
	if c.MaxFileBytes < 0 || c.MaxFileAge < 0 || c.MaxFiles < 0 || c.Queue < 0 || c.MaxQueued < 0 {
		errs = append(errs, fmt.Errorf("decisionlog: config: MaxFileBytes %d, MaxFileAge %v, MaxFiles %d, Queue %d, MaxQueued %d, want all >= 0",
			c.MaxFileBytes, c.MaxFileAge, c.MaxFiles, c.Queue, c.MaxQueued))
	}
	return errs
}
