package main

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/yardmaster/yardmaster/agent/lp"
	"github.com/yardmaster/yardmaster/env"
)

func (d *decision) render(w io.Writer) error {
	s := d.state
	fmt.Fprintf(w, "%d jobs, round %d, remaining work %v; %s took %v\n\n", len(s.Jobs), s.Round, knownAs(s.Knowledge), d.policy, d.took.Round(10*time.Microsecond))
	if err := d.renderAllocation(w); err != nil {
		return err
	}
	fmt.Fprintln(w)
	if err := d.renderUse(w); err != nil {
		return err
	}
	if d.full {
		if err := d.renderReasons(w); err != nil {
			return err
		}
	}
	for _, id := range d.jobs {
		if err := d.renderJob(w, indexOfJob(s, id)); err != nil {
			return err
		}
	}
	return nil
}

func knownAs(k env.Knowledge) string {
	switch k {
	case env.Oracle:
		return "known"
	case env.Estimate:
		return "estimated"
	}
	return "unknown"
}

// renderAllocation writes a line for each job. "of best" is its throughput over
// that of its fastest strategy.
func (d *decision) renderAllocation(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "job\tmodel\tasked\tgets\tnodes\tplan\tsteps/s\tof best\t")
	for i, k := range d.allocation {
		j := &d.state.Jobs[i]
		fmt.Fprintf(t, "%d\t%s\t%d\t", j.ID, j.Model, j.GPUs)
		if k == env.Idle {
			fmt.Fprintf(t, "-\t\t\t\t\t%s\n", changeOf(j, k))
			continue
		}
		st := &j.Strategies[k]
		fmt.Fprintf(t, "%s\t%d\t%s\t%.4g\t%.2f\t%s\n", resources(d.state, st), st.Nodes, planOf(&st.Plan), st.Throughput, relativeSpeed(j, k), changeOf(j, k))
	}
	return t.Flush()
}

// inUse returns the GPUs that the allocation takes of each type.
func (d *decision) inUse() []float64 {
	used := make([]float64, len(d.state.Cluster.Types))
	for i, k := range d.allocation {
		if k != env.Idle {
			st := &d.state.Jobs[i].Strategies[k]
			used[st.Type] += st.Held()
		}
	}
	return used
}

func (d *decision) renderUse(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "GPU type\tin use\tof\t")
	used := d.inUse()
	for i, n := range d.state.Capacity() {
		fmt.Fprintf(t, "%s\t%g\t%d\t\n", d.state.Cluster.Types[i].Name, used[i], n)
	}
	return t.Flush()
}

// renderReasons writes what the whole decision rests on.
func (d *decision) renderReasons(w io.Writer) error {
	fmt.Fprintln(w)
	switch {
	case d.program != nil:
		return d.renderProgram(w)
	case d.scores != nil:
		return d.renderScores(w)
	}
	_, err := fmt.Fprintf(w, "%s goes by rules on whole jobs: it has no prices and no scores of candidates; --job shows what a job could have had\n", d.policy)
	return err
}

func (d *decision) renderProgram(w io.Writer) error {
	e := d.program
	fmt.Fprintf(w, "objective %.6g, proven bound %.6g, gap %.1e (%v, %d pivots)\n\n", e.Objective, e.Bound, e.Gap, e.Status, e.Pivots)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "constraint\tused\tof\tprice\t")
	for i := range e.Rows {
		r := &e.Rows[i]
		binds := ""
		if r.Binds() {
			binds = "binds"
		}
		fmt.Fprintf(t, "%s\t%.4g\t%g\t%.4g\t%s\n", d.rowName(r), r.Used, r.Capacity, r.Price, binds)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "used by the fractional answer; price: what one more GPU would add to the objective\n%s", d.exchangeRates())
	return err
}

// rowName names a constraint of the program.
func (d *decision) rowName(r *lp.Row) string {
	s := d.state
	if r.Kind == lp.TypeRow {
		return s.Cluster.Types[r.Index].Name + " GPUs"
	}
	q := &s.Quotas[r.Index]
	if q.Type == env.AnyType {
		return fmt.Sprintf("quota of %s", q.Tenant)
	}
	return fmt.Sprintf("quota of %s, %s GPUs", q.Tenant, s.Cluster.Types[q.Type].Name)
}

// exchangeRates says what GPU types are worth in hours of the cheapest that has a
// price.
func (d *decision) exchangeRates() string {
	type price struct {
		name string
		each float64
	}
	var prices []price
	for i := range d.program.Rows {
		if r := &d.program.Rows[i]; r.Kind == lp.TypeRow && r.Price > 0 {
			prices = append(prices, price{d.state.Cluster.Types[r.Index].Name, r.Price})
		}
	}
	if len(prices) < 2 {
		return ""
	}
	cheapest := slices.MinFunc(prices, func(a, b price) int { return cmp.Compare(a.each, b.each) })
	var b strings.Builder
	for _, p := range prices {
		if p.name != cheapest.name {
			fmt.Fprintf(&b, "one %s hour = %.3g %s hours\n", p.name, p.each/cheapest.each, cheapest.name)
		}
	}
	return b.String()
}

// mostScores bounds the lines of renderScores.
const mostScores = 20

// renderScores writes the candidates of the highest scores.
func (d *decision) renderScores(w io.Writer) error {
	type scored struct {
		job, strategy int
		score         float64
	}
	var list []scored
	for i := range d.scores {
		for k, x := range d.scores[i] {
			if !math.IsInf(x, -1) {
				list = append(list, scored{i, k, x})
			}
		}
	}
	slices.SortStableFunc(list, func(a, b scored) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(d.state.Jobs[a.job].ID, d.state.Jobs[b.job].ID))
	})
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "score\tjob\tcandidate\t")
	for _, x := range list[:min(mostScores, len(list))] {
		j, mark := &d.state.Jobs[x.job], ""
		if d.allocation[x.job] == x.strategy {
			mark = "runs"
		}
		fmt.Fprintf(t, "%.3f\t%d\t%s\t%s\n", x.score, j.ID, resources(d.state, &j.Strategies[x.strategy]), mark)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "%d of %d candidates, as the greedy stage goes through them: each that fits runs, each job once\n", min(mostScores, len(list)), len(list))
	return err
}

// renderJob writes a job's candidates and why it got what it got.
func (d *decision) renderJob(w io.Writer, i int) error {
	j, k := &d.state.Jobs[i], d.allocation[i]
	gets := "nothing"
	if k != env.Idle {
		gets = resources(d.state, &j.Strategies[k])
	}
	fmt.Fprintf(w, "\njob %d (%s, batch %d, asked for %d GPUs) gets %s: %s\n", j.ID, j.Model, j.Batch, j.GPUs, gets, d.reason(i))
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "candidate\tplan\tsteps/s\ttime left\t%s\t\n", d.candidateHead())
	for k := range j.Strategies {
		st := &j.Strategies[k]
		left := "-"
		if j.Remaining > 0 {
			left = shortTime(j.Remaining / st.Throughput)
		}
		mark := ""
		if d.allocation[i] == k {
			mark = "runs"
		}
		fmt.Fprintf(t, "%s\t%s\t%.4g\t%s\t%s\t%s\n", resources(d.state, st), planOf(&st.Plan), st.Throughput, left, d.candidateCells(i, k), mark)
	}
	return t.Flush()
}

// shortTime writes seconds as hours and minutes.
func shortTime(seconds float64) string {
	if seconds > 1e9 {
		return fmt.Sprintf("%.1e h", seconds/3600)
	}
	d := time.Duration(seconds * float64(time.Second))
	if d < time.Minute {
		return d.Round(100 * time.Millisecond).String()
	}
	return strings.TrimSuffix(d.Round(time.Minute).String(), "0s")
}

func (d *decision) candidateHead() string {
	switch {
	case d.program != nil:
		return "share\tvalue\tprice\treduced value\tshort of best"
	case d.scores != nil:
		return "score"
	}
	return "fits what is left"
}

func (d *decision) candidateCells(i, k int) string {
	switch {
	case d.program != nil:
		for _, c := range d.program.Jobs[i].Choices {
			if c.Strategy == k {
				return fmt.Sprintf("%.3g\t%.4g\t%.4g\t%.4g\t%.2g", c.Weight, c.Value, c.Cost, rounded(c.Value-c.Cost, &c), rounded(c.Regret, &c))
			}
		}
		return "-\t-\t-\t-\tnot a candidate of this program"
	case d.scores != nil:
		return fmt.Sprintf("%.3f", d.scores[i][k])
	case d.budgetWithout(i).Fits(&d.state.Jobs[i], &d.state.Jobs[i].Strategies[k]):
		return "yes"
	}
	return "no"
}

// rounded returns x, a difference of figures of c, or 0 where it is within
// rounding.
func rounded(x float64, c *lp.Choice) float64 {
	if math.Abs(x) <= tie(c) {
		return 0
	}
	return x
}

// tie returns the difference of figures of c that means nothing.
func tie(c *lp.Choice) float64 { return 1e-9 * (math.Abs(c.Value) + math.Abs(c.Cost)) }

// bestChoice returns the candidate of the largest reduced value, of equal ones
// that with the largest share.
func bestChoice(list []lp.Choice) *lp.Choice {
	best := &list[0]
	for i := range list {
		c := &list[i]
		more := (c.Value - c.Cost) - (best.Value - best.Cost)
		if more > tie(c)+tie(best) || more > -tie(c)-tie(best) && c.Weight > best.Weight {
			best = c
		}
	}
	return best
}

// budgetWithout is what all other jobs leave.
func (d *decision) budgetWithout(job int) *env.Budget {
	b := env.NewBudget(d.state)
	for i, k := range d.allocation {
		if i != job && k != env.Idle {
			b.Take(&d.state.Jobs[i], &d.state.Jobs[i].Strategies[k])
		}
	}
	return b
}

// reason says in a sentence why job i got what it got.
func (d *decision) reason(i int) string {
	j, given := &d.state.Jobs[i], d.allocation[i]
	best := env.Idle // of the candidates that the policy likes most
	switch {
	case d.program != nil:
		return d.programReason(i)
	case d.scores != nil:
		for k, x := range d.scores[i] {
			if !math.IsInf(x, -1) && (best == env.Idle || x > d.scores[i][best]) {
				best = k
			}
		}
	default:
		for k := range j.Strategies {
			if best == env.Idle || j.Strategies[k].Throughput > j.Strategies[best].Throughput {
				best = k
			}
		}
	}
	rank := "its fastest candidate"
	if d.scores != nil {
		rank = "its candidate of the highest score"
	}
	left := d.budgetWithout(i)
	switch {
	case best == env.Idle || !left.Possible(j, &j.Strategies[best]) && given == env.Idle:
		return "no candidate of it can run on this cluster or within its tenant's quota"
	case given == best:
		return "that is " + rank
	case given == env.Idle && left.Fits(j, &j.Strategies[best]):
		return fmt.Sprintf("%s (%s) would fit, but the policy holds it back", rank, resources(d.state, &j.Strategies[best]))
	case given == env.Idle:
		return fmt.Sprintf("%s (%s) does not fit what jobs before it leave", rank, resources(d.state, &j.Strategies[best]))
	case left.Fits(j, &j.Strategies[best]):
		return fmt.Sprintf("%s (%s) would fit too, but the policy prefers this one now", rank, resources(d.state, &j.Strategies[best]))
	}
	return fmt.Sprintf("%s (%s) does not fit what others take", rank, resources(d.state, &j.Strategies[best]))
}

// programReason is the reason in terms of the linear program.
func (d *decision) programReason(i int) string {
	e := &d.program.Jobs[i]
	given := d.allocation[i]
	if len(e.Choices) == 0 {
		return "no candidate of it can run on this cluster or within its tenant's quota"
	}
	best := bestChoice(e.Choices)
	name := resources(d.state, &d.state.Jobs[i].Strategies[best.Strategy])
	switch reduced := rounded(best.Value-best.Cost, best); {
	case given == best.Strategy && reduced > 0:
		return fmt.Sprintf("it is worth %.4g there and its GPUs %.4g to others, the largest difference of its candidates", best.Value, best.Cost)
	case given == env.Idle && reduced < 0:
		return fmt.Sprintf("even in its best candidate (%s) it is worth %.4g, less than the %.4g its GPUs are worth to others", name, best.Value, best.Cost)
	}
	for n := range e.Choices {
		switch c := &e.Choices[n]; {
		case c.Strategy != given:
		case rounded(c.Regret, c) == 0:
			return "among its best candidates at these prices; which of them it gets is decided by what fits"
		default:
			return fmt.Sprintf("the program prefers %s by %.2g; rounding to whole jobs gave it what was left", name, c.Regret)
		}
	}
	if best.Weight > 0 {
		return fmt.Sprintf("the program gives it %s for %.3g of its time, which whole jobs in this round did not leave room for", name, best.Weight)
	}
	return "at these prices it is worth no more than its GPUs are to others"
}
