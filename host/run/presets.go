package run

import (
	"embed"
	"encoding/json"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// ProgramPreset is picoclaw's built-in knowledge about a program.
type ProgramPreset struct {
	Name     string       `json:"name"`
	Programs []string     `json:"programs"` // names of its executable; empty for the preset of all other programs
	Hosts    []PresetHost `json:"hosts"`

	Env      map[string]string `json:"env"`      // quiet switches and answers to trust prompts
	Args     []string          `json:"args"`     // put before the person's arguments
	Unless   []string          `json:"unless"`   // flags of the person's that say the same, so that args are left out
	Sandbox  string            `json:"sandbox"`  // a sentence about the program's own sandbox; empty if it has none
	Settings []PresetSettings  `json:"settings"` // files in its home
	Secrets  []APIKeyVariable  `json:"secrets"`
	ReadOnly []string          `json:"read_only"` // paths such as an organisation's settings; missing ones are left out
	Guidance []string          `json:"guidance"`  // names of files above the project that it reads
	Hook     bool              `json:"hook"`      // args or settings have it ask ${hook} before its own tools' calls
	Login    PresetLogin       `json:"login"`
}

// PresetLogin describes how a program signs in with the person's browser.
type PresetLogin struct {
	File  string   `json:"file"`  // relative to the home; the program creates it when it has signed in
	Ports []uint16 `json:"ports"` // at which it waits for the browser
}

// PresetHost is a host that a program connects to.
type PresetHost struct {
	Name    string `json:"host"`    // as in network.allow
	Purpose string `json:"purpose"` // api, login, update or telemetry
}

// PresetSettings are a file in the program's HOME, or members of the JSON object in it. Each start sets them.
type PresetSettings struct {
	File   string         `json:"file"` // relative to the home
	Values map[string]any `json:"values"`
	Lines  []string       `json:"lines"` // of the whole file, instead of Values
}

// APIKeyVariable is a variable with an API key. The program gets a placeholder, which the proxy replaces by the key.
type APIKeyVariable struct {
	Name   string   `json:"name"`
	Prefix string   `json:"prefix"` // of the maker's keys; programs check it
	Hosts  []string `json:"hosts"`
	Header string   `json:"header"`
	Value  string   `json:"value"` // of the header, with {{secret}}
}

//go:embed presets
var presetFiles embed.FS

// Presets returns all presets, sorted by name.
func Presets() ([]ProgramPreset, error) {
	files, err := presetFiles.ReadDir("presets")
	if err != nil {
		return nil, err
	}
	var all []ProgramPreset
	for _, file := range files {
		data, err := presetFiles.ReadFile(path.Join("presets", file.Name()))
		if err != nil {
			return nil, err
		}
		var p ProgramPreset
		if err := json.Unmarshal(data, &p); err != nil {
			return nil, fmt.Errorf("the preset %s: %w", file.Name(), err)
		}
		all = append(all, p)
	}
	return all, nil
}

// FindPreset returns the preset for the name of an executable.
func FindPreset(program string) (*ProgramPreset, error) {
	all, err := Presets()
	if err != nil {
		return nil, err
	}
	name := strings.TrimSuffix(filepath.Base(program), ".exe")
	generic := &ProgramPreset{Name: "generic"}
	for i, p := range all {
		if slices.Contains(p.Programs, name) {
			return &all[i], nil
		}
		if len(p.Programs) == 0 {
			generic = &all[i]
		}
	}
	return generic, nil
}

// presetVariables are the values of ${project} and ${hook} in a preset.
type presetVariables struct{ project, hook string }

// hookCommand returns the command line of the hook that a preset installs.
func (p *ProgramPreset) hookCommand(self string) string {
	return "'" + strings.ReplaceAll(self, "'", `'\''`) + "' hook " + p.Name
}

func (v presetVariables) expandText(text string) string {
	return strings.NewReplacer("${project}", v.project, "${hook}", v.hook).Replace(text)
}

// escapeForQuotes returns the variables escaped for quoted strings in JSON and TOML.
func (v presetVariables) escapeForQuotes() presetVariables {
	escape := func(text string) string {
		quoted, err := json.Marshal(text)
		if err != nil {
			return text // strings always have a form
		}
		return string(quoted[1 : len(quoted)-1])
	}
	return presetVariables{escape(v.project), escape(v.hook)}
}

// expandValue replaces the variables in a preset's value.
func (v presetVariables) expandValue(value any) any {
	switch t := value.(type) {
	case string:
		return v.expandText(t)
	case []any:
		out := make([]any, len(t))
		for i, one := range t {
			out[i] = v.expandValue(one)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(t))
		for key, one := range t {
			out[v.expandText(key)] = v.expandValue(one)
		}
		return out
	default:
		return value
	}
}

// programArguments returns the preset's arguments, followed by the person's own.
func (p *ProgramPreset) programArguments(own []string, v presetVariables) []string {
	for _, arg := range own {
		if flag, _, _ := strings.Cut(arg, "="); slices.Contains(p.Unless, flag) {
			return own
		}
	}
	var out []string
	for _, arg := range p.Args {
		out = append(out, v.escapeForQuotes().expandText(arg))
	}
	return append(out, own...)
}

// hostNames returns the names of the preset's hosts.
func (p *ProgramPreset) hostNames() (names []string) {
	for _, host := range p.Hosts {
		names = append(names, host.Name)
	}
	return names
}
