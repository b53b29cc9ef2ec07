package settings

// guards is about who decides when.
var guards = []Setting{
	{Key: "guard.deadline", Flag: "deadline", Default: "500ms", Min: "1ms", Doc: "time from a state to its decision", at: func(c *Config) any { return &c.Serve.Guard.Deadline }},
	{Key: "guard.hedge", Default: "0.25", Min: "0", Max: "0.99", Doc: "fraction of the deadline after which the linear program starts beside the learned policy; 0 is at once", at: func(c *Config) any { return &c.Serve.Guard.Hedge }},
	{Key: "guard.reserve", Default: "0.1", Min: "0.001", Max: "0.9", Doc: "fraction of the deadline kept for the linear program's answer and the heuristic", at: func(c *Config) any { return &c.Serve.Guard.Reserve }},
	{Key: "guard.max_in_flight", Default: "64", Min: "1", Doc: "calls of each policy that run at once, those included that were given up", at: func(c *Config) any { return &c.Serve.Guard.MaxInFlight }},
	{Key: "guard.drill_policy_delay", Flag: "drill-policy-delay", Default: "0s", Min: "0s", Doc: "fault drill: delay the learned policy by this much", at: func(c *Config) any { return &c.Serve.Guard.PolicyDelay }},
}
