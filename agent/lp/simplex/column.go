package simplex

// Kinds of columns that belong to no job, in column.job.
const (
	over  = -1 - iota // takes more of a resource than there is, at its highest price
	under             // leaves some of a resource unused, refunded at its lowest price
	scale             // θ: scales all capacities
)

// column is a column of the basis or of the pool it is drawn from. For a job it
// mixes two of its candidates: weight of hi, the rest of lo. Sum uses the pure
// ones (lo none, weight 1) and the empty one; MaxMin uses the mixes that reach
// the target. For over and under, lo is the resource.
type column struct {
	job    int32
	lo, hi int32
	weight float64
}

// empty is the column with which job j does not run.
func empty(j int32) column { return column{job: j, lo: none, hi: none} }

// pure is the column with which job j runs candidate i all the time.
func pure(j, i int32) column { return column{job: j, lo: none, hi: i, weight: 1} }

// addColumn adds f times the usage of a job's column c to dst.
func (in *instance) addColumn(dst []float64, c column, f float64) {
	in.addUsage(dst, c.lo, f*(1-c.weight))
	in.addUsage(dst, c.hi, f*c.weight)
}

// rateOfColumn returns the rate a job gets from its column c.
func (in *instance) rateOfColumn(c column) float64 {
	return (1-c.weight)*in.rateOf(c.lo) + c.weight*in.rateOf(c.hi)
}
