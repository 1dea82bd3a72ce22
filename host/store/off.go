package store

import (
	"fmt"
	"slices"

	"github.com/bmatcuk/doublestar/v4"
)

// Off is something that is switched off. Each part is a name or a glob; an empty one stands for all.
type Off struct {
	Plugin string `json:"plugin"`
	Tool   string `json:"tool,omitempty"`  // of the plugin's
	Agent  string `json:"agent,omitempty"` // for whom
}

// String says what is off, such as "tool search of plugin web for agent main".
func (o Off) String() string {
	text := "plugin " + o.Plugin
	if o.Tool != "" {
		text = "tool " + o.Tool + " of " + text
	}
	if o.Agent != "" {
		text += " for agent " + o.Agent
	}
	return text
}

func (o Off) covers(plugin, tool, agent string) bool {
	return matches(o.Plugin, plugin) && matches(o.Tool, tool) && matches(o.Agent, agent)
}

func matches(glob, name string) bool {
	if glob == "" || glob == name {
		return true
	}
	ok, err := doublestar.Match(glob, name)
	return ok && err == nil
}

// Disabled returns what switches a tool off for an agent; nil if nothing does.
func (l *Lock) Disabled(plugin, tool, agent string) *Off {
	if pin := l.Plugins[plugin]; pin != nil && len(pin.Agents) > 0 && !slices.Contains(pin.Agents, agent) {
		return &Off{Plugin: plugin, Agent: agent}
	}
	for i, o := range l.Off {
		if o.covers(plugin, tool, agent) {
			return &l.Off[i]
		}
	}
	return nil
}

// Disable switches something off.
func (s *Store) Disable(o Off) error {
	for _, glob := range []string{o.Plugin, o.Tool, o.Agent} {
		if !doublestar.ValidatePattern(glob) {
			return fmt.Errorf("%q is neither a name nor a glob", glob)
		}
	}
	return s.update(func(l *Lock) error {
		if !slices.Contains(l.Off, o) {
			l.Off = append(l.Off, o)
		}
		return nil
	})
}

// Enable takes back a Disable, with the same words, and gives an agent a whole plugin that was installed for others. It
// says what else still switches the same thing off, if anything does.
func (s *Store) Enable(o Off) (still *Off, err error) {
	err = s.update(func(l *Lock) error {
		l.Off = slices.DeleteFunc(l.Off, func(other Off) bool { return other == o })
		if pin := l.Plugins[o.Plugin]; pin != nil && len(pin.Agents) > 0 && o.Tool == "" {
			switch {
			case o.Agent == "":
				pin.Agents = nil
			case !slices.Contains(pin.Agents, o.Agent):
				pin.Agents = append(pin.Agents, o.Agent)
			}
		}
		for i, other := range l.Off {
			if other.covers(o.Plugin, o.Tool, o.Agent) {
				still = &l.Off[i]
			}
		}
		return nil
	})
	return still, err
}

// Concerns reports whether a plugin, or a tool of it, is switched off by this for anybody.
func (o Off) Concerns(plugin string) bool { return matches(o.Plugin, plugin) }
