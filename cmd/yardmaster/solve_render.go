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
	"github.com/yardmaster/yardmaster/agent/lp/simplex"
	"github.com/yardmaster/yardmaster/env"
)

func (d *decision) render(w io.Writer) error {
	s := d.state
	fmt.Fprintf(w, "%d jobs, round %d, remaining work %v; %s took %v\n\n", len(s.Jobs), s.Round, knownAs(s.Knowledge), d.policy, d.took.Round(time.Microsecond))
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
		fmt.Fprintf(t, "%d\t%s\t%d\t", j.ID, printable(j.Model), j.GPUs)
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
		fmt.Fprintf(t, "%s\t%g\t%d\t\n", printable(d.state.Cluster.Types[i].Name), used[i], n)
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
	aim := "maximises"
	if e.Minimise {
		aim = "minimises"
	}
	fmt.Fprintf(w, "%s %s the %s\n", d.policy, aim, e.Goal)
	fmt.Fprintf(w, "objective %.6g, proven bound %.6g, gap %.2g (%v, %d pivots)\n\n", e.Objective, e.Bound, max(0, e.Gap), e.Status, e.Pivots)
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
	effect := "add to"
	if e.Minimise {
		effect = "take off"
	}
	_, err := fmt.Fprintf(w, "used by the fractional answer; price: what one more GPU would %s the objective\n%s%s", effect, d.slack(), d.exchangeRates())
	return err
}

// slack says what limits the objective where no constraint has a price; "" where
// one has, nothing runs, or the prices prove nothing.
func (d *decision) slack() string {
	e := d.program
	if e.Status != simplex.Optimal {
		return ""
	}
	for i := range e.Rows {
		if e.Rows[i].Price > 0 {
			return ""
		}
	}
	most, holds := 0.0, env.Idle
	gaining := 0
	for i := range e.Jobs {
		if gain := e.Jobs[i].Gain; gain > 0 {
			if gaining++; gain > most {
				most, holds = gain, i
			}
		}
	}
	switch {
	case gaining == 0:
		return ""
	case e.Least && gaining == 1 && len(e.Jobs) > 1:
		return fmt.Sprintf("no constraint has a price: job %d alone holds the objective down, which its fastest candidate all the time would not lift\n", d.state.Jobs[holds].ID)
	}
	return "no constraint has a price: there is room for the best candidate of every job that can run\n"
}

// rowName names a constraint of the program.
func (d *decision) rowName(r *lp.Row) string {
	s := d.state
	if r.Kind == lp.TypeRow {
		return printable(s.Cluster.Types[r.Index].Name) + " GPUs"
	}
	q := &s.Quotas[r.Index]
	tenant := printable(q.Tenant)
	if tenant == "" {
		tenant = "jobs without a tenant"
	}
	if q.Type == env.AnyType {
		return "quota of " + tenant
	}
	return fmt.Sprintf("quota of %s, %s GPUs", tenant, printable(s.Cluster.Types[q.Type].Name))
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
			prices = append(prices, price{printable(d.state.Cluster.Types[r.Index].Name), r.Price})
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
	fmt.Fprintf(w, "\njob %d (%s, batch %d, asked for %d GPUs) gets %s: %s\n", j.ID, printable(j.Model), j.Batch, j.GPUs, gets, d.reason(i))
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
	if seconds > 1e9 { // also where the quotient is beyond all numbers
		return fmt.Sprintf("%.1e h", min(seconds/3600, math.MaxFloat64))
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
		c := d.choiceOf(i, k)
		if c == nil {
			return "-\t-\t-\t-\tnot a candidate of this program"
		}
		return fmt.Sprintf("%.3g\t%.4g\t%.4g\t%.4g\t%.2g", c.Weight, c.Value, c.Cost, rounded(c.Value-c.Cost, c), rounded(c.Regret, c))
	case d.scores != nil && math.IsInf(d.scores[i][k], -1):
		return "left out"
	case d.scores != nil:
		return fmt.Sprintf("%.3f", d.scores[i][k])
	case d.budgetWithout(i).Fits(&d.state.Jobs[i], &d.state.Jobs[i].Strategies[k]):
		return "yes"
	}
	return "no"
}

// choiceOf returns what strategy k of job i is to the program, nil where it is no
// candidate of it.
func (d *decision) choiceOf(i, k int) *lp.Choice {
	list := d.program.Jobs[i].Choices
	if n := slices.IndexFunc(list, func(c lp.Choice) bool { return c.Strategy == k }); n >= 0 {
		return &list[n]
	}
	return nil
}

// mostShared returns the candidate with the largest share.
func mostShared(list []lp.Choice) *lp.Choice {
	most := &list[0]
	for n := range list {
		if list[n].Weight > most.Weight {
			most = &list[n]
		}
	}
	return most
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
	if d.program != nil {
		return d.programReason(i)
	}
	left := d.budgetWithout(i)
	best, rank := env.Idle, "its fastest candidate" // of those that could ever run
	if d.scores != nil {
		rank = "its candidate of the highest score"
	}
	for k := range j.Strategies {
		like := func(k int) float64 { return j.Strategies[k].Throughput }
		if d.scores != nil {
			like = func(k int) float64 { return d.scores[i][k] }
		}
		if !math.IsInf(like(k), -1) && left.Possible(j, &j.Strategies[k]) && (best == env.Idle || like(k) > like(best)) {
			best = k
		}
	}
	switch {
	case best == env.Idle:
		return d.impossible(i)
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

// impossible says why none of job i's candidates could run even if nothing else
// did.
func (d *decision) impossible(i int) string {
	j := &d.state.Jobs[i]
	without := *d.state
	without.Quotas = nil
	cluster := env.NewBudget(&without)
	for k := range j.Strategies {
		if cluster.Possible(j, &j.Strategies[k]) {
			return "the quotas of its tenant leave room for none of its candidates"
		}
	}
	return "none of its candidates fits the GPUs that are in service"
}

// sharedReason is the reason in a program whose answer is realised over many
// rounds; "" where job i has no part in it.
func (d *decision) sharedReason(i int) string {
	e := &d.program.Jobs[i]
	if e.Had == 0 {
		return ""
	}
	share := d.choiceOf(i, d.allocation[i])
	if share == nil || share.Weight == 0 {
		share = mostShared(e.Choices)
	}
	due := fmt.Sprintf("the program gives it %s for %.3g %% of its time, and it has had %.3g %% of what it is due so far",
		resources(d.state, &d.state.Jobs[i].Strategies[share.Strategy]), 100*share.Weight, 100*e.Had)
	switch d.allocation[i] {
	case share.Strategy:
		return due
	case env.Idle:
		return due + ": jobs that have had less go first"
	}
	return due + "; in this round it fills what was left"
}

// programReason is the reason in terms of the linear program.
func (d *decision) programReason(i int) string {
	e := &d.program.Jobs[i]
	given := d.allocation[i]
	if len(e.Choices) == 0 {
		return d.impossible(i)
	}
	if text := d.sharedReason(i); text != "" {
		return text
	}
	best := bestChoice(e.Choices)
	name := resources(d.state, &d.state.Jobs[i].Strategies[best.Strategy])
	switch reduced := rounded(best.Value-best.Cost, best); {
	case given == best.Strategy && reduced > 0:
		return fmt.Sprintf("it is worth %.4g there and its GPUs %.4g to others, the largest difference of its candidates", best.Value, best.Cost)
	case given == env.Idle && reduced < 0:
		return fmt.Sprintf("even in its best candidate (%s) it is worth %.4g, less than the %.4g its GPUs are worth to others", name, best.Value, best.Cost)
	}
	if c := d.choiceOf(i, given); c != nil && rounded(c.Regret, c) == 0 {
		return "among its best candidates at these prices; which of them it gets is decided by what fits"
	} else if c != nil {
		return fmt.Sprintf("the program prefers %s by %.2g; rounding to whole jobs gave it what was left", name, c.Regret)
	}
	if best.Weight > 0 {
		return fmt.Sprintf("the program gives it %s for %.3g of its time, which whole jobs in this round did not leave room for", name, best.Weight)
	}
	return "at these prices it is worth no more than its GPUs are to others"
}
