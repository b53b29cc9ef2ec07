// Package tensorboard writes event files that TensorBoard shows: a scalar per
// metric of a run, with the time and the step that it belongs to.
//
// An event file is a sequence of records (TFRecord: length, payload, a masked
// CRC-32C of each), whose payloads are protocol buffers of type Event. The few
// fields that scalars take are encoded by hand; Sources: tensorflow's
// core/lib/io/record_writer.h for the framing, core/util/event.proto and
// core/framework/summary.proto for the messages.
//
// [Mirror] writes what a run logs. Nothing reads event files back: metrics.jsonl
// stays the record of a run, and event files can be made from it anew.
package tensorboard
