package wire

import (
	"reflect"

	"github.com/yardmaster/yardmaster/env"
)

// Limits on a message.
const (
	// MaxBytes bounds a message once it is decompressed: a state of about
	// 25,000 jobs with 16 strategies each.
	MaxBytes = 64 << 20
	// MaxEncodedBytes bounds a compressed message, and one that comes in chunks.
	MaxEncodedBytes = 16 << 20
	// MaxPayload is what the embedded broker takes as one message, headers
	// included. Larger messages go compressed and in chunks.
	MaxPayload = 8 << 20
	// MaxDepth bounds how deep objects and arrays nest.
	MaxDepth = 16
	// MaxStringBytes bounds every string: a name, an id, a reason.
	MaxStringBytes = 1024
	// MaxElements bounds the elements of all arrays of one message together:
	// the memory a small message can make its reader allocate.
	MaxElements = 1 << 20
	// MaxFaults bounds the faults that are told of one state.
	MaxFaults = 100
	// MaxSafeInteger is the largest epoch and sequence number.
	MaxSafeInteger = 1<<53 - 1
)

// maxLen bounds the arrays of each element type.
var maxLen = map[reflect.Type]int{
	reflect.TypeFor[env.GPUType]():  env.MaxGPUTypes,
	reflect.TypeFor[env.Node]():     env.MaxNodes,
	reflect.TypeFor[env.JobState](): env.MaxJobs,
	reflect.TypeFor[env.Strategy](): env.MaxStrategies,
	reflect.TypeFor[env.Knob]():     env.MaxKnobs,
	reflect.TypeFor[env.Quota]():    env.MaxQuotas,
	reflect.TypeFor[int]():          env.MaxNodes, // State.Down
	reflect.TypeFor[float64]():      env.MaxKnobValues,
	reflect.TypeFor[Pick]():         env.MaxJobs,
	reflect.TypeFor[JobResult]():    env.MaxJobs,
	reflect.TypeFor[Fault]():        MaxFaults,
	reflect.TypeFor[Limit]():        env.MaxGPUTypes + env.MaxQuotas,
	reflect.TypeFor[JobReasons]():   MaxExplained,
	reflect.TypeFor[Candidate]():    env.MaxStrategies,
}
