// Package exporttest reads and runs exported models, for tests: [Decode] by ONNX's
// own definition of its format, [File.Evaluate] in float64, one operator after the
// other, and [Runtime] in the real ONNX Runtime.
package exporttest
