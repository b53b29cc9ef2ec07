package gavel

// Policy decides which share of its time each job spends on each GPU type. It
// may keep memory between calls, so it belongs to one Sim.
type Policy interface {
	// Allocate writes the share of its time that job i of v should spend on
	// type t to x[i·K+t], where K is the number of types of v. x is all 0 when
	// it is called. Nothing of v or x may be retained or, but for x, modified.
	Allocate(v *View, x []float64) error
	// Rules says how the mechanism treats the policy; it never changes.
	Rules() Rules
}

// Rules are the variations of the mechanism that Gavel derives from the name
// of a policy.
type Rules struct {
	// Shuffle draws the order in which the GPU types are filled anew in every
	// round (Gavel: policies without "Perf" or "Packing" in the name).
	Shuffle bool
	// SharedOnly never runs a job on a type that it has no share of (Gavel:
	// policies whose name starts with "FIFO").
	SharedOnly bool
}

// View is what a policy may know when it is asked for shares. Its slices are
// borrowed until Allocate returns.
type View struct {
	Now    float64   // s
	Types  []GPUType // [K], in the order in which they are filled
	ByName []int     // [K], the types in ascending order of their names: the order of Gavel's matrices
	IDs    []int32   // [N], ascending: the jobs that arrived and have not left
	GPUs   []int32   // [N]
	Rates  []float64 // [N·K], steps/s; 0 where the job does not fit
	Left   []float64 // [N], steps, > 0
	Age    []float64 // [N], s since the arrival
}

// Jobs returns N.
func (v *View) Jobs() int { return len(v.IDs) }
