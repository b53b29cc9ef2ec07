package ops

// LogKeys are the keys of the service's log records and what they mean. Programs
// read them: they are added to and never change.
var LogKeys = map[string]string{
	"time": "when, by the clock of the service", "level": "DEBUG, INFO, WARN or ERROR", "msg": "what happened, one text for each thing that can",
	"error": "what went wrong, in words", "reason": "why, as a word of the wire's list or in words", "code": "of an error, as a word",
	"cluster": "id of the cluster", "seq": "of the state", "id": "of the decision: cluster, epoch, state and kind", "source": "who decided: policy, lp, greedy or hold",
	"jobs": "in the state", "running": "of them, as decided", "took": "from the state's arrival, in nanoseconds",
	"model": "name of the learned policy", "configurer": "name of the configurer", "configuration": "that was decided", "kind": "of the model", "version": "of the model",
	"promoted": "whether the model was put in charge", "bucket": "of JetStream", "folder": "on the disk", "file": "on the disk",
	"url": "of the broker or the endpoint", "subject": "of NATS", "reply": "subject that was asked for", "pprof": "whether profiles are served",
	"config": "path of the file with settings", "where": "file and line, variable or flag of a setting", "key": "of the setting", "from": "value before", "to": "value after",
	"changed": "settings that took effect", "note": "what is odd but no mistake", "event": "kind of the event", "warning": "of the broker",
	"ahead": "of the cluster's clock, in nanoseconds", "before": "sequence number", "missing": "states", "rate": "states per second that are allowed",
	"failed": "jobs of the cluster, or what failed", "leading": "clusters that the service publishes for", "lost": "clusters it does not any more",
	"allocations": "decided since the start", "configurations": "decided since the start", "by_source": "allocations by who decided", "fallbacks": "allocations by why not the learned policy",
	"command": "of the relay, as it was given", "text": "line that a command wrote to its standard error",
	"panic": "value of the panic", "stack": "of the panic",
}
