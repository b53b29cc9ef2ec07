package importers

import (
	"math"
	"strconv"
	"time"

	"github.com/yardmaster/yardmaster/datasets"
)

// What the parsers of this file take, for use in errors.
const (
	SecondsFix = "want seconds, 0 to 100 years"
	GPUsFix    = "want a whole number from 0 to 1000000"
)

// ParseSeconds reads seconds, with or without decimals, from 0 to
// [datasets.MaxTime], to the nearest nanosecond.
func ParseSeconds(s string) (time.Duration, bool) {
	if whole, err := strconv.ParseUint(s, 10, 32); err == nil && time.Duration(whole)*time.Second <= datasets.MaxTime {
		return time.Duration(whole) * time.Second, true
	}
	seconds, err := strconv.ParseFloat(s, 64)
	if err != nil || !(seconds >= 0 && seconds <= datasets.MaxTime.Seconds()) {
		return 0, false
	}
	return time.Duration(math.Round(seconds * float64(time.Second))), true
}

// ParseGPUs reads a number of GPUs, from 0 to [datasets.MaxGPUs]. Tables that
// went through a data frame have "8.0" where they had 8: that is taken, too.
func ParseGPUs(s string) (int32, bool) {
	gpus, ok := ParseShare(s)
	return int32(gpus), ok && gpus == math.Trunc(gpus)
}

// ParseShare reads a number of GPUs that need not be whole, from 0 to
// [datasets.MaxGPUs].
func ParseShare(s string) (float64, bool) {
	gpus, err := strconv.ParseFloat(s, 64)
	return gpus, err == nil && gpus >= 0 && gpus <= datasets.MaxGPUs
}

// IsNone reports whether s stands for no value, in the words of Python, pandas,
// Slurm and spreadsheets.
func IsNone(s string) bool {
	switch s {
	case "", "None", "none", "nan", "NaN", "NaT", "null", "NULL", "Unknown", "INVALID", "N/A", "NA":
		return true
	}
	return false
}
