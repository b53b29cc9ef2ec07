// Package inference answers the Open Inference protocol (kserve/open-inference-protocol,
// specification/protocol/inference_rest.md) over HTTP with the networks of the
// learned policies: features in, scores out. It decides nothing and changes
// nothing; it is for tools that probe or compare models.
//
// A model has the inputs
//
//	global      FP32 [G]     features of the whole state
//	candidates  FP32 [N, F]  features of each candidate
//	mask        BOOL [N]     the legal ones, at least one
//
// and the outputs
//
//	scores      FP32 [N]     of each candidate, before the softmax
//	value       FP32 [1]     of the state
//
// Features are named in the model's manifest and already scaled, as package
// env/encode makes them.
//
// # Limits
//
// Requests have at most [MaxBytes]; [MaxInFlight] are in work at once, more are
// refused. Fields that the protocol does not know, repeated ones and tensors that
// do not have the announced shape are refused; parameters are not supported. Of
// the protocol's extensions none is, binary tensors among them.
package inference
