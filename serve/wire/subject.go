package wire

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Version is the wire's major version as a subject token.
const Version = "v1"

// DefaultPrefix is the first token of all subjects unless configured.
const DefaultPrefix = "yardmaster"

// DefaultStream is the name of the JetStream stream that keeps the decisions
// below DefaultPrefix.
const DefaultStream = "YM_DECISIONS"

// StreamName returns the name of the stream that keeps the decisions below
// prefix unless another is configured: one per prefix.
func StreamName(prefix string) string {
	if prefix == "" || prefix == DefaultPrefix {
		return DefaultStream
	}
	return DefaultStream + "_" + strings.ReplaceAll(prefix, ".", "_")
}

// LeaseBucket returns the name of the key-value bucket in which services below
// prefix agree who publishes for which cluster.
func LeaseBucket(prefix string) string {
	if prefix == "" || prefix == DefaultPrefix {
		return "YM_LEASES"
	}
	return "YM_LEASES_" + strings.ReplaceAll(prefix, ".", "_")
}

// NoCluster stands for the cluster in the subject of an event that concerns
// none.
const NoCluster = "all"

// Headers of states and decisions. The body says the same; headers let tools
// filter without reading it.
const (
	HeaderSchema   = "Yardmaster-Schema"
	HeaderEpoch    = "Yardmaster-Epoch"
	HeaderStateSeq = "Yardmaster-State-Seq"
	HeaderSource   = "Yardmaster-Source"
	HeaderModel    = "Yardmaster-Model"
	HeaderJobs     = "Yardmaster-Jobs"     // of a request to explain: ids of jobs, separated by commas
	HeaderDeadline = "Yardmaster-Deadline" // milliseconds
)

// Headers of how a message travels. Of a message that is compressed or comes in
// chunks, HeaderEpoch and HeaderStateSeq must be given too.
const (
	HeaderEncoding = "Content-Encoding"   // EncodingZstd; absent is plain JSON
	HeaderAccept   = "Accept-Encoding"    // EncodingZstd on a state: its decisions may be compressed
	HeaderChunk    = "Yardmaster-Chunk"   // on a chunk: its number and how many there are, such as 3/7
	HeaderChunks   = "Yardmaster-Chunks"  // on the message that the chunks are the body of: how many there are
	HeaderDigest   = "Yardmaster-Digest"  // on both: SHA-256 of the joined chunks, in hexadecimal
	HeaderCluster  = "Yardmaster-Cluster" // on a request in chunks: on whose subject they came
	HeaderTime     = "Yardmaster-Time"    // on a state: the sender's clock, RFC 3339; only to warn of clocks that disagree
	HeaderServer   = "Yardmaster-Server"  // on a decision: who published it, where several may
	HeaderTerm     = "Yardmaster-Term"    // on such a decision: rises with each change of who publishes for the cluster
)

// ErrCluster is wrapped by the error of an id that may not enter a subject.
var ErrCluster = errors.New("wire: invalid cluster id")

var (
	clusterPattern = regexp.MustCompile(`^[A-Za-z0-9_-]{1,32}$`)
	prefixPattern  = regexp.MustCompile(`^[A-Za-z0-9_-]{1,32}(\.[A-Za-z0-9_-]{1,32}){0,7}$`)
)

// CheckCluster reports whether id may enter a subject. NATS servers do not
// check published subjects, so this must happen first: a dot, star or blank in
// an id would reach into other clusters' subjects.
func CheckCluster(id string) error {
	if !clusterPattern.MatchString(id) {
		return fmt.Errorf("%w: %.64q, want 1 to 32 of A-Z a-z 0-9 _ -", ErrCluster, id)
	}
	return nil
}

// Subjects builds the subjects below one prefix. Methods with a cluster expect
// an id that CheckCluster accepts.
type Subjects struct{ root string }

// NewSubjects returns the subjects below prefix; "" is DefaultPrefix.
func NewSubjects(prefix string) (Subjects, error) {
	if prefix == "" {
		prefix = DefaultPrefix
	}
	if !prefixPattern.MatchString(prefix) {
		return Subjects{}, fmt.Errorf("wire: subject prefix is %q, want 1 to 8 tokens of A-Z a-z 0-9 _ - joined by dots", prefix)
	}
	return Subjects{prefix + "." + Version + "."}, nil
}

// State is where a cluster publishes its states.
func (s Subjects) State(cluster string) string { return s.root + "state." + cluster }

// Decisions matches the decisions of all kinds for one cluster.
func (s Subjects) Decisions(cluster string) string { return s.root + "decision." + cluster + ".*" }

// Decision is where decisions of one kind for one cluster are published.
func (s Subjects) Decision(cluster, kind string) string {
	return s.root + "decision." + cluster + "." + kind
}

// Ack is where a cluster acknowledges decisions.
func (s Subjects) Ack(cluster string) string { return s.root + "ack." + cluster }

// Service is the prefix of the request/reply endpoints.
func (s Subjects) Service() string { return s.root + "svc" }

// Endpoint is the subject of one request/reply endpoint.
func (s Subjects) Endpoint(name string) string { return s.Service() + "." + name }

// MayReply reports whether the service may answer to this subject, which the
// asker chose. NATS does not check it, so without this a cluster could make the
// service, which may publish decisions for all, publish one for another cluster.
func (s Subjects) MayReply(subject string) bool {
	return subject != "" && !strings.HasPrefix(subject, "$") && !strings.HasPrefix(subject, s.root)
}

// Chunk is where a cluster publishes the parts of messages that are too large
// for one.
func (s Subjects) Chunk(cluster string) string { return s.root + "chunk." + cluster }

// Event is where the service tells what happened to a cluster or its messages.
// Events that concern no cluster have NoCluster in its place.
func (s Subjects) Event(event, cluster string) string {
	return s.root + "event." + event + "." + cluster
}

// LastToken returns the text after the last dot: the cluster of a state or ack.
func LastToken(subject string) string { return subject[strings.LastIndexByte(subject, '.')+1:] }

// DecisionID returns the deterministic id of a decision, also its Nats-Msg-Id:
// the stream keeps one decision of a kind per state, however often it is sent.
func DecisionID(k Key, kind string) string {
	return k.Cluster + ":" + strconv.FormatUint(k.Epoch, 10) + ":" + strconv.FormatUint(k.Seq, 10) + ":" + kind
}
