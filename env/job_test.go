package env

import (
	"math"
	"strings"
	"testing"
	"time"
)

func TestJobValidateReportsEverything(t *testing.T) {
	good := Job{ID: 1, Model: "LSTM", Batch: 20, GPUs: 1, Work: 10, Submit: time.Minute, Deadline: time.Hour, Weight: 1}
	if err := good.Validate(); err != nil {
		t.Fatalf("valid job: %v", err)
	}
	bad := Job{ID: 9, Work: math.NaN(), Submit: -1, Deadline: -2, Weight: math.Inf(1), Fails: -1, Cancel: -2}
	err := bad.Validate()
	if err == nil {
		t.Fatal("bad job: got no error")
	}
	for _, field := range []string{"model", "batch", "gpus", "work", "submit", "deadline", "weight", "fails", "cancel"} {
		if !strings.Contains(err.Error(), "job 9: "+field+" is") {
			t.Errorf("error does not name %s:\n%v", field, err)
		}
	}
}
