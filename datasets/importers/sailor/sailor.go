// Package sailor imports the profiles of Sailor: times of each layer of four
// language models under tensor parallelism. Source: Strati et al., "Sailor:
// Automating Distributed Training over Dynamic, Heterogeneous, and
// Geo-distributed Clusters", SOSP 2025, github.com/eth-easl/sailor (MIT).
//
// # What becomes of a file
//
// profiles_tmp.json nests: model, GPU type, samples of a micro-batch, tensor
// degree, layer, and of each layer the seconds of its forward pass, backward
// pass and update. A model with its batch and degree is a row of the throughput
// table: an iteration of one micro-batch through all layers, one after the
// other, on as many GPUs as the degree, in one node:
//
//   - global_batch is the micro-batch; batch is its share, null where it does not
//     divide, as for one sample on four GPUs. tensor is the degree, data and
//     pipeline are 1.
//   - steps_per_s is GPUs / Σ of all times. The row is modelled: the sum leaves
//     out data parallelism and the pipeline that Sailor is about, and whether the
//     job fits one GPU was not tried.
//
// The times of single layers, which no table holds, are left out; so is
// llm_info.json, which has their sizes. The models (OPT-350, GPT-Neo-2.7, OPT-30,
// LLAMA-3-8) are not in the performance catalogue; A100-40, A100-80, V100-16,
// RTX-3090, GH-96, Titan-RTX and RTX-2080 are.
//
// # Limits
//
// A file is read token by token and has at most [MaxFile] bytes of text; a
// model has at most 4096 layers.
package sailor

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/yardmaster/yardmaster/datasets"
	"github.com/yardmaster/yardmaster/datasets/importers"
	"github.com/yardmaster/yardmaster/env"
)

// MaxFile is the most bytes of a file that are read.
const MaxFile = 4 << 20

const (
	maxLayers = 4096
	maxDegree = 1 << 10
)

// gpuTypes maps names of the file to those of the performance catalogue.
var gpuTypes = map[string]string{"V100-16": "V100", "RTX-3090": "RTX3090"}

// Format describes the format to a command that imports any.
func Format() importers.ThroughputFormat {
	return importers.ThroughputFormat{
		Name: "sailor", About: "Sailor (SOSP 2025): profiles_tmp.json, times of layers by model, GPU type, batch and tensor degree",
		Sniff: Sniff, Import: Import,
	}
}

// Sniff reports whether a text begins like a file of profiles: five names that
// open objects, then a list.
func Sniff(head []byte) bool {
	d := json.NewDecoder(bytes.NewReader(head))
	for level := range 5 {
		token, err := d.Token()
		if err != nil || token != json.Delim('{') {
			return false
		}
		key, err := d.Token()
		name, ok := key.(string)
		if err != nil || !ok {
			return false
		}
		if level >= 2 && !isWhole(name) {
			return false
		}
	}
	token, err := d.Token()
	return err == nil && token == json.Delim('[')
}

func isWhole(s string) bool {
	_, err := strconv.ParseUint(s, 10, 31)
	return err == nil
}

// Import reads one or more files.
func Import(inputs ...importers.Input) (*datasets.ThroughputTable, importers.Report, error) {
	p, models := new(importers.Points), importers.NewModels(nil)
	err := p.Each(inputs, func(s *importers.Source) error {
		r := reader{points: p, source: s, models: models, decoder: json.NewDecoder(&bounded{s, MaxFile})}
		return r.file()
	})
	if err != nil {
		return nil, importers.Report{}, err
	}
	return p.Finish(datasets.Meta{Source: "Sailor (Strati et al., SOSP 2025), sums of layer profiles", Licence: "MIT"})
}

// bounded is the text of a source, which is refused if it is longer than left.
type bounded struct {
	source *importers.Source
	left   int
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.left == 0 {
		return 0, b.source.Error(0, "", "more than 4 MiB of text", "name the file of profiles itself")
	}
	n, err := b.source.Text().Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}

// reader reads one file.
type reader struct {
	points  *importers.Points
	source  *importers.Source
	models  *importers.Models
	decoder *json.Decoder
	path    []string // names of the objects around what is read
}

// levels of the file, from the outside.
var levels = []string{"model", "GPU type", "micro-batch", "tensor degree"}

func (r *reader) file() error {
	if err := r.object(0); err != nil {
		return err
	}
	if _, err := r.decoder.Token(); !errors.Is(err, io.EOF) {
		return r.bad("", "more than one object", "want one JSON object")
	}
	return nil
}

// bad returns an error about what is being read.
func (r *reader) bad(column, value, fix string) error {
	where := strings.Join(r.path, "/")
	if column != "" {
		where = strings.Join(append(append([]string(nil), r.path...), column), "/")
	}
	return r.source.Error(0, where, value, fix)
}

// next returns the next token.
func (r *reader) next() (json.Token, error) {
	token, err := r.decoder.Token()
	if err == nil {
		return token, nil
	}
	if rowErr, ok := errors.AsType[*datasets.RowError](err); ok {
		return nil, rowErr // of the source: damaged, or too long
	}
	return nil, r.bad("", "no JSON at byte "+strconv.FormatInt(r.decoder.InputOffset(), 10)+" ("+oneLine(err)+")", "copy or download it again")
}

func oneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }

// open reads the beginning of an object or a list.
func (r *reader) open(delimiter json.Delim, what string) error {
	token, err := r.next()
	if err != nil {
		return err
	}
	if token != delimiter {
		return r.bad("", "not "+what, "want model, GPU type, micro-batch, tensor degree and layer, each an object in the one before")
	}
	return nil
}

// object reads an object of a level: of models, of GPU types and so on.
func (r *reader) object(level int) error {
	if err := r.open('{', "an object"); err != nil {
		return err
	}
	for r.decoder.More() {
		token, err := r.next()
		if err != nil {
			return err
		}
		name, ok := token.(string)
		if !ok || name == "" || len(name) > datasets.MaxName {
			return r.bad("", fmt.Sprintf("the %s %.40q", levels[level], fmt.Sprint(token)), "want a name of 1 to 256 bytes")
		}
		r.path = append(r.path, name)
		if level+1 < len(levels) {
			err = r.object(level + 1)
		} else {
			err = r.point()
		}
		if err != nil {
			return err
		}
		r.path = r.path[:len(r.path)-1]
	}
	_, err := r.next()
	return err
}

// point reads the layers of one row.
func (r *reader) point() error {
	if err := r.points.Begin(r.source, 0); err != nil {
		return err
	}
	batch, err := r.whole(2, datasets.MaxBatch)
	if err != nil {
		return err
	}
	degree, err := r.whole(3, maxDegree)
	if err != nil {
		return err
	}
	seconds, err := r.layers()
	if err != nil {
		return err
	}
	row := NewRow(r.points.Model(r.models, r.path[0]), r.points.GPUType(r.path[1], gpuTypes), int32(degree), int64(batch))
	row.StepsPerSecond = float64(degree) / seconds
	if !(seconds > 0) || math.IsInf(row.StepsPerSecond, 1) {
		return r.bad("", "the layers take no time", "want seconds > 0")
	}
	return r.points.Keep(r.source, 0, row)
}

// whole reads one of the names around a row as a number.
func (r *reader) whole(level, most int) (int, error) {
	n, err := strconv.Atoi(r.path[level])
	if err != nil || n < 1 || n > most {
		return 0, r.bad("", "the "+levels[level]+" "+datasets.Excerpt(r.path[level]), fmt.Sprintf("want a whole number from 1 to %d", most))
	}
	return n, nil
}

// layers reads the layers of a row and returns the sum of their times.
func (r *reader) layers() (float64, error) {
	if err := r.open('{', "an object of layers"); err != nil {
		return 0, err
	}
	sum, n := 0.0, 0
	for ; r.decoder.More(); n++ {
		name, err := r.next()
		if err != nil {
			return 0, err
		}
		if n == maxLayers {
			return 0, r.bad("", "too many layers", fmt.Sprintf("want at most %d", maxLayers))
		}
		seconds, err := r.layer(fmt.Sprint(name))
		if err != nil {
			return 0, err
		}
		sum += seconds
	}
	if n == 0 {
		return 0, r.bad("", "no layers", "want an object with the times of each layer")
	}
	_, err := r.next()
	return sum, err
}

// layer reads the forward, backward and update times of a layer.
func (r *reader) layer(name string) (float64, error) {
	if err := r.open('[', "a list of times"); err != nil {
		return 0, err
	}
	sum := 0.0
	for range 3 {
		token, err := r.next()
		if err != nil {
			return 0, err
		}
		seconds, ok := token.(float64)
		if !ok || !(seconds >= 0 && seconds <= 1e9) {
			return 0, r.bad(name, datasets.Excerpt(fmt.Sprint(token)), "want three times in seconds, >= 0: forward, backward, update")
		}
		sum += seconds
	}
	token, err := r.next()
	if err == nil && token != json.Delim(']') {
		err = r.bad(name, "more than three values", "want three times in seconds: forward, backward, update")
	}
	return sum, err
}

// NewRow returns a row of Sailor without its speed.
func NewRow(model, gpuType string, degree int32, batch int64) datasets.ThroughputRow {
	r := datasets.ThroughputRow{
		Source: "sailor", Model: model, GPUType: gpuType, GPUs: degree, Nodes: 1, GlobalBatch: batch,
		Plan: env.Plan{Data: 1, Tensor: int(degree), Pipeline: 1, MicroBatch: int(batch)}, Quality: datasets.Modelled,
	}
	if share := batch / int64(degree); share*int64(degree) == batch {
		r.Batch = int32(share)
	}
	return r
}
