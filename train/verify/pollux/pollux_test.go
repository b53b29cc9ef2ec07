package pollux

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
)

func fourEach(nodes int) []int { return slices.Repeat([]int{4}, nodes) }

func TestProfileIsWhole(t *testing.T) {
	apps, err := loadProfile()
	if err != nil {
		t.Fatal(err)
	}
	epochs := map[string]int{"bert": 2, "cifar10": 100, "deepspeech2": 80, "imagenet": 90, "ncf": 10, "yolov3": 50}
	for name, want := range epochs {
		a := apps[name]
		if len(a.progress) != want || !slices.IsSorted(a.progress) {
			t.Errorf("%s has the progress of %d epochs, want %d, rising", name, len(a.progress), want)
		}
		for _, g := range a.gradients {
			if len(g.sqr) != want || len(g.variance) != want {
				t.Errorf("%s has gradients of %d epochs with batch %d, want %d", name, len(g.sqr), g.batch, want)
			}
		}
		for placement, rows := range a.times {
			for i, r := range rows {
				if !(r.sync > 0 && r.sync < r.step) || i > 0 && rows[i-1].pass >= r.pass {
					t.Errorf("%s on %s: step %v s, of which sync %v s, with passes of %d", name, placement, r.step, r.sync, r.pass)
				}
			}
		}
	}
}

// One epoch, worked out by hand: a job of ncf alone on one GPU takes two passes
// of 16384 samples; the first epoch at 128 times the first batch.
func TestFirstEpochByHand(t *testing.T) {
	apps, err := loadProfile()
	if err != nil {
		t.Fatal(err)
	}
	j := &jobState{Job: &Job{GPUs: 1, Batch: 32768}, app: apps["ncf"], finish: unfinished}
	j.place([]int{7})
	if j.rotation != "1" || j.pass != 16384 || j.passes != 2 || j.restart != 30 {
		t.Fatalf("placed on %s, %d passes of %d samples, restart %d s; want 1, 2, 16384, 30", j.rotation, j.passes, j.pass, j.restart)
	}
	const f = (16384. - 11606) / (16413 - 11606)
	step := 0.013640518188476563 + f*(0.014976799488067627-0.013640518188476563)
	sync := 0.0003407334405183791 + f*(0.0003391219192743301-0.0003407334405183791)
	const sqr, variance = 709753.4202015471, 574325286.216866
	want := (variance + sqr) / (variance/128 + sqr) / (2*step - sync)
	if got, err := j.speed(); err != nil || math.Abs(got-want) > 1e-9*want {
		t.Errorf("speed %v steps/s, want %v (%v)", got, want, err)
	}
	if err := j.step(31); err != nil || math.Abs(j.progress-want) > 1e-9*want || j.now != 31 {
		t.Errorf("after 31 s of which 30 for the restart: progress %v, want %v (%v)", j.progress, want, err)
	}
}

func TestPlacementIsACircle(t *testing.T) {
	for want, p := range map[string][]int{"24": {4, 2}, "1": {1}, "134": {3, 4, 1}, "1314": {4, 1, 3, 1}, "444": {4, 4, 4}} {
		if got := smallestRotation(p); got != want {
			t.Errorf("%v: got %s, want %s", p, got, want)
		}
	}
}

// Jobs of cifar10 with 4096 samples on 12 GPUs get batches of 4092: more would
// exceed the largest batch of the application.
func TestBatchIsDividedAsThere(t *testing.T) {
	apps, err := loadProfile()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		app          string
		gpus, batch  int
		pass, passes int
	}{
		{"cifar10", 12, 4096, 341, 1},
		{"cifar10", 6, 2048, 342, 1},
		{"bert", 12, 384, 10, 3},
		{"bert", 6, 384, 10, 6},
		{"bert", 16, 384, 12, 2},
		{"deepspeech2", 12, 640, 53, 1},
		{"yolov3", 4, 64, 8, 2},
		{"imagenet", 32, 6400, 200, 1},
	} {
		j := &jobState{Job: &Job{GPUs: c.gpus, Batch: c.batch}, app: apps[c.app]}
		j.place(make([]int, c.gpus))
		if j.pass != c.pass || j.passes != c.passes {
			t.Errorf("%s, %d samples on %d GPUs: %d passes of %d, want %d of %d", c.app, c.batch, c.gpus, j.passes, j.pass, c.passes, c.pass)
		}
	}
}

// The policy alone: a big job goes to the second queue after 57,600 GPU-seconds
// and is stopped by one that comes later; small jobs pass a big one that does
// not fit.
func TestTiresiasQueues(t *testing.T) {
	var p tiresias
	sizes := []int{4, 4}
	big := &jobState{Job: &Job{Name: "big", GPUs: 8}, finish: unfinished}
	late := &jobState{Job: &Job{Name: "late", GPUs: 6}, finish: unfinished}
	small := &jobState{Job: &Job{Name: "small", GPUs: 2}, finish: unfinished}
	nodes := p.allocate(0, []*jobState{big}, nil, sizes)
	if len(nodes[big]) != 8 {
		t.Fatalf("big has GPUs %v, want 8", nodes[big])
	}
	nodes = p.allocate(7140, []*jobState{big, late, small}, nodes, sizes)
	if len(nodes[big]) != 8 || len(nodes[late])+len(nodes[small]) != 0 {
		t.Errorf("after 57,120 GPU-seconds: big has %v, late %v, small %v; want big to stay", nodes[big], nodes[late], nodes[small])
	}
	nodes = p.allocate(7200, []*jobState{big, late, small}, nodes, sizes)
	if len(nodes[big]) != 0 || !slices.Equal(nodes[late], []int{0, 0, 0, 0, 1, 1}) || !slices.Equal(nodes[small], []int{1, 1}) {
		t.Errorf("after 57,600 GPU-seconds: big has %v, late %v, small %v; want the others to run", nodes[big], nodes[late], nodes[small])
	}
}

func TestTiresiasRefuses(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	ncf := Job{Name: "a", Application: "ncf", GPUs: 1, Batch: 32768}
	unknown, elsewhere, tooBig := ncf, ncf, ncf
	unknown.Application = "gpt"
	elsewhere.GPUs = 2
	tooBig.GPUs = 9
	for name, c := range map[string]struct {
		ctx  context.Context
		job  Job
		want string
		is   error
	}{
		"unknown application": {t.Context(), unknown, `"gpt"`, ErrNotMeasured},
		"not measured":        {t.Context(), elsewhere, "ncf on GPUs 2 with passes of 16384", ErrNotMeasured},
		"too big":             {t.Context(), tooBig, "needs 9 GPUs of 8", nil},
		"cancelled":           {ctx, ncf, "", context.Canceled},
	} {
		_, err := Tiresias(c.ctx, []Job{c.job}, fourEach(2))
		if err == nil || !strings.Contains(err.Error(), c.want) || c.is != nil && !errors.Is(err, c.is) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
}

func TestReadWorkloadNamesTheLine(t *testing.T) {
	const header = "name,time,application,num_replicas,batch_size\n"
	jobs, err := ReadWorkload(strings.NewReader(header+"a,110,ncf,1,32768\n"), "w.csv")
	if want := (Job{"a", 110, "ncf", 1, 32768}); err != nil || len(jobs) != 1 || jobs[0] != want {
		t.Errorf("got %+v, %v, want %+v", jobs, err, want)
	}
	for text, want := range map[string]string{
		header + "a,110,ncf,1,32768\nb,x,ncf,1,1\n": "w.csv, line 3: time",
		header + "a,110,ncf,0,32768\n":              "want both at least 1",
		"name,time\na,1\n":                          "application: the file has no such column",
		"":                                          "header",
	} {
		if _, err := ReadWorkload(strings.NewReader(text), "w.csv"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", text, err, want)
		}
	}
}
