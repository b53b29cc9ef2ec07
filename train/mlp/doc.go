// Package mlp is the network of the published results on control problems with
// a fixed number of actions (Huang et al., "The 37 implementation details of
// PPO", ICLR blog 2022): a policy and a critic that share nothing, each a
// multi-layer perceptron with tanh over Observation.Global, and one score for
// each action. Candidates' features do not enter.
//
// It exists to hold the trainer to known answers; clusters, whose candidates come
// and go, are for package nn.
package mlp
