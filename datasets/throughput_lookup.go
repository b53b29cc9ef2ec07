package datasets

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/yardmaster/yardmaster/env"
)

// Errors of [Speeds.Lookup].
var (
	// ErrNotMeasured is wrapped where no row speaks of what was asked.
	ErrNotMeasured = errors.New("datasets: not in the throughput table")
	// ErrOutOfMemory is wrapped where the rows say that it does not fit.
	ErrOutOfMemory = errors.New("datasets: out of memory")
)

// SpeedQuery asks how fast a model runs.
type SpeedQuery struct {
	Model   string
	GPUType string
	Batch   int // samples per step and worker
	GPUs    int
	// Nodes that the GPUs are spread over; 0 takes the fewest that each number
	// of GPUs was measured on, and rows that do not say.
	Nodes int
	// Plan to run under. Its Data is not looked at, it follows from GPUs; a
	// MicroBatch of 0 matches any. The zero value is the fastest plan of each
	// number of GPUs.
	Plan env.Plan
}

// Speed answers a [SpeedQuery].
type Speed struct {
	StepsPerSecond float64
	// Low and High are the numbers of GPUs of the rows it comes from. They are
	// equal, and GPUs, where that was measured; equal, and not GPUs, beyond the
	// smallest or largest number that was.
	Low, High int
}

// Speeds is a throughput table arranged for look-ups. It is immutable and safe
// for concurrent use.
//
// # Interpolation
//
// A look-up takes the rows of the model, batch per worker, GPU type and plan
// and goes along their numbers of GPUs:
//
//   - Where GPUs was measured, the answer is the mean of the rows of one plan
//     there, of the fastest plan where none is asked for. Modelled rows count
//     only where none was measured, those that ran out of memory only where
//     none ran.
//   - Between two measured numbers, log steps/s is linear in log GPUs (a power
//     law between neighbours), so that the answer is never beyond either and
//     lies on the line of perfect scaling where both do.
//   - Below the smallest, the answer is the smallest's steps/s per GPU: of
//     perfect scaling, which is the least a job gets from fewer GPUs unless it
//     gains more than twice from twice as many. Above the largest, it is that of
//     the largest: nothing shows that more would help.
//   - Where the next smaller measured number ran out of memory, so does the
//     query; plans that divide memory need no fewer GPUs than that. Below a
//     smallest that ran out of memory it does too.
//
// So the answer rises with GPUs wherever the rows do, and is continuous. The
// batch is never interpolated: it changes what a step is. The analytic model of
// env/perf, corrected by rows, answers what a table cannot; see
// [ThroughputTable.Measurements].
type Speeds struct {
	series map[seriesKey][]speedPoint // ordered by (gpus, nodes, plan)
}

// seriesKey is what is never interpolated.
type seriesKey struct {
	model, gpuType string
	batch          int32
}

// speedPoint merges the rows of one plan on so many GPUs of so many nodes.
type speedPoint struct {
	gpus, nodes int
	plan        env.Plan // without Data
	rate        float64  // steps/s; 0 is out of memory
}

// Speeds arranges the rows for look-ups, but for those without a batch and
// those that offload to the host, which no plan says.
func (t *ThroughputTable) Speeds() *Speeds {
	rows := make([]*ThroughputRow, 0, len(t.Rows))
	for i := range t.Rows {
		if t.Rows[i].Batch > 0 && !t.Rows[i].Offload {
			rows = append(rows, &t.Rows[i])
		}
	}
	slices.SortStableFunc(rows, compareSpeeds)
	s := &Speeds{series: make(map[seriesKey][]speedPoint)}
	for len(rows) > 0 {
		n := 1
		for n < len(rows) && compareSpeeds(rows[0], rows[n]) == 0 {
			n++
		}
		r := rows[0]
		key := seriesKey{r.Model, r.GPUType, r.Batch}
		s.series[key] = append(s.series[key], speedPoint{
			gpus: int(r.GPUs), nodes: int(r.Nodes), plan: planOf(r), rate: mergeRates(rows[:n]),
		})
		rows = rows[n:]
	}
	return s
}

// planOf returns the plan of r without its Data, which follows from the GPUs,
// and with degrees of 0 where it is not known.
func planOf(r *ThroughputRow) env.Plan {
	p := r.Plan
	p.Data = 0
	return p
}

// compareSpeeds orders rows by what makes them points of their own.
func compareSpeeds(a, b *ThroughputRow) int {
	p, q := planOf(a), planOf(b)
	return cmp.Or(
		strings.Compare(a.Model, b.Model), strings.Compare(a.GPUType, b.GPUType), cmp.Compare(a.Batch, b.Batch),
		cmp.Compare(a.GPUs, b.GPUs), cmp.Compare(a.Nodes, b.Nodes),
		cmp.Compare(p.Tensor, q.Tensor), cmp.Compare(p.Pipeline, q.Pipeline), cmp.Compare(p.MicroBatch, q.MicroBatch), cmp.Compare(p.ZeRO, q.ZeRO),
		cmp.Compare(flag(p.Checkpoint), flag(q.Checkpoint)),
	)
}

// mergeRates returns the mean of the measured rows that ran, of the modelled
// ones where none was measured, 0 where none ran.
func mergeRates(rows []*ThroughputRow) float64 {
	for _, quality := range [...]Quality{Measured, Modelled} {
		sum, ran, found := 0.0, 0, false
		for _, r := range rows {
			if r.Quality != quality {
				continue
			}
			found = true
			if !r.OutOfMemory {
				sum += r.StepsPerSecond
				ran++
			}
		}
		if found {
			return sum / float64(max(ran, 1))
		}
	}
	return 0
}

// Lookup answers q. Its error wraps [ErrNotMeasured] or [ErrOutOfMemory].
func (s *Speeds) Lookup(q SpeedQuery) (Speed, error) {
	if q.GPUs < 1 || q.Nodes < 0 || q.Nodes > q.GPUs {
		return Speed{}, fmt.Errorf("datasets: look up %d GPUs on %d nodes: want at least 1, and no more nodes than GPUs", q.GPUs, q.Nodes)
	}
	if q.Batch < 1 || q.Batch > MaxBatch {
		return Speed{}, fmt.Errorf("datasets: look up batch %d: want 1 to %d samples per step and worker", q.Batch, MaxBatch)
	}
	points := s.series[seriesKey{q.Model, q.GPUType, int32(q.Batch)}]
	if len(points) == 0 {
		return Speed{}, fmt.Errorf("%w: %s with batch %d on %s; %s", ErrNotMeasured, q.Model, q.Batch, q.GPUType, s.batches(q.Model, q.GPUType))
	}
	curve := q.curve(points)
	if len(curve) == 0 {
		return Speed{}, fmt.Errorf("%w: %s with batch %d on %s under plan %+v on %d nodes", ErrNotMeasured, q.Model, q.Batch, q.GPUType, q.Plan, q.Nodes)
	}
	speed, ok := interpolate(curve, q.GPUs)
	if !ok {
		return Speed{}, fmt.Errorf("%w: %s with batch %d on %d × %s", ErrOutOfMemory, q.Model, q.Batch, q.GPUs, q.GPUType)
	}
	return speed, nil
}

// batches says which batches of a model were measured.
func (s *Speeds) batches(model, gpuType string) string {
	var found []int
	for key := range s.series { // sorted below
		if key.model == model && key.gpuType == gpuType {
			found = append(found, int(key.batch))
		}
	}
	if len(found) == 0 {
		return "no batch of it is"
	}
	slices.Sort(found)
	return fmt.Sprintf("batches that are: %v", found)
}

// matches reports whether a point is of the plan and the nodes that q asks for.
func (q *SpeedQuery) matches(p *speedPoint) bool {
	if q.Nodes != 0 && p.nodes != q.Nodes {
		return false
	}
	if q.Plan == (env.Plan{}) {
		return true
	}
	want := q.Plan
	want.Data = 0
	if want.MicroBatch == 0 {
		want.MicroBatch = p.plan.MicroBatch
	}
	return want == p.plan
}

// curve returns the one point that counts of each number of GPUs, in order.
func (q *SpeedQuery) curve(points []speedPoint) []speedPoint {
	var curve []speedPoint
	for i := range points {
		p := &points[i]
		if !q.matches(p) {
			continue
		}
		if n := len(curve); n > 0 && curve[n-1].gpus == p.gpus {
			// Points come with the fewest nodes first.
			if last := &curve[n-1]; last.nodes == p.nodes && p.rate > last.rate {
				*last = *p
			}
			continue
		}
		curve = append(curve, *p)
	}
	return curve
}

// interpolate returns the speed at gpus of a curve ordered by GPUs, and false
// where that runs out of memory.
func interpolate(curve []speedPoint, gpus int) (Speed, bool) {
	at, exact := slices.BinarySearchFunc(curve, gpus, func(p speedPoint, gpus int) int { return cmp.Compare(p.gpus, gpus) })
	switch {
	case exact:
		p := curve[at]
		return Speed{p.rate, p.gpus, p.gpus}, p.rate > 0
	case at == 0:
		p := curve[0]
		return Speed{p.rate * float64(gpus) / float64(p.gpus), p.gpus, p.gpus}, p.rate > 0
	}
	low := curve[at-1]
	if low.rate == 0 {
		return Speed{}, false
	}
	if at == len(curve) || curve[at].rate == 0 {
		return Speed{low.rate, low.gpus, low.gpus}, true
	}
	high := curve[at]
	x := math.Log(float64(gpus)/float64(low.gpus)) / math.Log(float64(high.gpus)/float64(low.gpus))
	rate := low.rate * math.Pow(high.rate/low.rate, x)
	// Rounding must not put it beyond its neighbours.
	rate = max(min(rate, max(low.rate, high.rate)), min(low.rate, high.rate))
	return Speed{rate, low.gpus, high.gpus}, true
}
