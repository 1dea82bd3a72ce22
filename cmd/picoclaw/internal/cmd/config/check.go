package config

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/picoclaw/picoclaw/cmd/internal/cli"
	"github.com/picoclaw/picoclaw/cmd/internal/terminal"
	"github.com/picoclaw/picoclaw/cmd/picoclaw/internal/hosts"
	"github.com/picoclaw/picoclaw/host"
	"github.com/picoclaw/picoclaw/host/config"
	"github.com/picoclaw/picoclaw/host/session"
	"github.com/picoclaw/picoclaw/internal/suggest"
	"github.com/picoclaw/picoclaw/isolation"
)

func NewCmdCheck(f *cli.Factory, runF func(*cli.CommonOptions) error) *cobra.Command {
	return cli.NewCommonCommand(f, &cobra.Command{Use: "check", Short: "Check the configuration"}, runCheck, runF, cli.WithOutput)
}

// checkResult is the JSON output of `picoclaw config check`.
type checkResult struct {
	OK       bool          `json:"ok"`
	File     string        `json:"file,omitempty"` // empty if there is no file and the defaults apply
	Agents   []string      `json:"agents,omitempty"`
	Faults   []configFault `json:"faults"`
	Warnings []configFault `json:"warnings"`
}

type configFault struct {
	Source  string `json:"source,omitempty"` // file, variable or flag
	Name    string `json:"name,omitempty"`   // of the file, the variable or the flag
	Line    int    `json:"line,omitempty"`
	Key     string `json:"key,omitempty"`
	Problem string `json:"problem"`
	Cure    string `json:"cure,omitempty"`

	text string
}

func newConfigFault(err error) configFault {
	var e *config.Error
	if !errors.As(err, &e) {
		return configFault{Problem: err.Error(), text: err.Error()}
	}
	f := configFault{Name: e.Origin.Name, Line: e.Origin.Line, Key: e.Key, Problem: e.Problem, Cure: e.Cure,
		text: e.Error()}
	if e.Origin.Source != config.DefaultSource {
		f.Source = e.Origin.Source.String()
	}
	return f
}

func runCheck(o *cli.CommonOptions) error {
	result := checkAll(o)
	result.OK = len(result.Faults) == 0
	if err := printResult(o, result); err != nil {
		return err
	}
	if !result.OK {
		return cli.StartError(cli.ErrReported)
	}
	return nil
}

func checkAll(o *cli.CommonOptions) checkResult {
	result := checkResult{Faults: []configFault{}, Warnings: []configFault{}}
	cfg, faults := config.LoadWithAllErrors(config.LoadOptions{File: o.ConfigFile, Workspace: o.Workspace})
	for _, fault := range faults {
		result.Faults = append(result.Faults, newConfigFault(fault))
	}
	if cfg == nil {
		result.File = findFaultyFile(result.Faults)
		return result
	}
	result.File, result.Agents = cfg.FilePath(), cfg.AgentIDs()
	if wrong := findHookFaults(cfg); len(wrong) > 0 {
		result.Faults = append(result.Faults, wrong...)
		return result
	}
	all, err := host.OpenRuntime(host.Options{Config: cfg})
	if err != nil {
		result.Faults = append(result.Faults, newConfigFault(err))
		return result
	}
	h := all.Host
	defer hosts.CloseHost(o.Factory, all)
	exposed := h.CheckExposedPaths()
	if exposed != nil {
		result.Faults = append(result.Faults, newConfigFault(convertExposePathError(cfg, exposed)))
	}
	result.Faults = append(result.Faults, findBrokenPlugins(cfg, h)...)
	result.Warnings = append(result.Warnings, findMissingPlugins(cfg, h)...)
	result.Warnings = append(result.Warnings, findSecretProblems(cfg)...)
	for _, id := range cfg.AgentIDs() {
		sess, err := h.OpenPreviewSession(id, session.CLI)
		if err != nil {
			result.Faults = append(result.Faults, newConfigFault(err))
			continue
		}
		if err := checkWorkspaceExists(cfg, id); err != nil {
			result.Faults = append(result.Faults, newConfigFault(err))
			continue
		}
		if err := sess.CheckSandboxes(); err != nil && exposed == nil {
			result.Faults = append(result.Faults, newConfigFault(convertExposePathError(cfg, fmt.Errorf("agent %s: %w", id, err))))
		}
		if err := all.CheckModel(id); err != nil && len(cfg.Models()) > 0 {
			result.Faults = append(result.Faults, newConfigFault(&config.Error{Key: "model_list", Problem: err.Error()}))
		}
		result.Warnings = append(result.Warnings, findUnknownTools(cfg, id, sess, h.AllTools())...)
		for _, odd := range append(findSuspiciousPatterns(cfg, id), findUnusedRules(cfg, id)...) {
			if !slices.Contains(result.Warnings, odd) {
				result.Warnings = append(result.Warnings, odd)
			}
		}
	}
	return result
}

// findFaultyFile returns the configuration file that a fault is in; empty if all faults are in variables or flags.
func findFaultyFile(faults []configFault) string {
	for _, f := range faults {
		if f.Source == config.FileSource.String() {
			return f.Name
		}
	}
	return ""
}

// findHookFaults returns the faults in the configured hooks.
func findHookFaults(cfg *config.Config) []configFault {
	var wrong []configFault
	for _, m := range host.CheckHooks(cfg) {
		m.Origin = findOrigin(cfg.Settings(), m.Key)
		wrong = append(wrong, newConfigFault(m))
	}
	return wrong
}

// convertExposePathError converts an error about isolation.expose_paths to a fault; others are returned unchanged.
func convertExposePathError(cfg *config.Config, err error) error {
	fault := &config.Error{Key: "isolation.expose_paths"}
	var rule *isolation.ConfigError
	var profile *isolation.ProfileError
	switch {
	case errors.As(err, &rule):
		fault.Key, fault.Problem, fault.Cure = rule.Key, rule.Problem, rule.Cure
	case errors.As(err, &profile) && isExposeTarget(cfg, profile.Path):
		fault.Problem, fault.Cure = fmt.Sprintf("%q %s", profile.Path, profile.Problem), profile.Cure
	default:
		return err
	}
	for _, s := range cfg.Settings() {
		if strings.HasPrefix(s.Key, "isolation.expose_paths") {
			fault.Origin = s.Origin
		}
	}
	return fault
}

// isExposeTarget reports whether a path is the target of a rule in isolation.expose_paths.
func isExposeTarget(cfg *config.Config, target string) bool {
	agent, err := cfg.ResolveAgent("")
	return err == nil && slices.ContainsFunc(agent.Isolation.ExposePaths, func(rule isolation.ExposedPath) bool {
		return cmp.Or(rule.Target, rule.Source) == target
	})
}

// findMissingPlugins warns about configured plugins that are not installed. Each warning has the plugin's first key.
func findMissingPlugins(cfg *config.Config, h *session.Host) []configFault {
	var installed []string
	for _, p := range h.PluginCatalog().Plugins() {
		installed = append(installed, p.Manifest.ID)
	}
	for _, p := range h.PluginCatalog().Problems() {
		installed = append(installed, p.Plugin) // what is wrong with it is more than that it is not offered
	}
	var idle []configFault
	var last string
	for _, s := range cfg.Settings() {
		below, ok := strings.CutPrefix(s.Key, "plugins.")
		id, _, _ := strings.Cut(below, ".")
		if !ok || id == last || s.Origin.Source == config.DefaultSource || slices.Contains(installed, id) {
			continue
		}
		last = id
		cure := "install it with `picoclaw plugin install`"
		if meant := suggest.DidYouMean(id, installed); meant != "" {
			cure = strings.TrimPrefix(meant, "; ")
		}
		idle = append(idle, newConfigFault(&config.Error{Origin: s.Origin, Key: "plugins." + id,
			Problem: fmt.Sprintf("no plugin %q is installed", id), Cure: cure}))
	}
	return idle
}

// findUnknownTools warns about names and globs in tools.enabled, tools.disabled and tools.deferred that match no
// installed tool: a misspelled tool in tools.disabled stays enabled.
func findUnknownTools(cfg *config.Config, id string, sess *session.Session, tools []session.Tool) []configFault {
	var names []string
	for _, t := range tools {
		names = append(names, t.Spec.Name, t.Plugin+"."+t.Spec.Name)
	}
	agent, err := cfg.ResolveAgent(id)
	if err != nil {
		return nil // it has been said
	}
	var idle []configFault
	for _, pattern := range sess.Policy().ToolPatterns() {
		if slices.ContainsFunc(names, func(name string) bool {
			ok,
				err := path.Match(pattern, name)
			return ok && err == nil
		}) {
			continue
		}
		at := findToolSetting(agent, pattern)
		idle = append(idle, newConfigFault(&config.Error{Origin: at.Origin, Key: at.Key,
			Problem: fmt.Sprintf("no installed tool is named %q, for agent %s", pattern, id),
			Cure:    "the nearest is " + suggest.Nearest(pattern, names)}))
	}
	return idle
}

// findToolSetting returns the agent's setting that contains a tool name or glob.
func findToolSetting(agent *config.AgentConfig, pattern string) config.Setting {
	for _, s := range agent.Settings() {
		if names, ok := s.Value.([]string); ok && strings.HasPrefix(s.Key, "tools.") && slices.Contains(names, pattern) {
			return s
		}
	}
	return config.Setting{}
}

func printResult(o *cli.CommonOptions, result checkResult) error {
	if o.Output == cli.JSON {
		return o.PrintJSON(result)
	}
	out := terminal.NewWriter(o.Out)
	for _, f := range result.Faults {
		fmt.Fprintln(out, out.Paint(terminal.Bad, "error:"), f.text)
	}
	for _, f := range result.Warnings {
		fmt.Fprintln(out, out.Paint(terminal.Doubt, "warning:"), f.text)
	}
	if result.OK {
		what := cmp.Or(result.File, "the built-in configuration")
		fmt.Fprintf(out, "%s %s, agents: %s\n", out.Paint(terminal.Good, "ok:"), what, strings.Join(result.Agents, ", "))
	}
	return nil
}
