// Package simplex solves, exactly and fast, linear programs in which every job
// takes at most one strategy and only a few resources couple the jobs.
//
// # Form
//
// Job j has candidates s with rate r[j,s] and usage vector u[j,s] over K
// resources (GPUs of each type, tenant quotas) of capacity C. With x >= 0,
//
//	Σ_s x[j,s] <= 1 for every j,   Σ_j Σ_s u[j,s]·x[j,s] <= C,
//
// [Sum] maximises Σ v·x, where v is r or any other value, and may ask for rates
// Σ_s r[j,s]·x[j,s] >= Floor[j] and for use Σ_j Σ_s u[j,s]·x[j,s] >= Least, which is
// an equality where Least is C. [MaxMin] maximises the z for which every job that
// has a usable candidate gets Σ_s r[j,s]·x[j,s] >= z·f[j], or b[j] + z·f[j], or
// z·f[j] / (1 - h[j]·z). [Total] minimises Σ_j f[j] / Σ_s r[j,s]·x[j,s].
//
// # Method
//
// The first kind of row is a generalized upper bound (Dantzig and Van Slyke,
// J. Comput. Syst. Sci. 1967): each job has one key column, and the basis that
// has to be inverted is K × K however many jobs there are. The rows of the
// coupling resources are elastic within a box around a guess of their prices
// (the boxstep method: Marsten, Hogan and Blankenship, Oper. Res. 1975), so that
// a feasible basis near the optimum exists at once for any guess; the guess
// comes from a sample of the jobs, recursively. From some hundreds of jobs on,
// Newton's method on a smoothed dual function (Nesterov, Math. Program. 2005) first
// moves all prices at once to where a few dozen pivots are left. [MaxMin] solves
// "least θ with usage <= θ·C" for fixed z over columns that mix two candidates
// of a job so as to reach z·f[j] exactly, and moves z down to the root of the
// Lagrangian bound (a Newton method from the infeasible side) until θ = 1. The
// columns of [Total] are mixes of whatever rate is best at the prices.
//
// # Answers
//
// Every [Result] carries a feasible answer, a dual bound recomputed from its
// prices, and the gap between the two; [Solve] runs [Check] on it, which shares
// nothing with the method above, before it returns. A budget of pivots, the end of
// the context or [Options].Interrupt ends the search early with what there is. Where
// there is no answer, the prices are a proof of that (Farkas' lemma), checked too.
// [Solver] goes on from one problem to the next.
//
// # Limits
//
// Numbers are finite, not negative and at most 1e30. Nothing here reads a clock
// or keeps memory between calls; functions are safe for concurrent use.
package simplex
