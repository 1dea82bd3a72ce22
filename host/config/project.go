package config

import (
	"maps"
	"os"
	"slices"
	"strings"
)

// ProjectFile is the path of the file below a project with settings that narrow the policy of `picoclaw run` there.
const ProjectFile = ".picoclaw/config.json"

// Project has the settings of a project's file. They narrow the configuration of each agent: no value can widen it.
type Project struct {
	Path     string // of the file
	Settings []Setting
	Effects  map[string]string // of keys, in words; a project can set only keys with an effect

	values struct {
		Agents struct {
			Defaults AgentDefaults `koanf:"defaults"`
		} `koanf:"agents"`
		Tools     Tools    `koanf:"tools"`
		Network   *Network `koanf:"network"`
		Workspace struct {
			Protect FileProtection `koanf:"protect"`
		} `koanf:"workspace"`
	}
}

// ParseProject parses and checks the contents of a project's file. It returns the first mistake as an [*Error].
func ParseProject(path string, data []byte) (*Project, error) {
	document, fault := parseConfigFile(path, data)
	if fault != nil {
		return nil, fault
	}
	p, check := &Project{Path: path, Effects: map[string]string{}}, newDocumentChecker(os.Environ())
	for _, row := range keyTable() {
		if row.Project != "" {
			p.Effects[row.Name] = row.Project
		}
	}
	values := check.checkDocument(document)
	for key, s := range check.settings {
		if p.Effects[key] != "" {
			p.Settings = append(p.Settings, s)
		} else if !strings.Contains(key, "[") { // elements belong to the key of their list
			check.addFault(newError(s.Origin, key, "can't be set by a project", "remove it; a project can set "+
				strings.Join(slices.Sorted(maps.Keys(p.Effects)), ", ")))
		}
	}
	if sortErrorsByLine(check.faults); len(check.faults) > 0 {
		return nil, check.faults[0]
	}
	slices.SortFunc(p.Settings, func(a, b Setting) int { return strings.Compare(a.Key, b.Key) })
	return p, decodeStruct(values, &p.values)
}

// narrowAgent narrows the configuration of an agent.
func (p *Project) narrowAgent(a *AgentConfig) {
	v := &p.values
	a.RestrictToWorkspace = a.RestrictToWorkspace || v.Agents.Defaults.RestrictToWorkspace
	a.Tools.Disabled = append(slices.Clip(a.Tools.Disabled), v.Tools.Disabled...)
	a.Tools.Exec.CustomDenyPatterns = append(slices.Clip(a.Tools.Exec.CustomDenyPatterns), v.Tools.Exec.CustomDenyPatterns...)
	limits, lower := &a.Run.Limits, v.Agents.Defaults.Run.Limits
	for to, limit := range map[*int64]int64{&limits.Processes: lower.Processes, &limits.CPUSeconds: lower.CPUSeconds, &limits.OpenFiles: lower.OpenFiles} {
		if limit > 0 && (*to <= 0 || limit < *to) { // 0 is no limit
			*to = limit
		}
	}
	for to, limit := range map[*string]string{&limits.Memory: lower.Memory, &limits.FileSize: lower.FileSize} {
		size, err := ParseSize(limit)
		if old, _ := ParseSize(*to); err == nil && size > 0 && (old <= 0 || size < old) {
			*to = limit
		}
	}
}

// ProjectNetwork returns the network settings of the project's file; nil for none.
func (c *Config) ProjectNetwork() *Network { return c.project.values.Network }
