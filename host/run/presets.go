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

// Preset is what picoclaw knows about a program.
type Preset struct {
	Name     string   `json:"name"`
	Programs []string `json:"programs"` // names of its executable; empty for the preset of all other programs
	Hosts    []Host   `json:"hosts"`

	Env      map[string]string `json:"env"`      // quiet switches and answers to trust prompts
	Args     []string          `json:"args"`     // put before the person's arguments
	Unless   []string          `json:"unless"`   // flags of the person's that say the same, so that args are left out
	Sandbox  string            `json:"sandbox"`  // a sentence about the program's own sandbox; empty if it has none
	Settings []Settings        `json:"settings"` // files in its home
	Secrets  []KeyVariable     `json:"secrets"`
	ReadOnly []string          `json:"read_only"` // paths such as an organisation's settings; missing ones are left out
	Guidance []string          `json:"guidance"`  // names of files above the project that it reads
	Hook     bool              `json:"hook"`      // args or settings have it ask ${hook} before its own tools' calls
}

// Host is a host that a program reaches.
type Host struct {
	Name    string `json:"host"`    // as in network.allow
	Purpose string `json:"purpose"` // api, login, update or telemetry
}

// Settings are members of a JSON object in a file in the program's home. They are set at each start.
type Settings struct {
	File   string         `json:"file"` // relative to the home
	Values map[string]any `json:"values"`
}

// KeyVariable is a variable with an API key. The program gets a placeholder, and the proxy inserts the key.
type KeyVariable struct {
	Name   string   `json:"name"`
	Prefix string   `json:"prefix"` // of the maker's keys; programs check it
	Hosts  []string `json:"hosts"`
	Header string   `json:"header"`
	Value  string   `json:"value"` // of the header, with {{secret}}
}

//go:embed presets
var presetFiles embed.FS

// Presets returns all presets, sorted by name.
func Presets() ([]Preset, error) {
	files, err := presetFiles.ReadDir("presets")
	if err != nil {
		return nil, err
	}
	var all []Preset
	for _, file := range files {
		data, err := presetFiles.ReadFile(path.Join("presets", file.Name()))
		if err != nil {
			return nil, err
		}
		var p Preset
		if err := json.Unmarshal(data, &p); err != nil {
			return nil, fmt.Errorf("the preset %s: %w", file.Name(), err)
		}
		all = append(all, p)
	}
	return all, nil
}

// FindPreset returns the preset of a program, by the name of its executable.
func FindPreset(program string) (*Preset, error) {
	all, err := Presets()
	if err != nil {
		return nil, err
	}
	name := strings.TrimSuffix(filepath.Base(program), ".exe")
	generic := &Preset{Name: "generic"}
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

// variables are the values of ${project} and ${hook} in a preset.
type variables struct{ project, hook string }

// hookCommand returns the command line of a preset's hook.
func (p *Preset) hookCommand(self string) string {
	return "'" + strings.ReplaceAll(self, "'", `'\''`) + "' hook " + p.Name
}

func (v variables) expandText(text string) string {
	return strings.NewReplacer("${project}", v.project, "${hook}", v.hook).Replace(text)
}

// escaped returns the variables for use in quoted strings of JSON and TOML.
func (v variables) escaped() variables {
	escape := func(text string) string {
		quoted, err := json.Marshal(text)
		if err != nil {
			return text // strings always have a form
		}
		return string(quoted[1 : len(quoted)-1])
	}
	return variables{escape(v.project), escape(v.hook)}
}

// expand replaces variables in a preset's values.
func (v variables) expand(value any) any {
	switch t := value.(type) {
	case string:
		return v.expandText(t)
	case []any:
		out := make([]any, len(t))
		for i, one := range t {
			out[i] = v.expand(one)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(t))
		for key, one := range t {
			out[v.expandText(key)] = v.expand(one)
		}
		return out
	default:
		return value
	}
}

// arguments returns the program's arguments: the preset's and the person's.
func (p *Preset) arguments(own []string, v variables) []string {
	for _, arg := range own {
		if flag, _, _ := strings.Cut(arg, "="); slices.Contains(p.Unless, flag) {
			return own
		}
	}
	var out []string
	for _, arg := range p.Args {
		out = append(out, v.escaped().expandText(arg))
	}
	return append(out, own...)
}

// hostNames returns the names of the hosts.
func (p *Preset) hostNames() (names []string) {
	for _, host := range p.Hosts {
		names = append(names, host.Name)
	}
	return names
}
