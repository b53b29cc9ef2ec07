// Package nn holds the network of the learned policies: its parameters and its
// forward pass, float32, one goroutine, on the loops of package kernel.
//
// A [Scorer] gives every candidate of a decision point one score. Candidates
// share the weights, and what they know of each other is the mean of their
// hidden vectors, so that a policy takes any number of candidates in any order.
// A [Critic] estimates the value of the decision point. Both are built for
// [Dims] from [Params].
//
// Matrices are row-major; a linear layer's weight has PyTorch's shape
// [out, in]. Scorer and Critic are immutable and safe for concurrent use; the
// caller owns the [Scratch], one per goroutine, and with it nothing allocates
// once it has grown.
package nn
