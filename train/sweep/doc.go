// Package sweep searches settings of a training run: it trains each of a list of
// trials, with several seeds each, and says which did best.
//
// A [Space] lists the trials: the points of a grid, random draws, or both. [Run]
// trains them in directories that are named after a hash of their settings, so
// that a sweep that was stopped, or that got more trials or seeds, keeps what is
// finished. [Rank] orders them by the mean over the seeds, with its 95 % interval.
//
// The best of many trials looks better on the episodes that it was chosen on than
// it is: compare it on others before you believe its score.
//
// Trials are a pure function of the space; so are their scores of the settings.
package sweep
