package main

import (
	"maps"
	"os"

	"github.com/spf13/pflag"

	"github.com/yardmaster/yardmaster/serve/settings"
)

// settingFlagSet is the flags that every setting of the service has.
type settingFlagSet struct {
	file    string
	verbose bool
	given   map[string]string // by flag
}

// settingFlag is one of them. It keeps what was given as it was: the settings
// are read together.
type settingFlag struct {
	setting *settings.Setting
	into    map[string]string
}

// String implements pflag.Value; it is what help shows as the default.
func (f settingFlag) String() string {
	if f.setting == nil {
		return ""
	}
	return f.setting.Default
}

// Set implements pflag.Value.
func (f settingFlag) Set(text string) error {
	f.into[f.setting.FlagName()] = text
	return nil
}

// Type implements pflag.Value.
func (f settingFlag) Type() string { return f.setting.Type() }

func (s *settingFlagSet) add(f *pflag.FlagSet) {
	s.given = make(map[string]string)
	f.SortFlags = false // by section
	f.StringVar(&s.file, "config", "", "YAML file with settings (or "+settings.EnvFile+")")
	for _, x := range settings.All() {
		flag := f.VarPF(settingFlag{&x, s.given}, x.FlagName(), "", x.Doc)
		if x.Type() == "bool" {
			flag.NoOptDefVal = "true"
		}
	}
	f.BoolVarP(&s.verbose, "verbose", "v", false, "log every decision, as --log-level debug does")
}

// load resolves the settings.
func (s *settingFlagSet) load() (*settings.Resolved, error) {
	flags := make(map[string]string)
	if s.verbose {
		flags["log-level"] = "debug"
	}
	maps.Copy(flags, s.given)
	return settings.Load(settings.Input{File: s.file, Env: os.Environ(), Flags: flags})
}
