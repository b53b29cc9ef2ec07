package pollux

import (
	"embed"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

//go:embed profile/*.csv
var profileFiles embed.FS

// ErrNotMeasured is wrapped by errors about what the profile does not hold.
var ErrNotMeasured = errors.New("pollux: not in the profile")

// application is what is known of the jobs of one application.
type application struct {
	name         string
	firstBatch   int // samples; progress counts steps of it
	largestBatch int // samples
	largestPass  int // samples that a GPU takes at once
	progress     []float64
	times        map[string][]timing  // of each placement, by pass
	gradients    []gradientsAtOneSize // by batch
}

// timing is how long a step takes, in seconds.
type timing struct {
	pass       int // samples on each GPU
	step, sync float64
}

// gradientsAtOneSize are the squared norm and the variance of the gradient in
// every epoch, [epochs].
type gradientsAtOneSize struct {
	batch         int
	sqr, variance []float64
}

// limits of the applications: the first batch, the largest one, and the largest
// pass, from simulator/applications.py and the batches of simulator/traces.
var limits = []application{
	{name: "bert", firstBatch: 12, largestBatch: 384, largestPass: 12},
	{name: "cifar10", firstBatch: 128, largestBatch: 4096, largestPass: 1024},
	{name: "deepspeech2", firstBatch: 20, largestBatch: 640, largestPass: 80},
	{name: "imagenet", firstBatch: 200, largestBatch: 12800, largestPass: 200},
	{name: "ncf", firstBatch: 256, largestBatch: 32768, largestPass: 32768},
	{name: "yolov3", firstBatch: 8, largestBatch: 512, largestPass: 8},
}

// loadProfile reads the embedded profile.
func loadProfile() (map[string]*application, error) {
	apps := make(map[string]*application, len(limits))
	for _, a := range limits {
		a.times = make(map[string][]timing)
		apps[a.name] = &a
	}
	find := func(r *record) *application {
		a := apps[r.text("application")]
		if a == nil {
			r.fail("application", "want one of the six applications")
			return new(application)
		}
		return a
	}
	err := errors.Join(
		eachRecord("epochs.csv", func(r *record) {
			a := find(r)
			a.progress = append(a.progress, r.number("progress"))
		}),
		eachRecord("times.csv", func(r *record) {
			a, placement := find(r), r.text("placement")
			if a.times != nil {
				a.times[placement] = append(a.times[placement], timing{r.whole("local_batch"), r.number("step_s"), r.number("sync_s")})
			}
		}),
		eachRecord("gradients.csv", func(r *record) {
			a, batch := find(r), r.whole("batch")
			if n := len(a.gradients); n == 0 || a.gradients[n-1].batch != batch {
				a.gradients = append(a.gradients, gradientsAtOneSize{batch: batch})
			}
			g := &a.gradients[len(a.gradients)-1]
			g.sqr, g.variance = append(g.sqr, r.number("grad_sqr")), append(g.variance, r.number("grad_var"))
		}),
	)
	return apps, err
}

// eachRecord calls do for every row of a file of the profile.
func eachRecord(name string, do func(*record)) error {
	f, err := profileFiles.Open("profile/" + name)
	if err != nil {
		return err
	}
	defer f.Close()
	return readRecords(f, name, do)
}

// record is a row of a CSV file whose first row names the columns.
type record struct {
	file   string
	line   int
	names  []string
	values []string
	err    error // the first fault
}

func readRecords(r io.Reader, name string, do func(*record)) error {
	in := csv.NewReader(r)
	names, err := in.Read()
	if err != nil {
		return fmt.Errorf("pollux: %s: header: %w", name, err)
	}
	for {
		values, err := in.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("pollux: %s: %w", name, err)
		}
		line, _ := in.FieldPos(0)
		rec := &record{file: name, line: line, names: names, values: values}
		do(rec)
		if rec.err != nil {
			return rec.err
		}
	}
}

func (r *record) text(column string) string {
	i := slices.Index(r.names, column)
	if i < 0 {
		r.fail(column, "the file has no such column")
		return ""
	}
	return strings.TrimSpace(r.values[i])
}

func (r *record) number(column string) float64 {
	x, err := strconv.ParseFloat(r.text(column), 64)
	if err != nil {
		r.fail(column, "want a number")
	}
	return x
}

func (r *record) whole(column string) int {
	x, err := strconv.Atoi(r.text(column))
	if err != nil || x < 0 {
		r.fail(column, "want a whole number from 0")
	}
	return x
}

func (r *record) fail(column, why string) {
	if r.err == nil {
		r.err = fmt.Errorf("pollux: %s, line %d: %s: %s", r.file, r.line, column, why)
	}
}

// timesOf returns how long a step takes with passes of so many samples.
func (a *application) timesOf(placement string, pass int) (step, sync float64, err error) {
	rows := a.times[placement]
	for i := range rows {
		if rows[i].pass == pass {
			return rows[i].step, rows[i].sync, nil
		}
		if i > 0 && rows[i-1].pass < pass && pass < rows[i].pass {
			low, high := &rows[i-1], &rows[i]
			f := float64(pass-low.pass) / float64(high.pass-low.pass)
			return low.step + f*(high.step-low.step), low.sync + f*(high.sync-low.sync), nil
		}
	}
	return 0, 0, fmt.Errorf("%w: %s on GPUs %s with passes of %d samples", ErrNotMeasured, a.name, placement, pass)
}

// gradient returns the squared norm and the variance of the gradient in an
// epoch, counted from 0.
func (a *application) gradient(batch, epoch int) (sqr, variance float64, err error) {
	for i := range a.gradients {
		high := &a.gradients[i]
		if high.batch == batch {
			return high.sqr[epoch], high.variance[epoch], nil
		}
		if i > 0 && a.gradients[i-1].batch < batch && batch < high.batch {
			low := &a.gradients[i-1]
			up, down, span := float64(batch-low.batch), float64(high.batch-batch), float64(high.batch-low.batch)
			return (up*high.sqr[epoch] + down*low.sqr[epoch]) / span, (up*high.variance[epoch] + down*low.variance[epoch]) / span, nil
		}
	}
	return 0, 0, fmt.Errorf("%w: the gradient of %s with batches of %d samples", ErrNotMeasured, a.name, batch)
}
