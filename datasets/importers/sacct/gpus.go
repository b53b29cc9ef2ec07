package sacct

import (
	"strconv"
	"strings"

	"github.com/yardmaster/yardmaster/datasets"
	"github.com/yardmaster/yardmaster/datasets/importers"
)

// gpus is what a list of resources says of GPUs.
type gpus struct {
	total   int64
	types   []string // in the words of the list, as often as they occur
	shared  bool     // parts of GPUs are listed
	perNode bool     // total was multiplied by the number of nodes
}

// readGPUs returns the GPUs of a job from the first column that names some.
func readGPUs(v *importers.Values) gpus {
	var found gpus
	shared := false
	for _, column := range []int{colAllocTRES, colAllocGRES, colReqTRES, colReqGRES} {
		text, ok := v.Text(column), true
		switch column {
		case colAllocTRES, colReqTRES:
			found, ok = parseTRES(text)
		default:
			if found, ok = parseGRES(text); ok && found.total > 0 && v.Has(colNodes) {
				found.total *= v.Whole(colNodes, 1, 1_000_000)
			}
			found.perNode = true
		}
		if !ok || found.total > datasets.MaxGPUs {
			v.Bad(column, "want a list such as cpu=8,gres/gpu=2 or gpu:2, of at most 1000000 GPUs")
			return gpus{}
		}
		if found.total > 0 {
			return found
		}
		shared = shared || found.shared
	}
	return gpus{shared: shared}
}

// parseTRES reads trackable resources, such as
// "billing=8,cpu=8,gres/gpu=2,gres/gpu:a100=2,mem=64G,node=1". GPUs may be
// listed in all, by type, or both.
func parseTRES(s string) (gpus, bool) {
	var found gpus
	all, typed := int64(-1), int64(0)
	for item := range strings.SplitSeq(s, ",") {
		name, value, _ := strings.Cut(item, "=")
		kind, isGRES := strings.CutPrefix(name, "gres/")
		kind, gpuType, isTyped := strings.Cut(kind, ":")
		switch {
		case !isGRES:
			continue
		case kind == "shard" || kind == "mps":
			found.shared = true
			continue
		case kind != "gpu": // gres/gpumem, gres/gpuutil and others
			continue
		}
		n, ok := parseCount(value)
		if !ok {
			return gpus{}, false
		}
		if !isTyped {
			all = n
			continue
		}
		typed += n
		found.types = append(found.types, gpuType)
	}
	if found.total = all; all < 0 {
		found.total = typed
	}
	return found, true
}

// parseGRES reads generic resources, such as "gpu:a100:2(S:0-1),craynetwork:1",
// of each node. A name alone means one.
func parseGRES(s string) (gpus, bool) {
	var found gpus
	for item := range strings.SplitSeq(s, ",") {
		item, _, _ = strings.Cut(item, "(")
		item = strings.TrimPrefix(strings.TrimPrefix(item, "gres:"), "gres/")
		parts := strings.Split(strings.ReplaceAll(item, "=", ":"), ":")
		if parts[0] == "shard" || parts[0] == "mps" {
			found.shared = true
		}
		if parts[0] != "gpu" {
			continue
		}
		n, ok := int64(1), true
		if last := len(parts) - 1; last > 0 {
			if n, ok = parseCount(parts[last]); !ok && last == 1 {
				n, ok = 1, true // a type without a number
				found.types = append(found.types, parts[1])
			} else if last > 1 {
				found.types = append(found.types, parts[1])
			}
		}
		if !ok {
			return gpus{}, false
		}
		found.total += n
	}
	return found, true
}

// parseCount reads a number of GPUs that cannot overflow when summed up over a
// line and multiplied by a million nodes.
func parseCount(s string) (int64, bool) {
	n, err := strconv.ParseUint(s, 10, 64)
	return int64(n), err == nil && n <= datasets.MaxGPUs
}

// reference returns the catalogue's name of the type, "" where there are
// several, none or one that is not known.
func (g *gpus) reference() string {
	for _, t := range g.types {
		if t != g.types[0] {
			return ""
		}
	}
	if len(g.types) == 0 {
		return ""
	}
	name, _ := importers.GPUType(g.types[0])
	return name
}

// warn reports what is suspicious about the GPUs of a job.
func (g *gpus) warn(t *importers.Trace) {
	if g.perNode {
		t.Warn(warnPerNode)
	}
	for _, name := range g.types {
		if _, ok := importers.GPUType(name); !ok {
			t.Warn(warnGPUType)
			return
		}
	}
}
