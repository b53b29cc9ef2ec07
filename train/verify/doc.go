// Package verify compares the simulators with results that others published,
// row by row, and says how far off they are.
//
// # Gavel
//
// [Gavel] plays every run of a table of runs of Gavel's own simulator in
// env/gavel, and six runs of AlloX whose figures its authors published, which
// must agree in every digit. Runs that no linear program decides must agree to
// [ExactTolerance], job by job where the table has every job's time. Runs that
// one decides depend on which of its many best answers a solver returns (see
// agent/gavel), so that mean completion time, end and utilization must agree
// within [ProgramTolerance]. Where the program is blind to rates, the answer is
// drawn anew each time and ours is the median of [Draws] runs; Low and High of
// a [Figure] tell their range.
//
// The two runs of Gandiva_Packing, which pairs jobs on the same GPUs at random, are
// played by Packing of env/gavel and are exact as well: its draws are those
// of Python.
//
// # Pollux
//
// [Pollux] plays Tiresias as Pollux' simulator does, by the package pollux
// below, on the one workload whose mean completion time was published together
// with every job's: all must agree to the second.
//
// # Units
//
// Times are seconds, errors are relative to the other's figure.
package verify
