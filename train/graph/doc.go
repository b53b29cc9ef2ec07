// Package graph computes gradients of the network of models/nn with Gorgonia.
//
// The mathematics of learning stays on the host, in closed form: a loss hands
// over dL/dscore for every candidate and dL/dvalue for every round, and Gorgonia
// propagates them to the parameters (a vector-Jacobian product). So the graph
// holds the network alone, and no clipping, masking or softmax.
//
// The graph is made of the operations of package fused, on the same loops as the
// forward pass that serves, so that scores are equal bit for bit. The candidates
// of several rounds are packed row after row; Gorgonia's shapes are static, so a
// graph has room for a chunk of rounds and computes the rows that are there.
//
// This package, fused, blas, which has Gorgonia's own operations multiply with our
// kernels, and train/mlp, which makes perceptrons of the same operations, are the
// only ones that import Gorgonia.
//
// Three twins check the gradient: stock operations on the TapeMachine, the chain
// rule written by hand on the same kernels, and PyTorch's. The last two are also what
// BenchmarkUpdate measures against.
package graph
