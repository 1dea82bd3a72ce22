package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"unicode"

	"github.com/picoclaw/picoclaw/host/config"
	"github.com/picoclaw/picoclaw/host/policy"
	"github.com/picoclaw/picoclaw/host/session"
	"github.com/picoclaw/picoclaw/internal/paths"
)

// checkWorkspaceExists returns a fault for a missing workspace. picoclaw creates those in the home.
func checkWorkspaceExists(cfg *config.Config, id string) error {
	agent, err := cfg.ResolveAgent(id)
	if err != nil || !agent.CustomWorkspace {
		return nil // what is wrong with the agent has been said
	}
	home, err := filepath.Abs(cfg.Home().Path)
	if err != nil || paths.Within(home, agent.Workspace) {
		return nil
	}
	if _, err := os.Stat(agent.Workspace); !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return &config.Error{Origin: findOrigin(agent.Settings(), "workspace"), Key: "workspace",
		Problem: fmt.Sprintf("%s, the workspace of agent %s, does not exist", agent.Workspace, id),
		Cure:    "create it (mkdir -p), or choose another"}
}

// findBrokenPlugins returns faults in plugin settings: a build directory without plugin, a refused configuration.
func findBrokenPlugins(cfg *config.Config, h *session.Host) []configFault {
	var broken []configFault
	if err := h.PluginCatalog().LockFileError(); err != nil {
		broken = append(broken, newConfigFault(err))
	}
	add := func(key string, err error) {
		text := strings.TrimPrefix(err.Error(), key+": ")
		broken = append(broken, newConfigFault(&config.Error{Origin: findOrigin(cfg.Settings(), key), Key: key, Problem: text}))
	}
	for _, p := range h.PluginCatalog().Problems() {
		if p.Plugin != "" && cfg.Plugin(p.Plugin).Dev != "" {
			add("plugins."+p.Plugin+".dev", p.Err)
		}
	}
	for _, id := range cfg.PluginIDs() {
		if err := h.CheckPluginConfig(id); err != nil {
			add("plugins."+id+".config", err)
		}
	}
	return broken
}

// findOrigin returns the origin of a setting, or of the first one inside it.
func findOrigin(settings []config.Setting, key string) config.Origin {
	for _, s := range settings {
		if isWithinKey(s.Key, key) {
			return s.Origin
		}
	}
	return config.Origin{}
}

// findSuspiciousPatterns warns about patterns that are valid but probably unintended.
func findSuspiciousPatterns(cfg *config.Config, id string) []configFault {
	agent, err := cfg.ResolveAgent(id)
	if err != nil {
		return nil // it has been said
	}
	var odd []configFault
	for _, s := range agent.Settings() {
		patterns, ok := s.Value.([]string)
		if !ok || s.Origin.Source == config.DefaultSource {
			continue
		}
		for _, pattern := range patterns {
			problem, cure := "", ""
			switch s.Key {
			case "tools.allow_read_paths", "tools.allow_write_paths":
				problem, cure = checkPathPattern(pattern)
			case "tools.exec.custom_deny_patterns", "tools.exec.custom_allow_patterns":
			default:
				continue
			}
			if at := strings.IndexFunc(pattern, unicode.IsControl); at >= 0 {
				problem = fmt.Sprintf("%q holds the control character %U, which no command and hardly a path has", pattern,
					rune(pattern[at]))
				cure = `write each backslash of a regular expression twice: "\\b" in JSON is \b in the expression`
			}
			if problem != "" {
				odd = append(odd, newConfigFault(&config.Error{Origin: s.Origin, Key: s.Key, Problem: problem, Cure: cure}))
			}
		}
	}
	return odd
}

// checkPathPattern returns a warning if a pattern gives programs access to more files than it seems to.
func checkPathPattern(pattern string) (problem, cure string) {
	path, exact := policy.LiteralPathPrefix(pattern)
	if path == "/" {
		return fmt.Sprintf("%q begins with no directory, so the sandbox opens the whole file system to programs", pattern),
			"begin it with ^ and an absolute directory"
	}
	if info, err := os.Stat(path); exact && err == nil && info.IsDir() {
		return fmt.Sprintf("%q is a directory: programs see all of it, but the guard and the tools allow only the directory itself",
				pattern),
			fmt.Sprintf("write %q for the files in it", "^"+regexp.QuoteMeta(path)+"(/|$)")
	}
	return "", ""
}

// findUnusedRules warns about rules that have no effect.
func findUnusedRules(cfg *config.Config, id string) []configFault {
	agent, err := cfg.ResolveAgent(id)
	if err != nil || agent.Tools.Exec.EnableDenyPatterns || len(agent.Tools.Exec.Rules) == 0 {
		return nil
	}
	const key = "tools.exec.rules"
	return []configFault{newConfigFault(&config.Error{Origin: findOrigin(agent.Settings(), key), Key: key,
		Problem: "no rule applies while tools.exec.enable_deny_patterns is false, for agent " + id,
		Cure:    "set it to true, or use custom_deny_patterns, which always apply"})}
}
