// Package openb imports the pods of Alibaba's GPU cluster of 2023, the files
// openb_pod_list_*.csv: name, cpu_milli, memory_mib, num_gpu, gpu_milli,
// gpu_spec, qos, pod_phase, creation_time, deletion_time, scheduled_time
// (seconds). Source: Weng et al., "Beware of Fragmentation: Scheduling
// GPU-Sharing Workloads with Fragmentation Gradient Descent", USENIX ATC 2023;
// github.com/alibaba/clusterdata, cluster-trace-gpu-v2023, describes them.
//
// # What becomes of a row
//
//   - creation_time becomes submit_ns. Creations begin at 0, but the trace holds
//     only pods that were deleted in its last 34 days, so what is left of the
//     time before are the few that lived very long. Pods created before
//     [Config.From] are dropped and submissions count from there. There is no
//     calendar: the hours of the day are not known.
//   - duration_ns is deletion_time − scheduled_time. The phase Running is that
//     before the deletion; such pods are kept with a warning, unless they were
//     deleted at the very end: then observation ended, not they.
//   - num_gpu becomes gpus. A pod that asks for a part of a GPU (gpu_milli below
//     1000) is dropped: a row has whole GPUs, and such pods are more than a third
//     of all. With [Config.RoundUp] it gets a whole one, with a warning; that
//     changes what the pods ask of the cluster.
//   - gpu_spec lists the GPU types that a pod may run on, where they matter to
//     it. If it is one, known to the performance catalogue, it becomes
//     reference_gpu: V100M32 is V100-32, and V100 where the list has V100M16, too. The default list has none: use openb_pod_list_gpuspec33.csv.
//   - pod_phase becomes status. job_id is the number of the row, from 1. There
//     is no user; CPUs, memory and QoS are left out.
//
// # What is dropped
//
// In this order: pods without a GPU; those never scheduled (Pending); those
// created before the window; those not deleted before observation ended; those
// that share a GPU; those with no run time, and exact duplicates. Everything is
// counted. The lists without times (multigpu*, cpu*, gpushare*) are refused.
package openb

import (
	"fmt"
	"io"
	"time"

	"github.com/yardmaster/yardmaster/datasets"
	"github.com/yardmaster/yardmaster/datasets/importers"
)

// Config chooses what becomes of a row. The zero value is the default.
type Config struct {
	// From is the start of the window, in the trace's time. Default 0: the first
	// deletion, before which the trace is not complete. Negative keeps all.
	From time.Duration
	// RoundUp gives pods that ask for a part of a GPU a whole one. Default: they
	// are dropped.
	RoundUp bool
}

// Report accounts for every row.
type Report = importers.Report

// Format describes the format to a command that imports any.
func Format() importers.Format {
	return importers.Format{
		Name: "openb", About: "Alibaba 2023: openb_pod_list_*.csv with times (name,cpu_milli,memory_mib,num_gpu,gpu_milli,…)",
		Sniff: Sniff, Import: Import,
	}
}

// Sniff reports whether a text begins like a list of pods, with or without
// times.
func Sniff(head []byte) bool { return importers.HasColumns(head, "name", "num_gpu", "gpu_milli") }

// Import reads a list with the default Config; name is what errors call it.
func Import(r io.Reader, name string) (*datasets.Jobs, Report, error) {
	return Config{}.Import(r, name)
}

// Import reads a list of pods. It fails at the first row it cannot make sense
// of with a [*datasets.RowError] that names the line. The pods are held in
// memory until the last is read: the window depends on all.
func (c Config) Import(r io.Reader, name string) (*datasets.Jobs, Report, error) {
	source, err := importers.Open(r, name)
	if err != nil {
		return nil, Report{}, err
	}
	defer source.Close()
	trace := importers.NewTrace(source)
	list, err := readPods(source, trace)
	if err != nil {
		return nil, Report{}, err
	}
	from := c.From
	if from == 0 {
		from = list.firstDeletion
	}
	for i := range list.pods {
		if err := trace.Begin(list.pods[i].line); err != nil {
			return nil, Report{}, err
		}
		c.add(trace, list, &list.pods[i], max(from, 0))
	}
	return trace.Finish(importers.Ending{
		Meta: datasets.Meta{
			Source:  "Alibaba, cluster-trace-gpu-v2023 (Weng et al., USENIX ATC 2023), openb_pod_list",
			Licence: "research and study (README of alibaba/clusterdata)",
			Filters: []string{fmt.Sprintf("submissions count from %.9g s of the trace", max(from, 0).Seconds())},
		},
		Origin: max(from, 0),
	})
}

const (
	dropBefore = "created before the window"

	warnDeleted = "its phase is Running: taken to end at its deletion"
	warnGPUType = "its GPU type is not in the performance catalogue"
	warnNoSpec  = "names no GPU type, as no pod does: openb_pod_list_gpuspec33.csv has them"
)

// add keeps or drops a pod.
func (c *Config) add(t *importers.Trace, list *podList, p *pod, from time.Duration) {
	switch {
	case p.gpus == 0:
		t.Drop(importers.DropNoGPU)
		return
	case !p.started:
		t.Drop(importers.DropNoStart)
		return
	case p.created < from:
		t.Drop(dropBefore)
		return
	case !p.ended || p.phase == "Running" && p.deleted == list.lastDeletion:
		t.Drop(importers.DropRunning)
		return
	case p.shares() && !c.RoundUp:
		t.Drop(importers.DropShared)
		return
	}
	row := datasets.Row{Submit: p.created, GPUs: p.gpus, Status: p.phase, ReferenceGPU: p.gpuType}
	var drop string
	if row.Duration, drop = t.Ran(p.created, p.scheduled, p.deleted); drop != "" {
		t.Drop(drop)
		return
	}
	p.warn(t, list)
	t.KeepNamed(p.name, row)
}

// warn reports what is suspicious about a pod.
func (p *pod) warn(t *importers.Trace, list *podList) {
	switch p.phase {
	case "Running":
		t.Warn(warnDeleted)
	case "Succeeded", "Failed":
	default:
		t.Warn(importers.WarnState)
	}
	if p.shares() {
		t.Warn(importers.WarnRounded)
	}
	if p.strange {
		t.Warn(warnGPUType)
	}
	if !list.typed {
		t.Warn(warnNoSpec)
	}
}
