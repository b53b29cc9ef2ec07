// Package graph computes gradients of the network of models/nn with Gorgonia.
//
// The mathematics of learning stays on the host, in closed form: a loss hands
// over dL/dscore for every candidate and dL/dvalue for every round, and Gorgonia
// propagates them to the parameters (a vector-Jacobian product). So the graph
// holds the network alone, and no clipping, masking or softmax.
//
// A [Batch] packs the candidates of several rounds row after row, without
// padding between rounds: pooling is the product with a [rounds, rows] matrix of
// 1/n, and spreading a round's vector over its rows the product with a [rows,
// rounds] matrix of ones. Gorgonia's shapes are static, so a batch is padded at
// its end to the next size of a short list; one graph is compiled per size and
// kept.
//
// This is the only package that imports Gorgonia.
package graph
