package policy

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

func narrowTools(out, parent *Policy, child Child) error {
	if err := checkGlobs(child.EnabledTools, child.DisabledTools, child.EnabledPlugins,
		child.DisabledPlugins); err != nil {
		return err
	}
	set := parent.Tools().Set()
	switch {
	case child.ToolSet == "":
	case set != setAll && child.ToolSet != set:
		return wider("tool set", child.ToolSet)
	case !slices.Contains([]string{"picoclaw", "module", setAll}, child.ToolSet):
		return fmt.Errorf("tool set %q is not known; known are picoclaw, module and all", child.ToolSet)
	default:
		set = child.ToolSet
	}
	for _, name := range child.EnabledTools {
		if rule, ok := parent.Tools().refusesName(name); ok {
			return fmt.Errorf("%w, by %s", wider("tool", name), rule)
		}
	}
	if child.EnabledTools != nil && len(child.EnabledTools) == 0 {
		child.DisabledTools = []string{"*"} // none at all
	}
	if set == parent.Tools().Set() && len(child.EnabledTools) == 0 && len(child.DisabledTools) == 0 {
		return nil // the child's conditions are the parent's, and so is its digest
	}
	out.tools = append(slices.Clone(parent.tools), toolFilter{
		Set: set, Enabled: sorted(child.EnabledTools), Disabled: sorted(child.DisabledTools),
	})
	return nil
}

// refusesName returns the setting that refuses every tool of that name. A glob is refused by none: what it matches is
// decided for each tool, by the conditions of both sessions.
func (t Tools) refusesName(name string) (rule string, refused bool) {
	if isGlob(name) {
		return "", false
	}
	for _, f := range t.filters {
		if rule, refused := f.refusesName(name); refused {
			return rule, true
		}
	}
	return "", false
}

func (f toolFilter) refusesName(name string) (rule string, refused bool) {
	names := []string{name}
	_, short, qualified := strings.Cut(name, ".")
	if qualified {
		names = append(names, short)
	}
	switch {
	case matchesAny(f.Disabled, names...):
		return "tools.disabled", true
	case len(f.Enabled) == 0 || matchesAny(f.Enabled, names...):
		return "", false
	case !qualified && slices.ContainsFunc(f.Enabled, func(pattern string) bool { return strings.Contains(pattern, ".") }):
		return "", false // a pattern with a plugin's name may match the tool of that plugin
	default:
		return "tools.enabled", true
	}
}

func isGlob(name string) bool { return strings.ContainsAny(name, `*?[\`) }

func narrowPlugins(out, parent *Policy, child Child) error {
	for _, id := range child.EnabledPlugins {
		if !isGlob(id) && !parent.Plugin(id).Enabled {
			return wider("plugin", id)
		}
	}
	if child.EnabledPlugins != nil && len(child.EnabledPlugins) == 0 {
		child.DisabledPlugins = []string{"*"}
	}
	if len(child.EnabledPlugins) > 0 || len(child.DisabledPlugins) > 0 {
		out.plugins.Filters = append(slices.Clone(parent.plugins.Filters),
			pluginFilter{Enabled: sorted(child.EnabledPlugins), Disabled: sorted(child.DisabledPlugins)})
	}
	if len(child.Grants) == 0 {
		return nil
	}
	narrowed := map[string]pluginpb.Grant{}
	for id, asked := range child.Grants {
		asked = asked.Intersect(asked)
		has := parent.Plugin(id).Grants
		if got := has.Intersect(asked); got.Workspace != asked.Workspace || got.Exec != asked.Exec ||
			got.Network != asked.Network || got.State != asked.State || got.Takeback != asked.Takeback ||
			len(got.Env) != len(asked.Env) || !slices.Equal(got.Secrets, asked.Secrets) {
			return wider("grants of plugin "+id, fmt.Sprintf("%+v", asked))
		}
		narrowed[id] = asked
	}
	out.plugins.Narrow = append(slices.Clone(parent.plugins.Narrow), narrowed)
	return nil
}

func checkGlobs(lists ...[]string) error {
	for _, pattern := range slices.Concat(lists...) {
		if _, err := path.Match(pattern, ""); err != nil || pattern == "" {
			return fmt.Errorf("%q is not a name or a glob", pattern)
		}
	}
	return nil
}
