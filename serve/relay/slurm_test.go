package relay_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/serve"
	"github.com/yardmaster/yardmaster/serve/relay"
	"github.com/yardmaster/yardmaster/serve/wire"
)

// fakeSlurm puts commands in the place of Slurm's that answer as Slurm's do, and
// note what they are asked for in the file log.
func fakeSlurm(t *testing.T) (log string) {
	t.Helper()
	dir := t.TempDir()
	log = filepath.Join(dir, "log")
	for name, text := range map[string]string{
		"sinfo":  "echo 'n1|gpu:V100:4(S:0-1)|idle'; echo 'n2|gpu:V100:4|mixed'; echo 'n3|gpu:K80:8|down*'; echo 'n4|gpu:K80:8|idle'; echo 'n5|(null)|idle'",
		"squeue": "echo '12||RUNNING|gpu:V100:1|2026-01-01T00:00:00|5:00'; echo '10|ym:ResNet-50:64:1000|RUNNING|gres/gpu:V100:4|2026-01-01T00:00:10|1-02:03:04'; echo '11|ym:ResNet-50:64:1000|PENDING|gres/gpu:V100:4|2026-01-01T00:00:05|0:00'; echo '13|ym:Unknown:1:1|PENDING|gres/gpu:V100:1|2026-01-01T00:00:20|0:00'",
		// The second start fails, as on a node that went away.
		"scontrol": `echo "$*" >> ` + log + `; case "$1$2" in release10) echo 'Invalid job id' >&2; exit 1;; esac`,
		"profiles": "",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+text+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	profiles := "# model type gpus steps/s restart\nResNet-50 V100 4 20 30\nResNet-50 K80 8 10.5 30\nResNet-50 H100 8 99 30\n"
	if err := os.WriteFile(filepath.Join(dir, "profiles"), []byte(profiles), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	t.Setenv("YM_PROFILES", filepath.Join(dir, "profiles"))
	t.Setenv("TZ", "UTC")
	return log
}

const slurm = "../deploy/relay-slurm.sh"

// The shipped script turns what Slurm says into a state that is valid, and says.
func TestSlurmState(t *testing.T) {
	fakeSlurm(t)
	c := exec.Command(slurm, "state")
	var said strings.Builder
	c.Stderr = &said
	out, err := c.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, said.String())
	}
	m, err := wire.DecodeState([]byte(`{"schema":"yardmaster.state.v1","cluster":"c","epoch":1,"seq":1,"state":` + string(out) + `}`))
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	s := m.State
	want := env.Cluster{Types: []env.GPUType{{Name: "V100"}, {Name: "K80"}}, Nodes: []env.Node{{GPUs: 4}, {GPUs: 4}, {Type: 1, GPUs: 8}, {Type: 1, GPUs: 8}}}
	if diff := cmp.Diff(want, s.Cluster); diff != "" {
		t.Errorf("cluster (-want +got):\n%s", diff)
	}
	if !cmp.Equal(s.Down, []int{2}) || s.Knowledge != env.None {
		t.Errorf("got down %v, knowledge %v, want node 2, none", s.Down, s.Knowledge)
	}
	if len(s.Jobs) != 2 || s.Jobs[0].ID != 11 || s.Jobs[1].ID != 10 {
		t.Fatalf("got %d jobs, want 11 and 10\n%s", len(s.Jobs), out)
	}
	waiting, running := s.Jobs[0], s.Jobs[1]
	if waiting.Current != env.Idle || waiting.Waiting <= 0 || waiting.GPUs != 4 || len(waiting.Strategies) != 2 {
		t.Errorf("waiting: got %+v", waiting)
	}
	if running.Current != 0 || running.Ran.Seconds() != 26*3600+3*60+4 || running.Service != 4*running.Ran.Seconds() || running.Strategies[1].Throughput != 10.5 || running.Strategies[1].Type != 1 {
		t.Errorf("running: got %+v", running)
	}
	if !strings.Contains(said.String(), "13") || !strings.Contains(said.String(), "Unknown") {
		t.Errorf("nothing is said of the job without a profile: %q", said.String())
	}
}

// The shipped script through a relay and a service: what it makes of decisions,
// and of Slurm's refusals.
func TestSlurmThroughRelay(t *testing.T) {
	log := fakeSlurm(t)
	s := start(t, serve.Config{})
	report, text := run(t, s, relay.Config{State: slurm + " state", Apply: slurm + " apply", Rounds: 1, Wait: patience, Timeout: patience})
	if report.Applied != 1 {
		t.Fatalf("got %+v\n%s", *report, text)
	}
	asked, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	if want := "update JobId=11 Gres=gpu:V100:4 NumNodes=1\nrelease 11\n"; string(asked) != want {
		t.Errorf("Slurm was asked for\n%s, want\n%s", asked, want)
	}
	// All verbs, and a job that Slurm does not start.
	plan := filepath.Join(t.TempDir(), "plan")
	lines := "stop\t7\nmove\t8\t1\tK80\t8\t1\t1\nstart\t10\t0\tV100\t4\t1\t0\nkeep\t9\t0\tV100\t4\t1\t0\nwait\t6\n"
	if err := os.WriteFile(plan, []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(log, 0); err != nil {
		t.Fatal(err)
	}
	c := exec.Command(slurm, "apply")
	c.Env = append(os.Environ(), "YARDMASTER_PLAN="+plan)
	out, err := c.Output()
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"job": 10, "applied": false, "reason": "update or release"}` + "\n"; string(out) != want {
		t.Errorf("printed %q, want %q", out, want)
	}
	asked, _ = os.ReadFile(log)
	want := "requeuehold 7\nrequeuehold 8\nupdate JobId=8 Gres=gpu:K80:8 NumNodes=1\nrelease 8\nupdate JobId=10 Gres=gpu:V100:4 NumNodes=1\nrelease 10\n"
	if string(asked) != want {
		t.Errorf("Slurm was asked for\n%s, want\n%s", asked, want)
	}
}
