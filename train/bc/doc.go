// Package bc clones policies: behaviour cloning of what a teacher picks in
// JobStrategy-v0, and fitting to soft labels where a search has scored every
// candidate.
//
// A teacher's allocation is a set: within a round the order of picks does not
// matter. So the loss of a round asks at each pick only that some member of the
// set that is left be picked (picks.Evaluator.SetLoss), and the order among them
// stays what the network's prior makes it.
package bc
