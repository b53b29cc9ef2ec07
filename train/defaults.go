package train

// FillDefaults sets every field that is zero and has a default to it, as Run does:
// for whoever shows a configuration before it is run.
func (c *Config) FillDefaults() { c.fillDefaults() }
