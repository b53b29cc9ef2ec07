// Package export writes models in the formats of other programs, so that any
// runtime can score with a learned policy: [ONNX] for ONNX Runtime and all that
// reads ONNX, [TritonConfig] for the Triton inference server.
//
// What is written is the network whole, a score for every candidate and the value
// of the decision point, with tensors named as package serve/inference names
// them. It is not the policy whole: features come from env/encode, and picking
// candidates by their scores, guards and novelty stay with the program that asks.
// README.md has the tensors, the metadata and how to decide by scores.
//
// The bytes are a function of the model and [Options] alone.
//
// # References
//
// ONNX's onnx.proto (IR version 8) and operator set 17, both of ONNX 1.12; Triton's
// model_config.proto.
package export
