package settings

// repositories is about where learned policies come from, and what is kept of
// their decisions.
var repositories = []Setting{
	{Key: "models.root", Doc: "folder of a repository of models; with it the models of run are not taken", at: func(c *Config) any { return &c.Serve.Models.Root }},
	{Key: "models.bucket", Doc: "object store bucket of JetStream with models, instead of models.root", at: func(c *Config) any { return &c.Serve.Models.Bucket }},
	{Key: "models.cache", Doc: "folder for copies of what models.bucket holds, of this service alone", at: func(c *Config) any { return &c.Serve.Models.Cache }},
	{Key: "models.name", Doc: "model that is loaded at the start where nothing was in use before; empty loads none", at: func(c *Config) any { return &c.Serve.Models.Name }},
	{Key: "models.version", Default: "latest", Doc: "which version of it: such as 1.2.0, or latest", at: func(c *Config) any { return &c.Serve.Models.Version }},
	{Key: "models.mode", Default: "policy", OneOf: []string{"policy", "lp", "shadow", "canary", "off"}, Reload: true, Doc: "who decides for clusters that have no mode of their own", at: func(c *Config) any { return &c.Serve.Models.Mode.Mode }},
	{Key: "models.share", Default: "0", Min: "0", Max: "1", Reload: true, Doc: "in mode canary, the share of the clusters for which the candidate decides", at: func(c *Config) any { return &c.Serve.Models.Mode.Share }},
	{Key: "models.modes", Doc: "folder that keeps the modes of clusters; empty is models.root, or models.cache, or none", at: func(c *Config) any { return &c.Serve.Models.Modes }},
	{Key: "models.load_timeout", Default: "1m", Min: "1ms", Doc: "bounds one load: fetching, checking, warming up", at: func(c *Config) any { return &c.Serve.Models.LoadTimeout }},
	{Key: "models.fetch_timeout", Default: "10s", Min: "1ms", Doc: "bounds one read of models.bucket", at: func(c *Config) any { return &c.Serve.Models.FetchTimeout }},
	{Key: "models.rollback_after", Default: "100", Min: "0", Doc: "decisions in a row that the guard took from the active model after which the previous one is put back; 0 is never", at: func(c *Config) any { return &c.Serve.Models.RollbackAfter }},
	{Key: "models.shadow_timeout", Default: "10s", Min: "1ms", Doc: "bounds the learned decision of a cluster in mode shadow, which nobody waits for", at: func(c *Config) any { return &c.Serve.Models.ShadowTimeout }},

	{Key: "decision_log.dir", Doc: "folder of the log of decisions that were compared with the linear program (Parquet); empty keeps none", at: func(c *Config) any { return &c.Serve.Models.Log.Dir }},
	{Key: "decision_log.max_file_bytes", Default: "67108864", Min: "1", Doc: "bytes after which a file is completed", at: func(c *Config) any { return &c.Serve.Models.Log.MaxFileBytes }},
	{Key: "decision_log.max_file_age", Default: "10m", Min: "1s", Doc: "time after which a file is completed", at: func(c *Config) any { return &c.Serve.Models.Log.MaxFileAge }},
	{Key: "decision_log.max_files", Default: "32", Min: "1", Doc: "files kept, the newest", at: func(c *Config) any { return &c.Serve.Models.Log.MaxFiles }},
	{Key: "decision_log.queue", Default: "64", Min: "1", Doc: "decisions that wait to be written; more are dropped", at: func(c *Config) any { return &c.Serve.Models.Log.Queue }},
	{Key: "decision_log.max_queued", Default: "1048576", Min: "1", Doc: "candidates of the states that wait to be written; more are dropped", at: func(c *Config) any { return &c.Serve.Models.Log.MaxQueued }},
}
