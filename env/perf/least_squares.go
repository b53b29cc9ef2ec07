package perf

import "math"

const (
	searchSteps = 60   // of Levenberg-Marquardt; a fit takes about twenty
	difference  = 1e-5 // of a factor's logarithm, for derivatives
	longestStep = 1    // of a factor's logarithm
)

// search moves the factors to where cost is least (Marquardt, 1963): the normal
// equations of the weighted residuals, damped until a step lowers the cost.
func (f *fit) search() {
	x := make([]float64, len(f.factors))
	f.set(x)
	residuals := f.residuals()
	best, damping := f.cost(residuals, x), 1e-2
	for range searchSteps {
		normal, gradient := f.normal(residuals, x)
		improved := 0.0
		for damping < 1e9 {
			next := step(normal, gradient, x, damping)
			f.set(next)
			r := f.residuals()
			if cost := f.cost(r, next); cost < best {
				improved = best - cost
				x, residuals, best, damping = next, r, cost, damping/4
				break
			}
			damping *= 4
		}
		if improved < 1e-7*best {
			break
		}
		damping = max(damping, 1e-9)
	}
	f.set(x)
}

// set applies the factors exp(x).
func (f *fit) set(x []float64) {
	for i := range f.factors {
		f.factors[i].apply(f, x[i])
	}
}

// residual returns log(predicted / measured) of a row.
func (o *observation) residual() float64 {
	return -math.Log(o.query.iteration(&o.plan)) - o.log
}

func (f *fit) residuals() []float64 {
	r := make([]float64, len(f.rows))
	for i := range f.rows {
		r[i] = f.rows[i].residual()
	}
	return r
}

// weight returns how much an error counts beside one that is no outlier.
func weight(residual float64) float64 {
	if a := math.Abs(residual); a > outlier {
		return outlier / a
	}
	return 1
}

// cost returns the negative log of the posterior, but for a constant.
func (f *fit) cost(residuals, x []float64) float64 {
	sum := 0.0
	for _, r := range residuals {
		if a := math.Abs(r); a > outlier {
			sum += (outlier*a - outlier*outlier/2) / (noise * noise)
		} else {
			sum += a * a / 2 / (noise * noise)
		}
	}
	for i := range f.factors {
		z := x[i] / f.factors[i].width
		sum += z * z / 2
	}
	return sum
}

// normal returns the matrix and the gradient of the normal equations at x, where
// the factors are set. Derivatives are differences; a factor moves only the rows
// of its model or GPU type.
func (f *fit) normal(residuals, x []float64) (matrix [][]float64, gradient []float64) {
	n := len(x)
	jacobian := make([][]float64, len(f.rows))
	for i := range jacobian {
		jacobian[i] = make([]float64, n)
	}
	for k := range f.factors {
		a := &f.factors[k]
		a.apply(f, x[k]+difference)
		for i := range f.rows {
			if o := &f.rows[i]; o.gpu == a.gpu || o.model == a.model || a.gpu < 0 && a.model < 0 {
				jacobian[i][k] = (o.residual() - residuals[i]) / difference
			}
		}
		a.apply(f, x[k])
	}
	matrix, gradient = make([][]float64, n), make([]float64, n)
	for k := range matrix {
		matrix[k] = make([]float64, n)
		w := f.factors[k].width
		matrix[k][k], gradient[k] = 1/(w*w), x[k]/(w*w)
	}
	for i, row := range jacobian {
		w := weight(residuals[i]) / (noise * noise)
		for k, a := range row {
			if a == 0 {
				continue
			}
			gradient[k] += w * a * residuals[i]
			for l, b := range row {
				matrix[k][l] += w * a * b
			}
		}
	}
	return matrix, gradient
}

// step returns x moved by the solution of the damped normal equations, no factor
// further than longestStep.
func step(matrix [][]float64, gradient, x []float64, damping float64) []float64 {
	d := solve(matrix, gradient, damping)
	next := make([]float64, len(x))
	for i := range x {
		next[i] = x[i] - max(-longestStep, min(d[i], longestStep))
	}
	return next
}

// solve returns d of (A + damping·diag A)·d = b, A symmetric and positive
// definite: by Cholesky's decomposition A = L·Lᵀ.
func solve(a [][]float64, b []float64, damping float64) []float64 {
	n := len(b)
	l := make([][]float64, n)
	for i := range l {
		l[i] = make([]float64, n)
		for j := 0; j <= i; j++ {
			sum := a[i][j]
			if i == j {
				sum += damping * a[i][i]
			}
			for k := range j {
				sum -= l[i][k] * l[j][k]
			}
			if i == j {
				l[i][i] = math.Sqrt(max(sum, 1e-300))
			} else {
				l[i][j] = sum / l[j][j]
			}
		}
	}
	d := make([]float64, n)
	for i := range n {
		sum := b[i]
		for k := range i {
			sum -= l[i][k] * d[k]
		}
		d[i] = sum / l[i][i]
	}
	for i := n - 1; i >= 0; i-- {
		sum := d[i]
		for k := i + 1; k < n; k++ {
			sum -= l[k][i] * d[k]
		}
		d[i] = sum / l[i][i]
	}
	return d
}
