package datasets

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/yardmaster/yardmaster/env"
)

// ThroughputVersion is the version of the throughput table that
// [WriteThroughput] writes. [ReadThroughput] takes this one and every older one.
const ThroughputVersion = 1

// Limits on what a throughput table may hold.
const (
	MaxThroughputRows = 1 << 18 // rows of a table; the largest published one has a tenth
	MaxGlobalBatch    = 1 << 40 // samples per iteration
	maxRate           = 1e12    // steps/s
	maxMemoryGiB      = 1e6
	maxPlanned        = 1 << 24 // samples per micro-batch
)

// Quality says where a throughput comes from.
type Quality string

// Qualities of a row.
const (
	Measured Quality = "measured" // the whole job ran so
	Modelled Quality = "modelled" // computed, by the source or an importer, from measured parts
)

// ThroughputRow says how fast a model runs on some GPUs of one type, or that it
// runs out of memory. A field whose column is nullable is null where it has its
// zero value.
//
// An iteration updates the weights once, with GlobalBatch samples. A step is
// the share of one worker (a GPU): Batch = GlobalBatch / GPUs samples. So
// StepsPerSecond, summed over the workers, is GPUs × iterations/s, whatever the
// plan and whether the batch is known or not.
type ThroughputRow struct {
	Source      string // source: who measured it, the name of an importer or of one of its tables
	Model       string // model: a name in the performance catalogue where it is the same model, else the source's
	Dataset     string // dataset: what it was trained on; nullable
	GPUType     string // gpu_type: a name in the performance catalogue where there is one, else the source's
	GPUs        int32  // gpus: >= 1
	Nodes       int32  // nodes: that the GPUs were spread over; nullable
	Placement   string // placement: GPUs on each node, joined by "+", as in "4+4"; nullable
	Batch       int32  // batch: samples per step and worker; nullable
	GlobalBatch int64  // global_batch: samples per iteration of all workers; nullable
	// Plan (data, tensor, pipeline, micro_batch, zero, checkpoint) is how the
	// GPUs share the work. Its degrees are 0 where the plan is not known, its
	// micro-batch also where only that is not known.
	Plan           env.Plan
	Offload        bool    // offload: the optimizer's state and work are on the host
	StepsPerSecond float64 // steps_per_s: null where it ran out of memory
	MemGiB         float64 // mem_gib: on the fullest GPU; nullable
	Quality        Quality // quality
	OutOfMemory    bool    // oom
}

// ThroughputTable is a table of throughputs, in any order. Several rows may
// stand for one point: other sources, other placements, repetitions.
type ThroughputTable struct {
	// Name is the file the table was read from, or what errors call it.
	Name string
	Meta Meta
	Rows []ThroughputRow
}

// Validate reports what is wrong with t, up to ten problems at once, each a
// [*RowError]. A table that it accepts can be written and looked up in.
func (t *ThroughputTable) Validate() error {
	return checkRows(t.Name, t.Rows, MaxThroughputRows, (*ThroughputRow).check)
}

// Validate reports the first thing wrong with r as a [*RowError] without file
// and row.
func (r *ThroughputRow) Validate() error { return orNil(r.check()) }

// check returns the first thing wrong with r, without file and row.
func (r *ThroughputRow) check() *RowError {
	for _, check := range [...]func() *RowError{r.checkNames, r.checkPlace, r.checkBatch, r.checkPlan, r.checkSpeed} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

func badValue(column string, value any, fix string) *RowError {
	return &RowError{Column: column, Value: fmt.Sprint(value), Fix: fix}
}

func (r *ThroughputRow) checkNames() *RowError {
	if err := checkNames(
		checkedName{columnSource, r.Source, true}, checkedName{columnModel, r.Model, true}, checkedName{columnDataset, r.Dataset, false},
		checkedName{columnGPUType, r.GPUType, true}, checkedName{columnPlacement, r.Placement, false},
	); err != nil {
		return err
	}
	if r.Quality != Measured && r.Quality != Modelled {
		return badValue(columnQuality, Excerpt(string(r.Quality)), `want "measured" or "modelled"`)
	}
	return nil
}

func (r *ThroughputRow) checkPlace() *RowError {
	if r.GPUs < 1 || r.GPUs > MaxGPUs {
		return badValue(columnGPUs, r.GPUs, "want 1 to 1000000")
	}
	if r.Nodes < 0 || r.Nodes > r.GPUs {
		return badValue(columnNodes, r.Nodes, "want 1 to "+columnGPUs+", or null where it is not known")
	}
	if r.Placement == "" {
		return nil
	}
	gpus, nodes, ok := ParsePlacement(r.Placement)
	if !ok || gpus != r.GPUs || nodes != r.Nodes {
		return badValue(columnPlacement, Excerpt(r.Placement), fmt.Sprintf(`want the GPUs of each of %d nodes joined by "+", %d in all`, r.Nodes, r.GPUs))
	}
	return nil
}

// ParsePlacement returns the GPUs and the nodes of a placement such as "4+4".
func ParsePlacement(s string) (gpus, nodes int32, ok bool) {
	for part := range strings.SplitSeq(s, "+") {
		n, err := strconv.ParseInt(part, 10, 32)
		if err != nil || n < 1 || n > int64(MaxGPUs-gpus) || part[0] < '1' {
			return 0, 0, false
		}
		gpus += int32(n)
		nodes++
	}
	return gpus, nodes, true
}

func (r *ThroughputRow) checkBatch() *RowError {
	switch {
	case r.Batch < 0 || r.Batch > MaxBatch:
		return badValue(columnBatch, r.Batch, "want 1 to 16777216 samples per step and worker, or null")
	case r.GlobalBatch < 0 || r.GlobalBatch > MaxGlobalBatch:
		return badValue(columnGlobalBatch, r.GlobalBatch, "want 1 to 2^40 samples per iteration, or null")
	case r.Batch > 0 && r.GlobalBatch != int64(r.Batch)*int64(r.GPUs):
		return badValue(columnGlobalBatch, r.GlobalBatch, fmt.Sprintf("want %s × %s = %d, or no %s", columnBatch, columnGPUs, int64(r.Batch)*int64(r.GPUs), columnBatch))
	}
	return nil
}

func (r *ThroughputRow) checkPlan() *RowError {
	p := &r.Plan
	if p.Data == 0 && p.Tensor == 0 && p.Pipeline == 0 {
		if *p != (env.Plan{}) || r.Offload {
			return badValue(columnData, "null", "set the degrees, or leave out the rest of the plan, too")
		}
		return nil
	}
	for _, degree := range [...]struct {
		column string
		value  int
	}{{columnData, p.Data}, {columnTensor, p.Tensor}, {columnPipeline, p.Pipeline}} {
		if degree.value < 1 || degree.value > int(r.GPUs) {
			return badValue(degree.column, degree.value, "want 1 to "+columnGPUs+", or null for all three degrees")
		}
	}
	switch {
	case p.Data*p.Tensor > int(r.GPUs) || p.Data*p.Tensor*p.Pipeline != int(r.GPUs): // the first product fits, both factors being at most a million
		return badValue(columnData, fmt.Sprintf("%d × %d × %d", p.Data, p.Tensor, p.Pipeline), fmt.Sprintf("want degrees whose product is %s, %d", columnGPUs, r.GPUs))
	case p.MicroBatch < 0 || p.MicroBatch > maxPlanned:
		return badValue(columnMicroBatch, p.MicroBatch, "want 1 to 16777216 samples, or null where it is not known")
	case p.ZeRO < 0 || p.ZeRO > 3:
		return badValue(columnZeRO, p.ZeRO, "want stage 1 to 3, or null for none")
	}
	return nil
}

func (r *ThroughputRow) checkSpeed() *RowError {
	switch {
	case !(r.StepsPerSecond >= 0 && r.StepsPerSecond <= maxRate):
		return badValue(columnRate, r.StepsPerSecond, "want a number > 0 and at most 1e12")
	case r.OutOfMemory && r.StepsPerSecond != 0:
		return badValue(columnRate, r.StepsPerSecond, "want null where "+columnOutOfMemory+" is 1")
	case !r.OutOfMemory && r.StepsPerSecond == 0:
		return badValue(columnRate, "null", "set it, or "+columnOutOfMemory+" to 1; leave out what was not measured")
	case !(r.MemGiB >= 0 && r.MemGiB <= maxMemoryGiB):
		return badValue(columnMemory, r.MemGiB, "want GiB > 0, or null where it is not known")
	}
	return nil
}

// Hash returns a hash of the rows (SHA-256, hex). It depends on nothing but the
// rows and their order.
func (t *ThroughputTable) Hash() string {
	h := sha256.New()
	b := appendString(nil, "yardmaster throughput 1")
	for i := range t.Rows {
		r := &t.Rows[i]
		flags := uint64(flag(r.Offload)) | uint64(flag(r.OutOfMemory))<<1 | uint64(flag(r.Plan.Checkpoint))<<2
		for _, word := range [...]uint64{
			uint64(r.GPUs), uint64(r.Nodes), uint64(r.Batch), uint64(r.GlobalBatch),
			uint64(r.Plan.Data), uint64(r.Plan.Tensor), uint64(r.Plan.Pipeline), uint64(r.Plan.MicroBatch), uint64(r.Plan.ZeRO),
			math.Float64bits(r.StepsPerSecond), math.Float64bits(r.MemGiB), flags,
		} {
			b = binary.LittleEndian.AppendUint64(b, word)
		}
		for _, s := range [...]string{r.Source, r.Model, r.Dataset, r.GPUType, r.Placement, string(r.Quality)} {
			b = appendString(b, s)
		}
		h.Write(b) // never fails
		b = b[:0]
	}
	h.Write(b)
	return hex.EncodeToString(h.Sum(nil))
}

// flag returns 1 for true, the form of the columns that hold flags.
func flag(b bool) int32 {
	if b {
		return 1
	}
	return 0
}
