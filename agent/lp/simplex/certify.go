package simplex

// Certify fills in objective, bound, gap and status of an answer that was put
// together from those of other problems: from r.Shares, which are ascending by
// candidate, and from any r.Prices and r.JobPrices. It returns ErrCheck where
// they are not an answer to p, and ErrProblem where p is malformed. A gap of 0 is
// that of Options.
func Certify(p *Problem, r *Result, gap float64) error {
	if err := p.validate(); err != nil {
		return err
	}
	o := Options{Gap: gap}
	o.fillDefaults(p)
	r.Status = Stopped
	return complete(p, r, o.Gap)
}
