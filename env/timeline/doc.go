// Package timeline draws what a simulator recorded: which job held which GPUs,
// from when to when, as text for a terminal ([Text]), as an SVG picture ([SVG])
// and as one HTML page that needs nothing else ([HTML]). All are pure functions
// of a [sim.Recording]: the same recording gives the same bytes.
//
// # What is drawn
//
// A row is a GPU; rows are grouped by node and nodes by GPU type. The simulator
// says how many GPUs of a node a job holds, not which: here each gets the lowest
// that are free, next to each other where possible. Where the simulation leaves
// nodes open (sim.Config.FreePlacement) a type is drawn as one node. A job has
// one colour; restarts are hatched; a node out of service is dark. Below are the share of GPUs that jobs hold,
// by type, and the number of jobs that wait, both averaged over the width of a
// pixel or a character.
//
// # Limits
//
// A picture holds one element for each block, so that a recording of a million
// segments makes a file no browser likes: cut the trace first. Colours repeat
// after a few dozen jobs, which is why blocks carry the job's ID where it fits.
package timeline
