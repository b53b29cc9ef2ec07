package serve

// WithDefaults returns c with its zero values filled in, as New uses it.
func (c Config) WithDefaults() Config {
	c.fillDefaults()
	c.Guard = c.Guard.WithDefaults()
	return c
}
