// Package fused has the operations that the networks are made of as single
// operations of Gorgonia, each with its own derivative, on the loops of
// models/nn/kernel, and an executor for graphs of them.
//
// Stock operations allocate, pass over memory once for each sum, bias and
// activation, and use a product ten times slower. Gorgonia still supplies the
// chain rule, the sums where a node feeds several others, and the wiring.
//
// All values are float32 matrices. Rows stand for candidates, packed round after
// round as a [Layout] says, or for rounds; only the live rows of a matrix are
// computed, so that one graph serves every batch that fits. An operation owns
// its result, which the next run overwrites; a graph belongs to one goroutine.
package fused
