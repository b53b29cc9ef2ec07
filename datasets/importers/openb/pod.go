package openb

import (
	"errors"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/yardmaster/yardmaster/datasets/importers"
)

// pod is a row of the list. Times are since the start of the trace.
type pod struct {
	line                        int64
	name, phase                 string
	gpus                        int32
	milli                       int32  // of each GPU, 1 to 1000
	gpuType                     string // of the performance catalogue; "" where several or none are named
	strange                     bool   // a type is named that the catalogue does not have
	created, scheduled, deleted time.Duration
	started, ended              bool // scheduled and deleted are known
}

// shares reports whether the pod uses a part of a GPU only.
func (p *pod) shares() bool { return p.milli < 1000 }

// podList is every pod and what is known of all.
type podList struct {
	pods                        []pod
	typed                       bool // some pod names a GPU type
	firstDeletion, lastDeletion time.Duration
}

var layout = importers.Layout{
	Names:    []string{"name", "num_gpu", "gpu_milli"},
	Optional: []string{"creation_time", "deletion_time", "scheduled_time", "gpu_spec", "pod_phase"},
}

// Positions of the columns in the layout.
const (
	colName = iota
	colGPUs
	colMilli
	colCreated
	colDeleted
	colScheduled
	colSpec
	colPhase
)

// readPods reads every row of a list.
func readPods(source *importers.Source, t *importers.Trace) (*podList, error) {
	columns, err := importers.NewColumns(source, layout)
	if err != nil {
		return nil, err
	}
	if !columns.Has(colCreated) || !columns.Has(colDeleted) || !columns.Has(colScheduled) {
		return nil, source.Error(columns.Line, "", "the list has no times", "use openb_pod_list_gpuspec33.csv or openb_pod_list_default.csv, which have them")
	}
	list := &podList{}
	read := importers.ByColumn(func(t *importers.Trace, v *importers.Values) { list.read(t, v) })
	for {
		values, err := columns.Next()
		if errors.Is(err, io.EOF) {
			return list, nil
		}
		if err != nil {
			return nil, err
		}
		if err := read(t, columns, values); err != nil {
			return nil, err
		}
	}
}

// read adds a pod.
func (l *podList) read(t *importers.Trace, v *importers.Values) {
	p := pod{
		line: v.Line(), name: strings.Clone(v.Text(colName)), phase: v.Name(colPhase, t), gpus: v.GPUs(colGPUs), milli: 1000,
		created: v.Seconds(colCreated), started: !v.None(colScheduled), ended: !v.None(colDeleted),
	}
	if p.started {
		p.scheduled = v.Seconds(colScheduled)
	}
	if p.ended {
		p.deleted = v.Seconds(colDeleted)
		if l.firstDeletion == 0 || p.deleted < l.firstDeletion {
			l.firstDeletion = p.deleted
		}
		l.lastDeletion = max(l.lastDeletion, p.deleted)
	}
	if p.gpus > 0 && !v.None(colMilli) {
		p.milli = int32(v.Whole(colMilli, 1, 1000))
	}
	if spec := v.Text(colSpec); !importers.IsNone(spec) {
		l.typed = true
		p.gpuType, p.strange = gpuType(spec)
	}
	l.pods = append(l.pods, p)
}

// gpuType returns the catalogue's name of the type that a list of types
// separated by bars comes down to, "" for several; strange says that one is not
// in the catalogue. V100s with 16 and with 32 GB come down to that with 16: the pod
// fits on it, and both are as fast.
func gpuType(spec string) (name string, strange bool) {
	var types []string
	for part := range strings.SplitSeq(spec, "|") {
		known, ok := importers.GPUType(part)
		if !ok {
			return "", true
		}
		types = append(types, known)
	}
	slices.Sort(types)
	switch types = slices.Compact(types); {
	case len(types) == 1, slices.Equal(types, []string{"V100", "V100-32"}):
		return types[0], false
	}
	return "", false
}
