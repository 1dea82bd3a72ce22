package policy

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/picoclaw/picoclaw/host/config"
	"github.com/picoclaw/picoclaw/sdk/guard"
)

// setAll is the value of tools.set that offers every vocabulary.
const setAll = "all"

// toolFilter is the conditions under which a tool is allowed.
type toolFilter struct {
	Set      string   // the vocabulary of built-in tools
	Modules  bool     // whether Actions says which built-in tools there are
	Actions  []string // sorted
	Enabled  []string // sorted names and globs; empty for all
	Disabled []string // sorted names and globs
}

// Tools says which tools are allowed.
type Tools struct {
	filter   toolFilter
	deferred []string
}

// Tools returns which tools are allowed, by their own names alone; see [Policy.Allows] for the plugins too.
func (p *Policy) Tools() Tools { return Tools{p.tools, slices.Clone(p.deferred)} }

// Patterns returns the sorted names and globs that enable, disable or defer tools, for a caller that knows all tools
// and wants to report a pattern that matches none of them.
func (t Tools) Patterns() []string {
	return sorted(slices.Concat(t.deferred, t.filter.Enabled, t.filter.Disabled))
}

// Defers reports whether the tool, if it is allowed, is left out of clients' lists until they have searched for it.
func (t Tools) Defers(plugin, tool string) bool { return matchesAny(t.deferred, tool, plugin+"."+tool) }

// Allows reports whether the tool is allowed. sets are the vocabularies that it is part of; a tool that is not one
// of the built-in ones has none.
func (t Tools) Allows(plugin, tool string, sets []string) bool {
	_, ok := t.filter.refusal(plugin, tool, sets)
	return ok
}

// Allows reports whether the tool is allowed and its plugin enabled.
func (p *Policy) Allows(plugin, tool string, sets []string) bool {
	return p.DecideTool(plugin, tool, sets).Verdict == guard.Allow
}

// DecideTool is like [Policy.Allows], and says which setting refused the tool and what would lift that.
func (p *Policy) DecideTool(plugin, tool string, sets []string) guard.Decision {
	if rule, ok := p.plugins.refusal(plugin); !ok {
		return p.deny(rule, fmt.Sprintf("plugin %s is not enabled for agent %s", plugin, p.agent), plugin)
	}
	if rule, ok := p.tools.refusal(plugin, tool, sets); !ok {
		d := p.deny(rule, fmt.Sprintf("tool %s.%s is not enabled for agent %s", plugin, tool, p.agent), tool)
		switch rule {
		case "tools.set":
			d.Hint = fmt.Sprintf("set tools.set (%s) to %s", p.origins[rule],
				strings.Join(append(slices.Clone(sets), setAll), " or "))
		case "modules":
			d.Hint = p.moduleHint(tool)
		}
		return d
	}
	return guard.Decision{Verdict: guard.Allow, Rule: "tools"}
}

// deny words a refusal by the setting that refused, with the place where it was set.
func (p *Policy) deny(rule, reason, name string) guard.Decision {
	hint := fmt.Sprintf("%s (%s) would have to allow %s", rule, p.origins[rule], name)
	return guard.Decision{Verdict: guard.Deny, Rule: rule, Reason: reason, Hint: hint}
}

// moduleHint says what would have to be listed, or that nothing that can be listed would do.
func (p *Policy) moduleHint(tool string) string {
	action := moduleAction(tool)
	if !slices.Contains(config.ModuleActions(), action) {
		return fmt.Sprintf("no action of a module stands for %s; without modules (%s) the agent has it", tool,
			p.origins["modules"])
	}
	return fmt.Sprintf("add the action %s to the filesystem module in modules (%s)", action, p.origins["modules"])
}

// refusal returns the setting that refuses the tool, or true.
func (f toolFilter) refusal(plugin, tool string, sets []string) (rule string, ok bool) {
	builtIn := len(sets) > 0
	full := plugin + "." + tool
	switch {
	case builtIn && f.Set != setAll && !slices.Contains(sets, f.Set):
		return "tools.set", false
	case builtIn && f.Modules && !slices.Contains(f.Actions, moduleAction(tool)):
		return "modules", false
	case matchesAny(f.Disabled, tool, full):
		return "tools.disabled", false
	case len(f.Enabled) > 0 && !matchesAny(f.Enabled, tool, full):
		return "tools.enabled", false
	}
	return "", true
}

// moduleAction returns the filesystem module's action that does what a built-in tool does: without it, an agent
// with the action alone could do the same by the tool's other name. Tools that no action stands for, such as
// exec, give a name that is no action.
func moduleAction(tool string) string {
	switch tool {
	case "read_file":
		return "read"
	case "write_file", "append_file":
		return "write"
	case "edit_file":
		return "edit"
	case "list_dir":
		return "ls"
	default:
		return tool
	}
}

// matchesAny reports whether one of the patterns matches one of the names. The patterns were checked when the
// configuration was loaded; one that is broken all the same matches nothing.
func matchesAny(patterns []string, names ...string) bool {
	for _, pattern := range patterns {
		for _, name := range names {
			if ok, err := path.Match(pattern, name); ok && err == nil {
				return true
			}
		}
	}
	return false
}
