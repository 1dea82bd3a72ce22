// Package configview shows settings of a configuration as JSON.
//
// It must not know which command shows them.
package configview

import (
	"github.com/picoclaw/picoclaw/host/config"
)

// Config is the JSON output about a configuration.
type Config struct {
	Home     string    `json:"home"`
	File     string    `json:"file"`
	Settings []Setting `json:"settings"`
}

// Setting is the JSON output about one setting: its value and where the value comes from.
type Setting struct {
	Key    string `json:"key"`
	Value  any    `json:"value"`
	Source string `json:"source"`         // default, file, variable or flag
	Name   string `json:"name,omitempty"` // of the file, the variable or the flag
	Line   int    `json:"line,omitempty"`
}

// NewConfig returns the JSON output about some settings of a configuration.
func NewConfig(cfg *config.Config, settings []config.Setting) Config {
	out := Config{Home: cfg.Home().Path, File: cfg.FilePath(), Settings: make([]Setting, 0, len(settings))}
	for _, s := range settings {
		out.Settings = append(out.Settings, Setting{Key: s.Key, Value: s.Value,
			Source: s.Origin.Source.String(), Name: s.Origin.Name, Line: s.Origin.Line})
	}
	return out
}
