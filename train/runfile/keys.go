package runfile

import (
	"slices"
	"time"

	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/sim"
)

// Key documents a setting.
type Key struct {
	Name  string // as in ppo.rate
	About string // in Markdown, one or two lines, without the values that are allowed
	Allow Allowed
	// Off says that 0 leaves out what the setting is of. In the Config structs that
	// is -1, since 0 is the default there.
	Off bool
}

// Section documents a section of the file.
type Section struct{ Name, About string }

// Sections returns the sections in the order of the file.
func Sections() []Section { return slices.Clone(sections) }

// Keys returns all settings in the order of the file.
func Keys() []Key { return slices.Clone(keys) }

// find returns the documentation of a setting.
func find(name string) (Key, bool) {
	for _, k := range keys {
		if k.Name == name {
			return k, true
		}
	}
	return Key{}, false
}

var sections = []Section{
	{"scenario", "What is scheduled: the trace, the cluster, what policies know."},
	{"scenario.switches", "What simulations leave out by default."},
	{"scenario.vary", "What makes training episodes differ in more than their jobs; off by default. A range is two numbers, [0, 0] is off."},
	{"training", "Windows of the first part of the trace."},
	{"validation", "Windows of the second part of the trace, on which policies are chosen."},
	{"network", "The network that scores candidates, and its critic."},
	{"prior", "The linear policy that an untrained network is."},
	{"bc", "Behaviour cloning of the teacher, the first stage."},
	{"es", "Evolution strategies on the linear part of the policy, the second stage."},
	{"ppo", "Proximal policy optimization, the third stage, after the critic's warm-up."},
	{"tune", "The policy that configures Tiresias every hour: it clones a search on generated futures."},
}

var keys = slices.Concat([]Key{
	{Name: "only", About: "train only one of the two policies", Allow: oneOf("", OnlyAllocation, OnlyConfiguration)},
	{Name: "seed", About: "of what training draws: initial weights, exploration, minibatches. 0 is `scenario.seed`; another leaves the problem as it is", Allow: orNone},
	{Name: "teacher", About: "policy that is cloned first; `yardmaster agents` lists them", Allow: anything("the name of a policy")},
	{Name: "checkpoints", About: "how many of the last checkpoints are kept for `--resume`", Allow: count},
}, scenarioKeys, policyKeys, reinforcementKeys, tuneKeys)

var scenarioKeys = []Key{
	{Name: "scenario.trace", About: "Parquet jobs table; `yardmaster trace synth` and `trace import` make them", Allow: anything("the path of a Parquet file")},
	{Name: "scenario.cluster", About: "GPUs by type", Allow: gpus()},
	{Name: "scenario.gpus_per_node", About: "GPUs of a node", Allow: from("1 to 1024", 1, env.MaxGPUsPerNode)},
	{Name: "scenario.catalogue", About: "YAML files of GPU types and models that add to the built-in ones or replace them, in the form of [env/perf/example.yaml](../env/perf/example.yaml); a run keeps a copy", Allow: paths()},
	{Name: "scenario.load", About: "work offered over the cluster's capacity; arrivals are stretched to reach it", Allow: interval("more than 0, at most 100", func(x float64) bool { return x > 0 && x <= 100 })},
	{Name: "scenario.jobs", About: "consecutive jobs in an episode", Allow: atLeast("2 or more", 2)},
	{Name: "scenario.round", About: "time between decisions", Allow: lastingFrom(time.Second, sim.MaxRound)},
	{Name: "scenario.knowledge", About: "what policies are told about remaining work", Allow: oneOf("oracle", "estimate", "none")},
	{Name: "scenario.estimate_sigma", About: "standard deviation of the log error of estimated work; for none take `knowledge: oracle`", Allow: interval("more than 0, at most 10", func(x float64) bool { return x > 0 && x <= 10 })},
	{Name: "scenario.models", About: "models that jobs are given, whatever the trace says; empty: those of the trace", Allow: modelNames()},
	{Name: "scenario.split", About: "shares of the trace, by time of submission, to train on, choose on and test on", Allow: split()},
	{Name: "scenario.seed", About: "of what the problem draws: models given to jobs, estimation errors, windows", Allow: count},
	{Name: "scenario.switches.objective", About: "what training minimises: completion times, time after deadlines, deadlines missed, or completion times and finish-time fairness", Allow: oneOf("jct", "delay", "tardiness", "misses", "fair-jct")},
	{Name: "scenario.switches.mtbf", About: "mean time of a node between failures; 0s: never", Allow: lasting(0)},
	{Name: "scenario.switches.mttr", About: "mean time until a failed node is back; 0s: 1h", Allow: lasting(0)},
	{Name: "scenario.switches.shares", About: "parts of a GPU that jobs of one GPU may take; empty: whole GPUs only", Allow: parts()},
	{Name: "scenario.switches.colocation", About: "Parquet table of measured pairs: how jobs that share a GPU slow each other down", Allow: anything("the path of a Parquet file, or \"\"")},
	{Name: "scenario.switches.throughput_sigma", About: "standard deviation of the log error of the speeds that policies see; 0: the truth", Allow: from("0 to 10", 0, 10)},
	{Name: "scenario.switches.profiling", About: "how long a job runs on a GPU type until its true speed there is seen; 0s: seen at once", Allow: lasting(0)},
	{Name: "scenario.switches.quotas", About: "Parquet table of the GPUs that tenants may hold", Allow: anything("the path of a Parquet file, or \"\"")},
	{Name: "scenario.vary.load", About: "range of a factor on the load, drawn for each episode", Allow: between("two numbers from 0.01 to 100, as in [0.7, 1.3], or [0, 0]", 0.01, 100)},
	{Name: "scenario.vary.grow", About: "training episodes over which the factor on the load grows from the first to the second number instead; 0: it is drawn", Allow: orNone},
	{Name: "scenario.vary.nodes", About: "range of a factor on the number of nodes, drawn for each episode and GPU type; the load stays", Allow: between("two numbers from 0.01 to 100, as in [0.5, 2], or [0, 0]", 0.01, 100)},
	{Name: "scenario.vary.sigma", About: "range of `estimate_sigma`, drawn for each episode", Allow: between("two numbers from 0.01 to 10, as in [0.4, 1.2], or [0, 0]", 0.01, 10)},
	{Name: "scenario.vary.missing", About: "chance of each strategy of a job to be left out; one stays", Allow: interval("0 or more, less than 1", func(x float64) bool { return x >= 0 && x < 1 })},
	{Name: "scenario.vary.filter", About: "range of mean JCT under fifo over that under srtf: only episodes within it are trained on", Allow: between("two numbers from 0.01 to 1e6, as in [1.2, 20], or [0, 0]", 0.01, 1e6)},
	{Name: "training.episodes", About: "windows to learn from, used in order, and again from the first when they run out", Allow: count},
	{Name: "validation.episodes", About: "windows that every validation plays", Allow: count},
}

var policyKeys = []Key{
	{Name: "network.hidden", About: "width of the scorer's layers", Allow: width},
	{Name: "network.value", About: "width of the critic's layer", Allow: width},
	{Name: "prior.scale", About: "logits per unit of the prior's score: how sharply the policy samples while it learns", Allow: positive},
	{Name: "prior.weights", About: "of the candidates' columns; those left out weigh 0", Allow: weights()},
	{Name: "bc.epochs", About: "passes of the optimizer over what is recorded, in each pass of recording", Allow: count},
	{Name: "bc.minibatch", About: "demonstrations per step of the optimizer", Allow: count},
	{Name: "bc.rate", About: "learning rate of the first epoch, falling linearly to a tenth", Allow: fraction},
	{Name: "bc.grad_norm", About: "limit on the norm of the gradient", Allow: positive},
	{Name: "bc.decay", About: "pull of the parameters to 0 per step, times the learning rate", Allow: interval("0 or more, less than 1", func(x float64) bool { return x >= 0 && x < 1 })},
	{Name: "bc.passes", About: "passes of recording and fitting; 0: no cloning", Allow: orNone, Off: true},
	{Name: "bc.episodes", About: "recorded in each pass", Allow: count},
	{Name: "bc.keep", About: "share recorded of the rounds in which the teacher changes nothing: learnt in proportion they teach to [copy the present](https://arxiv.org/abs/1905.11979)", Allow: share},
	{Name: "bc.keep_changed", About: "share recorded of the others", Allow: share},
	{Name: "es.pairs", About: "pairs of opposite perturbations in a generation", Allow: count},
	{Name: "es.sigma", About: "standard deviation of perturbations, in units of the prior's weights", Allow: positive},
	{Name: "es.rate", About: "step of each weight per generation, in the same units", Allow: positive},
	{Name: "es.generations", About: "generations; 0: no evolution", Allow: orNone, Off: true},
	{Name: "es.episodes", About: "training episodes on which all candidates of a generation are played", Allow: count},
	{Name: "es.validate_every", About: "generations between validations; the last is always validated", Allow: count},
	{Name: "es.patience", About: "validations in a row without a new best model that end the stage; 0: none do", Allow: orNone},
}
