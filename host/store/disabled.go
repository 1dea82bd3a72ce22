package store

import (
	"fmt"
	"slices"

	"github.com/bmatcuk/doublestar/v4"
)

// DisableRule names a disabled plugin or tool. Each field is a name or glob; an empty field matches all.
type DisableRule struct {
	Plugin string `json:"plugin"`
	Tool   string `json:"tool,omitempty"`  // of the plugin
	Agent  string `json:"agent,omitempty"` // for which agent
}

// String describes the entry, for example "tool search of plugin web for agent main".
func (o DisableRule) String() string {
	text := "plugin " + o.Plugin
	if o.Tool != "" {
		text = "tool " + o.Tool + " of " + text
	}
	if o.Agent != "" {
		text += " for agent " + o.Agent
	}
	return text
}

func (o DisableRule) matchesTool(plugin, tool, agent string) bool {
	return matchesGlob(o.Plugin, plugin) && matchesGlob(o.Tool, tool) && matchesGlob(o.Agent, agent)
}

func matchesGlob(glob, name string) bool {
	if glob == "" || glob == name {
		return true
	}
	ok, err := doublestar.Match(glob, name)
	return ok && err == nil
}

// FindDisableRule returns the entry that disables a tool for an agent; nil for none.
func (l *LockFile) FindDisableRule(plugin, tool, agent string) *DisableRule {
	if pin := l.Plugins[plugin]; pin != nil && len(pin.Agents) > 0 && !slices.Contains(pin.Agents, agent) {
		return &DisableRule{Plugin: plugin, Agent: agent}
	}
	for i, o := range l.Off {
		if o.matchesTool(plugin, tool, agent) {
			return &l.Off[i]
		}
	}
	return nil
}

// DisableTool adds an entry that disables a plugin or tool.
func (s *Store) DisableTool(o DisableRule) error {
	for _, glob := range []string{o.Plugin, o.Tool, o.Agent} {
		if !doublestar.ValidatePattern(glob) {
			return fmt.Errorf("%q is neither a name nor a glob", glob)
		}
	}
	return s.updateLockFile(func(l *LockFile) error {
		if !slices.Contains(l.Off, o) {
			l.Off = append(l.Off, o)
		}
		return nil
	})
}

// EnableTool removes the entry of DisableTool with the same arguments. It adds the agent to a plugin that is installed
// for other agents. It returns another entry that still disables the tool, if any.
func (s *Store) EnableTool(o DisableRule) (still *DisableRule, err error) {
	err = s.updateLockFile(func(l *LockFile) error {
		l.Off = slices.DeleteFunc(l.Off, func(other DisableRule) bool { return other == o })
		if pin := l.Plugins[o.Plugin]; pin != nil && len(pin.Agents) > 0 && o.Tool == "" {
			switch {
			case o.Agent == "":
				pin.Agents = nil
			case !slices.Contains(pin.Agents, o.Agent):
				pin.Agents = append(pin.Agents, o.Agent)
			}
		}
		for i, other := range l.Off {
			if other.matchesTool(o.Plugin, o.Tool, o.Agent) {
				still = &l.Off[i]
			}
		}
		return nil
	})
	return still, err
}

// MatchesPlugin reports whether the entry disables a plugin, or one of its tools, for any agent.
func (o DisableRule) MatchesPlugin(plugin string) bool { return matchesGlob(o.Plugin, plugin) }
