package policy

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp/syntax"
	"slices"
	"strings"
	"time"

	"github.com/picoclaw/picoclaw/host/config"
	"github.com/picoclaw/picoclaw/sdk/guard"
)

// Child says what a child session asks for. Its zero value asks for all that the parent has: a nil pointer, a nil
// list, an empty string and a zero inherit. An empty list that is not nil asks for none.
type Child struct {
	Workspace                 string // a directory inside the parent's workspace, absolute or relative to it
	RestrictToWorkspace       *bool
	AllowReadOutsideWorkspace *bool
	AllowReadPaths            []string // some of the parent's
	AllowWritePaths           []string // some of the parent's
	Paths                     []string // directories that confine the child besides the parent's; absolute or relative to the workspace
	MaxFileSize               int64    // bytes

	ToolSet         string   // the parent's, or any when the parent has "all"
	EnabledTools    []string // of the parent's tools, only those that match a name or glob
	DisabledTools   []string // of the parent's tools, none that matches
	EnabledPlugins  []string // the same for plugins
	DisabledPlugins []string
	Grants          map[string]Grants // by plugin id: at most what the parent's plugin has

	EnableDenyPatterns  *bool
	CustomDenyPatterns  []string // besides the parent's
	CustomAllowPatterns []string // some of the parent's
	ExecProfile         string   // "default" or "seed_strict"
	ExecEnv             []string // some of the parent's
	Limits              Limits   // none larger than the parent's

	IsolationEnabled *bool
	Network          *bool
	ExposePaths      []config.ExposePath // some of the parent's; "rw" may become "ro"
}

// Narrow returns the policy of a child session. It allows nothing that p does not allow: a child that asks for more
// gets an error which names what would be wider. What is inherited is inherited as it is.
func (p *Policy) Narrow(child Child) (*Policy, error) {
	out := *p
	out.guard = cloneGuard(p.guard)
	for _, step := range []func(*Policy, *Policy, Child) error{
		narrowFlags, narrowWhitelists, narrowWorkspace, narrowCommands, narrowTools, narrowPlugins, narrowLimits, narrowIsolation,
	} {
		if err := step(&out, p, child); err != nil {
			return nil, fmt.Errorf("agent %q: a child session can't have it: %w", p.agent, err)
		}
	}
	return out.seal()
}

// wider says that the child asks for more than the parent has.
func wider(what string, asked any) error {
	return fmt.Errorf("%s %v is wider than the parent's", what, asked)
}

// stricter returns the child's value of a flag. strict is the value that allows less.
func stricter(name string, parent bool, asked *bool, strict bool) (bool, error) {
	switch {
	case asked == nil:
		return parent, nil
	case *asked != parent && *asked != strict:
		return parent, wider(name, *asked)
	default:
		return *asked, nil
	}
}

func narrowFlags(out, parent *Policy, child Child) (err error) {
	g := parent.guard
	if out.guard.Restrict, err = stricter("restrict_to_workspace", g.Restrict, child.RestrictToWorkspace, true); err != nil {
		return err
	}
	// A parent that is not restricted reads everywhere, whatever this flag is.
	readsOutside := g.AllowReadOutside || !g.Restrict
	asked := child.AllowReadOutsideWorkspace
	if asked != nil && *asked && !readsOutside {
		return wider("allow_read_outside_workspace", true)
	}
	if asked != nil {
		out.guard.AllowReadOutside = *asked
	}
	return nil
}

func narrowWhitelists(out, parent *Policy, child Child) error {
	g := parent.guard
	if child.AllowReadPaths != nil {
		if err := subset("allow_read_paths", child.AllowReadPaths, g.AllowReadPaths, !g.Restrict || g.AllowReadOutside); err != nil {
			return err
		}
		out.guard.AllowReadPaths = slices.Clone(child.AllowReadPaths)
	}
	if child.AllowWritePaths != nil {
		if err := subset("allow_write_paths", child.AllowWritePaths, g.AllowWritePaths, !g.Restrict); err != nil {
			return err
		}
		out.guard.AllowWritePaths = slices.Clone(child.AllowWritePaths)
	}
	return nil
}

// subset checks that the patterns compile, and unless any may be asked for, that they are among the parent's. Whether
// one expression matches no more than another is not decided: the parent's own are what a child can choose from.
func subset(name string, asked, parent []string, any bool) error {
	if err := checkPatterns(name, asked); err != nil {
		return err
	}
	for _, pattern := range asked {
		if !any && !slices.Contains(parent, pattern) {
			return wider(name, fmt.Sprintf("%q", pattern))
		}
	}
	return nil
}

func checkPatterns(name string, patterns []string) error {
	for _, pattern := range patterns {
		if _, err := syntax.Parse(pattern, syntax.Perl); err != nil {
			return fmt.Errorf("%s: %q is not a regular expression: %w", name, pattern, err)
		}
	}
	return nil
}

// narrowWorkspace runs after the flags and whitelists, since the parent's reach is judged by the parent alone.
func narrowWorkspace(out, parent *Policy, child Child) error {
	if child.Workspace != "" {
		resolved, err := childDirectory(child.Workspace, parent)
		if err != nil {
			return fmt.Errorf("workspace %s: %w", child.Workspace, err)
		}
		if info, err := os.Stat(resolved); err != nil || !info.IsDir() {
			return errors.Join(fmt.Errorf("workspace %s is not a directory", child.Workspace), err)
		}
		if err := parent.checkWorkspace(resolved, "the workspace "+child.Workspace); err != nil {
			return err
		}
		out.guard.Workspace = resolved
	}
	if child.Paths != nil {
		var paths []string
		for _, path := range child.Paths {
			resolved, err := childDirectory(path, parent)
			if err != nil {
				return fmt.Errorf("path %s: %w", path, err)
			}
			paths = append(paths, resolved)
		}
		if len(paths) == 0 {
			return errors.New("an empty list of paths would confine the child to nothing; leave it out or name a directory")
		}
		out.guard.Paths = paths
	}
	if child.MaxFileSize < 0 || child.MaxFileSize > 0 && parent.guard.MaxFileSize > 0 && child.MaxFileSize > parent.guard.MaxFileSize {
		return wider("max_file_size", child.MaxFileSize)
	}
	if child.MaxFileSize > 0 {
		out.guard.MaxFileSize = child.MaxFileSize
	}
	return nil
}

// childDirectory resolves a directory of the child's, which must be inside the parent's roots.
func childDirectory(path string, parent *Policy) (string, error) {
	g := parent.guard
	if !filepath.IsAbs(path) {
		path = filepath.Join(g.Workspace, path)
	}
	resolved, err := resolveExisting(path)
	if err != nil {
		return "", err
	}
	if g.Restrict && !within(resolved, g.Workspace) || len(g.Paths) > 0 && !withinAny(resolved, g.Paths) {
		return "", wider("directory", resolved)
	}
	return resolved, nil
}

func narrowCommands(out, parent *Policy, child Child) (err error) {
	exec := parent.guard.Exec
	if out.guard.Exec.DenyPatterns, err = stricter("enable_deny_patterns", exec.DenyPatterns, child.EnableDenyPatterns, true); err != nil {
		return err
	}
	if err := checkPatterns("custom_deny_patterns", child.CustomDenyPatterns); err != nil {
		return err
	}
	out.guard.Exec.CustomDeny = slices.Concat(exec.CustomDeny, child.CustomDenyPatterns)
	if child.CustomAllowPatterns != nil {
		if err := subset("custom_allow_patterns", child.CustomAllowPatterns, exec.CustomAllow, !exec.DenyPatterns); err != nil {
			return err
		}
		out.guard.Exec.CustomAllow = slices.Clone(child.CustomAllowPatterns)
	}
	switch child.ExecProfile {
	case "":
	case guard.ProfileSeedStrict:
		out.guard.Exec.Profile = guard.ProfileSeedStrict
	case "default":
		if exec.Profile != guard.ProfileDefault {
			return wider("exec profile", "default")
		}
	default:
		return fmt.Errorf("exec profile %q is not known; known are default and seed_strict", child.ExecProfile)
	}
	if child.ExecEnv != nil {
		for _, name := range child.ExecEnv {
			if !slices.Contains(parent.execEnv, name) {
				return wider("exec environment", name)
			}
		}
		out.execEnv = sorted(child.ExecEnv)
	}
	return nil
}

func narrowLimits(out, parent *Policy, child Child) error {
	asked, has := child.Limits, parent.limits
	for _, limit := range []struct {
		name  string
		out   *time.Duration
		asked time.Duration
	}{
		{"exec timeout", &out.limits.ExecTimeout, asked.ExecTimeout},
		{"cron timeout", &out.limits.CronTimeout, asked.CronTimeout},
	} {
		if limit.asked < 0 || limit.asked > *limit.out {
			return wider(limit.name, limit.asked)
		}
		if limit.asked > 0 {
			*limit.out = limit.asked
		}
	}
	if asked.ResultSize < 0 || asked.ResultSize > has.ResultSize {
		return wider("result size", asked.ResultSize)
	}
	if asked.ResultSize > 0 {
		out.limits.ResultSize = asked.ResultSize
	}
	return nil
}

func narrowIsolation(out, parent *Policy, child Child) (err error) {
	if out.isolation.Enabled, err = stricter("isolation.enabled", parent.isolation.Enabled, child.IsolationEnabled, true); err != nil {
		return err
	}
	if out.isolation.Network, err = stricter("isolation.network", parent.isolation.Network, child.Network, false); err != nil {
		return err
	}
	out.plugins.Network = out.isolation.Network
	if child.ExposePaths == nil {
		return nil
	}
	for _, asked := range child.ExposePaths {
		has := slices.ContainsFunc(parent.isolation.ExposePaths, func(rule config.ExposePath) bool {
			return rule == asked || rule == config.ExposePath{Source: asked.Source, Target: asked.Target, Mode: "rw"} && asked.Mode == "ro"
		})
		if !has {
			return wider("expose_paths", fmt.Sprintf("%s on %s (%s)", asked.Source, asked.Target, asked.Mode))
		}
	}
	out.isolation.ExposePaths = slices.Clone(child.ExposePaths)
	return nil
}

func narrowTools(out, parent *Policy, child Child) error {
	if err := checkGlobs(child.EnabledTools, child.DisabledTools, child.EnabledPlugins, child.DisabledPlugins); err != nil {
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

// refusesName reports whether the tools' names alone refuse a tool of that name, which is no glob.
func (t Tools) refusesName(name string) (rule string, refused bool) {
	if strings.ContainsAny(name, `*?[\`) {
		return "", false // what a glob matches is decided for each tool, by both sessions' conditions
	}
	plugin, tool, qualified := strings.Cut(name, ".")
	if !qualified {
		// Patterns with a plugin's name say nothing about the short name of an unknown plugin's tool.
		plugin, tool = "", name
	}
	for _, f := range t.filters {
		if matchesAny(f.Disabled, tool, plugin+"."+tool) {
			return "tools.disabled", true
		}
		if len(f.Enabled) > 0 && qualified && !matchesAny(f.Enabled, tool, name) {
			return "tools.enabled", true
		}
		if len(f.Enabled) > 0 && !qualified && !slices.ContainsFunc(f.Enabled, func(pattern string) bool {
			return strings.Contains(pattern, ".") || matchesAny([]string{pattern}, tool)
		}) {
			return "tools.enabled", true
		}
	}
	return "", false
}

func narrowPlugins(out, parent *Policy, child Child) error {
	for _, id := range child.EnabledPlugins {
		if !strings.ContainsAny(id, `*?[\`) && !parent.Plugin(id).Enabled {
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
	narrowed := map[string]Grants{}
	for id, asked := range child.Grants {
		asked.Env = sorted(asked.Env)
		has := parent.Plugin(id).Grants
		if got := has.Intersect(asked); got.Workspace.rank() != asked.Workspace.rank() || got.Exec != asked.Exec ||
			got.Network != asked.Network || len(got.Env) != len(asked.Env) {
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
