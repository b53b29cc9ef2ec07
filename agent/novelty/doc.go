// Package novelty tells how far a decision point is from those that a model was
// trained on.
//
// # Score
//
// An observation is reduced to D = G + F numbers: its G global features, and the
// means of its F candidate features over the legal rows. Numbers are compared with
// the training states that had about as many candidates, by one covariance for all
// classes. The score is the largest of
//
//	the Mahalanobis distance of the numbers from their mean in the class,
//	how far any one of them is from what those before it predict (whitened by the
//	  Cholesky factor of the covariance),
//	the share of all values outside of the range they had in training,
//
// each over its 99.9 % quantile on states held out of the statistics. All are scaled
// so that one held-out state in a hundred scores above 1. The distance finds what
// moved as a whole, the single numbers find what moved against the others (the
// speeds of another GPU type), the ranges find single candidates unlike all others.
//
// Training states are correlated in time and are not normally distributed; so
// limits are quantiles of what was seen, not of a chi-square distribution. States
// that follow one another are held out together, and the limit of each part is raised
// until it holds in episodes that it was not taken from. What an alarm is made of is
// not a single score but several in a row (package serve/guard).
//
// # Limits
//
// States with fewer than 16 candidates have no score. Of many candidates 256 are looked at, spread evenly. Features that never changed
// in training may move by a twentieth of the encoder's unit before they count as
// one standard deviation. What the encoder does not see, the score does not see: a
// load that training met at its peaks is not new, however long it lasts.
//
// # References
//
//   - Lee et al., A Simple Unified Framework for Detecting Out-of-Distribution
//     Samples, NeurIPS 2018: Mahalanobis distance, means by class, one covariance.
//   - Schäfer and Strimmer, A Shrinkage Approach to Large-Scale Covariance Matrix
//     Estimation, Statistical Applications in Genetics and Molecular Biology 4
//     (2005).
//   - Rotman et al., Online Safety Assurance for Learning-Augmented Systems,
//     HotNets 2020: fall back after several alarms in a row.
package novelty
