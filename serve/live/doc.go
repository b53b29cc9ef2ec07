// Package live holds the models that decide now and says which decides for which
// cluster. It knows no transport.
//
// # Slots
//
// Of each kind of model there is one that is active, one that was so before and is
// what a rollback returns to, and one candidate: loaded and warm, but in charge
// only where a mode says so. A model enters a slot only after it was decoded, fits
// the encoder, scores its golden cases as it did where it was trained, and scores
// points all over its features finitely. What fails on the way leaves everything
// as it was.
//
// # Modes
//
// A cluster has a mode of its own or the default one:
//
//	          without a candidate              with a candidate
//	policy    the active model decides         the same
//	lp        the linear program decides       the same
//	shadow    the linear program decides, the  the same, the candidate's
//	          active model's answer is logged  answer is logged
//	canary    the active model decides for a   the candidate decides for the
//	          share of the clusters, the       share, the active model for the
//	          linear program for the others    others
//	off       states are refused               the same
//
// Which clusters are in the share depends on their ids alone, so it is the same in
// every service and after every restart, and a larger share holds the smaller one.
//
// What is in use and the modes are kept in files, so that they outlive the process.
package live
