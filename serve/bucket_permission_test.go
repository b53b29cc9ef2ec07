package serve_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/yardmaster/yardmaster/models/repository"
	"github.com/yardmaster/yardmaster/serve/admin"
	"github.com/yardmaster/yardmaster/serve/modelstore"
	"github.com/yardmaster/yardmaster/serve/servetest"
)

// bucketGrant is what DESIGN.md says that a service needs for models in a bucket, on
// top of the shipped permissions.
var bucketGrant = []string{
	"$JS.API.STREAM.INFO.OBJ_MODELS", "$JS.API.CONSUMER.CREATE.OBJ_MODELS.>", "$JS.API.CONSUMER.DELETE.OBJ_MODELS.>",
	"$JS.API.DIRECT.GET.OBJ_MODELS.>",
	"$JS.API.STREAM.INFO.KV_YM_MODEL", "$JS.API.CONSUMER.CREATE.KV_YM_MODEL.>", "$JS.API.CONSUMER.DELETE.KV_YM_MODEL.>",
	"$JS.API.DIRECT.GET.KV_YM_MODEL.>", "$KV.YM_MODEL.>",
}

// With the shipped permissions and this grant a service follows the pointer, loads
// from the bucket and moves the pointer, and nothing is denied to it.
func TestBucketNeedsNoMoreThanItsGrant(t *testing.T) {
	raw, err := os.ReadFile(shipped)
	if err != nil {
		t.Fatal(err)
	}
	const before = `"yardmaster.v1.event.>"`
	text := strings.Replace(string(raw), before, before+"\n            \""+strings.Join(bucketGrant, "\", \"")+`"`, 1)
	// Who puts models there may do more.
	text = strings.Replace(text, "    users: [", "    users: [\n      { user: c3, password: pusher }", 1)
	file := filepath.Join(t.TempDir(), "nats.conf")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	url := guarded(t, file)
	js, err := jetstream.New(connect(t, strings.Replace(url, "nats://", "nats://c3:pusher@", 1)))
	if err != nil {
		t.Fatal(err)
	}
	bucket, err := modelstore.New(modelstore.Config{JetStream: js, Bucket: "MODELS"})
	if err != nil {
		t.Fatal(err)
	}
	for seed := range uint64(2) {
		if _, err := bucket.Push(t.Context(), "demo", servetest.Files(t, servetest.Model(t, seed+1)), repository.Version{}); err != nil {
			t.Fatal(err)
		}
	}
	cfg := fromBucket(t, url, t.TempDir())
	cfg.Options = as("service")
	s := startQuietly(t, cfg)
	operator, _ := peer(t, url, "operator")
	for _, version := range []string{"1.0.0", "1.1.0"} {
		reply, refusal := ask(t, operator, admin.Load, admin.LoadRequest{Name: "demo", Version: version, Promote: true})
		if refusal != nil || reply.Warning != "" {
			t.Fatalf("%s: got %+v, %v", version, reply, refusal)
		}
		p, revision, err := bucket.Pointer(t.Context(), "job-strategy")
		if err != nil || p.Model.Version.String() != version {
			t.Fatalf("got pointer %+v, %v", p, err)
		}
		if version == "1.1.0" { // the service follows it back
			if err := bucket.Point(t.Context(), "job-strategy", repository.ID{Name: "demo", Version: repository.Version{Major: 1}}, revision); err != nil {
				t.Fatal(err)
			}
			inCharge(t, s, "1.0.0")
		}
	}
	if reply, refusal := ask(t, operator, admin.Models, nil); refusal != nil || len(reply.Available) != 2 || reply.Warning != "" {
		t.Errorf("got %+v, %v", reply, refusal)
	}
	if denied := s.Stats().PermissionsDenied; len(denied) != 0 {
		t.Errorf("denied: %v", denied)
	}
}
