package live

import (
	"context"
	"errors"
	"maps"

	"github.com/yardmaster/yardmaster/agent/neural"
	"github.com/yardmaster/yardmaster/models"
	"github.com/yardmaster/yardmaster/models/repository"
)

// count notes how a load ended.
func (s *Set) count(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.loads[result(err)]++
	s.failed = ""
	if err != nil {
		s.failed = err.Error()
	}
}

// Loads returns how loads ended, by result, and the error of the last one, "" where
// it went well.
func (s *Set) Loads() (results map[string]int64, last string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.loads), s.failed
}

// result classifies the error of a load.
func result(err error) string {
	switch {
	case err == nil:
		return ResultOK
	case errors.Is(err, repository.ErrNotFound):
		return ResultNotFound
	case errors.Is(err, models.ErrGolden):
		return ResultGolden
	case errors.Is(err, neural.ErrNonFinite):
		return ResultNonFinite
	case errors.Is(err, models.ErrIncompatible):
		return ResultIncompatible
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return ResultTimeout
	case errors.Is(err, errPanic):
		return ResultPanic
	}
	return ResultDamaged
}
