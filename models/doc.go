// Package models is the format of trained policies: a folder with
// weights.safetensors, the parameters, manifest.json, what they are and where
// they come from, and golden.safetensors, what they come to on some inputs.
// FORMAT.md describes them byte by byte; package repository keeps versions.
//
// [Load] refuses what does not fit rather than guess: another format version,
// weights that do not hash to what the manifest says, shapes that do not follow
// from the dimensions, values that are not finite. [Manifest.CheckEncoder]
// refuses a model trained on other features than the reader computes.
package models
