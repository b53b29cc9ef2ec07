package train

import "errors"

// ErrNothingToResume is wrapped by the error of a run with Config.Resume where the
// directory holds no run that was interrupted after its first checkpoint.
var ErrNothingToResume = errors.New("train: nothing to resume")
