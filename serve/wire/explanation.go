package wire

// MaxExplained bounds the jobs of one explanation. Of a larger state the header
// HeaderJobs says which.
const MaxExplained = 1000

// Explanation says why the jobs of a state got what they got, by the prices of the
// linear program: the reply of the endpoint explain.
type Explanation struct {
	Schema string `json:"schema"` // ExplanationSchema
	// Published says that Decision is the one that was published for this state; else
	// it is what the service decides on it now.
	Published bool         `json:"published"`
	Decision  Allocation   `json:"decision"`
	Program   Program      `json:"program"`
	Jobs      []JobReasons `json:"jobs"` // in the state's order
}

// Program is what the linear program makes of a state.
type Program struct {
	Goal      string   `json:"goal"`               // what Objective is, with its unit
	Minimise  bool     `json:"minimise,omitempty"` // it is made small, not large
	Status    string   `json:"status"`             // optimal, or stopped at the end of the time
	Objective float64  `json:"objective"`          // of the fractional answer
	Bound     *float64 `json:"bound,omitempty"`    // proven, of the objective
	Gap       *float64 `json:"gap,omitempty"`      // their relative difference
	Limits    []Limit  `json:"limits"`             // what couples the jobs
}

// Kinds of limits.
const (
	LimitGPUs  = "gpus"  // those in service of a type
	LimitQuota = "quota" // a tenant's
)

// Limit is a number of GPUs that the jobs share.
type Limit struct {
	Kind     string  `json:"kind"`
	Type     string  `json:"type,omitempty"`   // name of the GPU type; absent for a quota of all types together
	Tenant   string  `json:"tenant,omitempty"` // of a quota
	Used     float64 `json:"used"`             // by the fractional answer, GPUs
	Capacity float64 `json:"capacity"`         // GPUs
	Price    float64 `json:"price"`            // by how much the objective would rise with one GPU more
	Binds    bool    `json:"binds"`            // it is what holds the objective down
}

// Why a job got what it got. The list is append-only.
const (
	WhyBest       = "best"        // it runs where it is worth most beyond what its GPUs are worth to others
	WhyTied       = "tied"        // it runs in one of several candidates that are equally good at these prices
	WhySecond     = "second"      // it runs in another candidate than the program prefers
	WhyOutbid     = "outbid"      // it waits: its GPUs are worth more to others, wherever it ran
	WhyNoRoom     = "no_room"     // it waits: the program gives it part of its time, and this round has no room for it
	WhyEven       = "even"        // it waits: it is worth as much as its GPUs are to others
	WhyPassedOver = "passed_over" // it waits: the program would run it, who decided does not
	WhyImpossible = "impossible"  // it waits: none of its strategies can run on this cluster or within its tenant's quota
)

// Whys returns all reasons of jobs.
func Whys() []string {
	return []string{WhyBest, WhyTied, WhySecond, WhyOutbid, WhyNoRoom, WhyEven, WhyPassedOver, WhyImpossible}
}

// JobReasons is what a job got, and what the program weighed up for it.
type JobReasons struct {
	Job      int64  `json:"job"`      // JobState.ID
	Strategy int    `json:"strategy"` // decided: index into its strategies, -1 waits
	Program  int    `json:"program"`  // the same in the program's own answer in whole jobs
	Why      string `json:"why"`
	// Had is, where the program divides time over many rounds, what the job has had so
	// far over what it is due; absent where it does not.
	Had        float64     `json:"had,omitempty"`
	Candidates []Candidate `json:"candidates"` // the strategies that the program may choose from
}

// Candidate is a strategy of a job in the units of the program's objective, as if the
// job ran it all the time.
type Candidate struct {
	Strategy int     `json:"strategy"` // index into the job's strategies
	Share    float64 `json:"share"`    // of the job's time, in the fractional answer
	Value    float64 `json:"value"`    // what it adds to the objective
	Cost     float64 `json:"cost"`     // what its GPUs are worth to the others
	Regret   float64 `json:"regret"`   // by how much value - cost is short of the job's best candidate, and of 0
}
