package serve_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/yardmaster/yardmaster/serve"
	"github.com/yardmaster/yardmaster/serve/admin"
	"github.com/yardmaster/yardmaster/serve/live"
)

// With the shipped permissions operators steer the service, and a cluster cannot:
// neither load a model nor change who decides, not for itself either.
func TestOnlyOperatorsSteer(t *testing.T) {
	url := guarded(t, shipped)
	s := served(t, url)
	operator, denied := peer(t, url, "operator")
	c, err := admin.NewClient(operator, "", serve.ServiceName)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	answers, err := c.Do(ctx, admin.Mode, admin.ModeRequest{Cluster: "c2", Mode: live.LP})
	if err != nil || len(answers) != 1 || answers[0].Reply == nil || s.Stats().Models.Modes["lp"] != 1 {
		t.Errorf("an operator changes a mode: got %+v, %v", answers, err)
	}
	select {
	case err := <-denied:
		t.Errorf("denied to the operator: %v", err)
	default:
	}
	c1, refused := peer(t, url, "c1")
	for _, endpoint := range admin.Endpoints() {
		if err := c1.PublishRequest("yardmaster.v1.admin."+endpoint, "_INBOX_c1.x", []byte(`{"mode":"off"}`)); err != nil {
			t.Fatal(err)
		}
	}
	for range admin.Endpoints() {
		select {
		case err := <-refused:
			if !errors.Is(err, nats.ErrPermissionViolation) {
				t.Errorf("got %v, want a permission violation", err)
			}
		case <-time.After(patience):
			t.Fatal("a cluster may ask the operators' endpoints")
		}
	}
	if got := s.Stats().Models.Mode; got != "policy" {
		t.Errorf("the default mode is %s", got)
	}
}
