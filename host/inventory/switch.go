package inventory

import (
	"fmt"
	"slices"
	"strings"

	"github.com/picoclaw/picoclaw/host/store"
	"github.com/picoclaw/picoclaw/internal/suggest"
)

// Switch switches something that is known off or on. It says so where it stays off all the same.
func (s *Inventory) Switch(off store.Off, on bool) error {
	if !on {
		return s.Store.Disable(off)
	}
	still, err := s.Store.Enable(off)
	if err != nil {
		return err
	}
	if still != nil {
		return fmt.Errorf("%s is still off: that of %s holds; enable that", off, still)
	}
	if why := s.offByConfig(off); why != "" {
		return fmt.Errorf("%s is still off: the configuration says so, %s", off, why)
	}
	return nil
}

// Known refuses names that mean nothing here: a typo would switch nothing, silently. A glob may mean what comes later.
func (s *Inventory) Known(off store.Off) error {
	if agents := s.Config.AgentIDs(); isName(off.Agent) && !slices.Contains(agents, off.Agent) {
		return fmt.Errorf("there is no agent %q%s; the configuration has %s", off.Agent, suggest.DidYouMean(off.Agent, agents),
			strings.Join(agents, ", "))
	}
	if !isName(off.Plugin) {
		return nil
	}
	if !slices.Contains(s.IDs(), off.Plugin) {
		_, err := s.Installed(off.Plugin)
		return err
	}
	for _, p := range s.Catalog.Plugins() {
		if p.Manifest.ID != off.Plugin || !isName(off.Tool) {
			continue
		}
		var tools []string
		for _, t := range p.Tools {
			tools = append(tools, t.Spec.Name)
		}
		if !slices.Contains(tools, off.Tool) {
			return fmt.Errorf("plugin %s has no tool %q%s", off.Plugin, off.Tool, suggest.DidYouMean(off.Tool, tools))
		}
	}
	return nil
}

// isName reports whether a text is a name, neither empty nor a glob.
func isName(text string) bool { return text != "" && !strings.ContainsAny(text, "*?[{") }

// offByConfig returns the setting that keeps a plugin off, if one does.
func (s *Inventory) offByConfig(off store.Off) string {
	if isName(off.Plugin) && !s.Config.Plugin(off.Plugin).Enabled {
		return "plugins." + off.Plugin + ".enabled"
	}
	return ""
}

// Installed returns the pin of an installed plugin.
func (s *Inventory) Installed(id string) (*store.Pin, error) {
	if pin := s.Lock.Plugins[id]; pin != nil {
		return pin, nil
	}
	for _, p := range s.Catalog.Plugins() {
		if p.Manifest.ID == id {
			return nil, fmt.Errorf("plugin %s is %s and not in the store; `picoclaw plugin disable %s` switches it off", id,
				p.Kind, id)
		}
	}
	return nil, fmt.Errorf("plugin %q is not installed%s", id, suggest.DidYouMean(id, s.IDs()))
}
