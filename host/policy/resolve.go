package policy

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/picoclaw/picoclaw/host/config"
	"github.com/picoclaw/picoclaw/host/egress"
	"github.com/picoclaw/picoclaw/host/quota"
	"github.com/picoclaw/picoclaw/internal/limits"
	"github.com/picoclaw/picoclaw/internal/protect"
	"github.com/picoclaw/picoclaw/sdk/guard"
)

// ResolvePolicy returns the policy of an agent; an empty id means the first agent. It creates a missing workspace if
// that is inside the home.
func ResolvePolicy(cfg *config.Config, agentID string) (*Policy, error) {
	return buildPolicy(cfg, agentID, ensureWorkspace)
}

// PreviewPolicy is like ResolvePolicy but creates nothing. The workspace need not exist.
func PreviewPolicy(cfg *config.Config, agentID string) (*Policy, error) {
	return buildPolicy(cfg, agentID, func(path, named string, _ bool) error {
		if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return ensureWorkspace(path, named, false)
	})
}

// buildPolicy returns the policy of an agent. provide checks or creates the agent's workspace.
func buildPolicy(cfg *config.Config, agentID string, provide workspacePreparer) (*Policy, error) {
	agent, err := cfg.ResolveAgent(agentID)
	if err != nil {
		return nil, err
	}
	p := &Policy{
		agent:    agent.ID,
		rootOK:   agent.AllowRootWorkspace,
		tools:    newToolFilter(agent),
		deferred: sortedUnique(agent.Tools.Deferred),
		limits: CallLimits{
			ExecTimeout: time.Duration(agent.Tools.Exec.TimeoutSeconds) * time.Second,
			CronTimeout: time.Duration(agent.Tools.Cron.ExecTimeoutMinutes) * time.Minute,
			ResultSize:  defaultResultSize,
			Share:       toQuotaLimits(agent.Limits),
		},
		execEnv:      sortedUnique(agent.Tools.Exec.Env),
		isolation:    agent.Isolation,
		origins:      toolSettingOrigins(cfg, agent),
		settingNames: newSettingNameReplacer(agent),
	}
	if cfg.Home().Fallback {
		return nil, errors.New("no home directory was found: set PICOCLAW_HOME to an absolute directory, or HOME")
	}
	if p.plugins, err = parsePluginRules(cfg, agent); err != nil {
		return nil, fmt.Errorf("agent %q: %w", agent.ID, err)
	}
	if p.network, err = parseNetworkRules(agent.Network, ""); err != nil {
		return nil, fmt.Errorf("agent %q: %w", agent.ID, err)
	}
	if agent.Network != nil {
		p.ports = agent.Network.Ports
	}
	if len(p.ports) > 0 && !p.isolation.Network {
		return nil, fmt.Errorf("agent %q: network.ports: commands have no network; set isolation.network to true, or remove network.ports",
			agent.ID)
	}
	project, err := parseNetworkRules(cfg.ProjectNetwork(), "")
	if err != nil {
		return nil, fmt.Errorf("the project's %s: %w", config.ProjectFile, err)
	}
	if project != nil {
		p.network = cmp.Or(p.network, &NetworkRules{}) // programs of runs reach no other hosts then
		p.network.Project = project
	}
	if p.network != nil && !p.isolation.Enabled {
		return nil, fmt.Errorf("agent %q: network: only a sandbox can limit processes to hosts; set "+
			"isolation.enabled to true, or remove the network settings", agent.ID)
	}
	if p.network != nil && slices.Contains(p.network.From, "git") && !cfg.FileProtection().Enabled {
		return nil, fmt.Errorf("agent %q: network.from: git takes hosts from .git/config in the workspace, which commands may "+
			"change while workspace.protect.enabled is false; name the hosts in network.allow", agent.ID)
	}
	p.secrets = cfg.Secrets()
	for name, s := range p.secrets {
		if err = (egress.Secret{Name: name, Hosts: s.Hosts, Header: s.As.Header, Template: s.As.Value}).Validate(); err != nil {
			return nil, fmt.Errorf("secrets.%s: %w", name, err)
		}
	}
	workspace, err := p.prepareWorkspace(cfg, agent, provide)
	if err != nil {
		return nil, fmt.Errorf("agent %q: %w", agent.ID, err)
	}
	if p.limits.Exec, err = parseCommandLimits("tools.exec", agent.Tools.Exec.Limits); err != nil {
		return nil, fmt.Errorf("agent %q: %w", agent.ID, err)
	}
	if p.limits.Run, err = parseCommandLimits("agents.defaults.run", agent.Run.Limits); err != nil {
		return nil, fmt.Errorf("agent %q: %w", agent.ID, err)
	}
	if p.undo, err = parseUndoLimits(agent.Tools.Undo); err != nil {
		return nil, fmt.Errorf("agent %q: %w", agent.ID, err)
	}
	p.guard = newGuardPolicy(agent, workspace)
	if name := filepath.Clean(agent.Workspace); name != workspace {
		p.guard.WorkspaceName = name
	}
	if protected := cfg.FileProtection(); protected.Enabled {
		deny := protected.Deny
		if p.network != nil && slices.Contains(p.network.From, "git") { // agents could add remotes
			deny = append(slices.Clone(deny), protect.GitDir+"/config")
		}
		entries, entriesErr := protect.Defaults().WithOperatorLists(deny, protected.Ask, protected.Allow)
		if entriesErr != nil {
			return nil, fmt.Errorf("workspace.protect.allow: %w", entriesErr)
		}
		p.guard.WorkspaceDeny, p.guard.WorkspaceAsk = entries.Deny, entries.Ask
	}
	if p.guard.Exec.Rules, err = config.ParseExecRules(agent.Tools.Exec.Rules, p.origins["tools.exec.rules"]); err != nil {
		return nil, fmt.Errorf("agent %q: tools.exec.rules: %w", agent.ID, err)
	}
	p.guard.Protected = p.agentControlPaths()
	p.guard.Unprotected = []string{workspace, filepath.Join(p.home, userEnvDir)}
	if err := p.addModuleConstraints(agent); err != nil {
		return nil, fmt.Errorf("agent %q: %w", agent.ID, err)
	}
	return p.setDigest()
}

// parseCommandLimits converts the process limits of a command or program. key is the name of their section.
func parseCommandLimits(key string, l config.ExecLimits) (limits.ProcessLimits, error) {
	memory, err := config.ParseSize(l.Memory)
	if err != nil {
		return limits.ProcessLimits{}, fmt.Errorf("%s.limits.memory: %w", key, err)
	}
	file, err := config.ParseSize(l.FileSize)
	if err != nil {
		return limits.ProcessLimits{}, fmt.Errorf("%s.limits.file_size: %w", key, err)
	}
	return limits.ProcessLimits{
		Processes: int(l.Processes),
		Memory:    memory,
		CPU:       time.Duration(l.CPUSeconds) * time.Second,
		FileSize:  file,
		OpenFiles: int(l.OpenFiles),
		Section:   key + ".limits",
	}, nil
}

// minCommands is the lowest limit of concurrent commands, so that short commands can run beside long ones.
const minCommands = 4

func toQuotaLimits(s config.QuotaLimits) quota.AgentLimits {
	commands := int(s.CommandsPerCPU) * runtime.GOMAXPROCS(0) // fewer than the machine's in a cgroup with a limit
	if commands > 0 {
		commands = max(commands, minCommands)
	}
	return quota.AgentLimits{
		Calls: int(s.CallsAtOnce), Commands: commands, PerMinute: int(s.CallsPerMinute), Plugins: int(s.Plugins),
		Output: int(min(s.OutputMBPerMinute<<20, math.MaxInt)),
	}
}

func parseUndoLimits(u config.Undo) (UndoSettings, error) {
	size, err := config.ParseSize(u.MaxSize)
	if err != nil {
		return UndoSettings{}, fmt.Errorf("tools.undo.max_size: %w", err)
	}
	return UndoSettings{Enabled: u.Enabled, MaxSize: size, MaxAge: time.Duration(u.MaxAgeDays) * 24 * time.Hour}, nil
}

func newGuardPolicy(agent *config.AgentConfig, workspace string) guard.Policy {
	exec := agent.Tools.Exec
	g := guard.Policy{
		Workspace:        workspace,
		Restrict:         agent.RestrictToWorkspace,
		AllowReadOutside: agent.AllowReadOutsideWorkspace,
		AllowReadPaths:   addLinkTargets(agent.Tools.AllowReadPaths),
		AllowWritePaths:  agent.Tools.AllowWritePaths,
		Exec: guard.ExecPolicy{
			DenyPatterns:    exec.EnableDenyPatterns,
			CustomDeny:      exec.CustomDenyPatterns,
			CustomAllow:     exec.CustomAllowPatterns,
			UndoableDeletes: exec.UndoableDeletes,
			Profile:         exec.Profile,
		},
	}
	if g.Exec.Profile == "default" {
		g.Exec.Profile = guard.ProfileDefault
	}
	return g
}

func newToolFilter(agent *config.AgentConfig) toolFilter {
	f := toolFilter{
		Set:      agent.Tools.Set,
		Modules:  len(agent.Modules) > 0,
		Enabled:  sortedUnique(agent.Tools.Enabled),
		Disabled: sortedUnique(agent.Tools.Disabled),

		Resources: sortedUnique(agent.Tools.Resources),
		Prompts:   sortedUnique(agent.Tools.Prompts),
		Sampling:  sortedUnique(agent.Tools.Sampling),
	}
	for _, module := range agent.Modules {
		f.Actions = append(f.Actions, module.Actions...)
		if module.Actions == nil {
			f.Actions = append(f.Actions, config.FilesystemModuleActions()...)
		}
	}
	f.Actions = sortedUnique(f.Actions)
	return f
}

// defaultMaxFileSize limits the files of agents with a modules entry. Other agents have no limit.
const defaultMaxFileSize = "100MB"

func (p *Policy) addModuleConstraints(agent *config.AgentConfig) error {
	for _, module := range agent.Modules {
		size := cmp.Or(module.Constraints.MaxFileSize, defaultMaxFileSize)
		limit, err := config.ParseSize(size)
		if err != nil {
			return fmt.Errorf("max_file_size of module %s: %w", module.Module, err)
		}
		p.guard.MaxFileSize = limit
		for _, path := range module.Constraints.Paths {
			if rest, ok := strings.CutPrefix(path, config.WorkspaceTemplate); ok {
				path = filepath.Join(p.guard.Workspace, rest)
			}
			resolved, err := resolveExistingPart(path)
			if err != nil {
				return fmt.Errorf("constraint path %s of module %s: %w", path, module.Module, err)
			}
			p.guard.Paths = append(p.guard.Paths, resolved)
		}
	}
	return nil
}

// toolSettingOrigins returns the origins of settings that can disable a tool.
func toolSettingOrigins(cfg *config.Config, agent *config.AgentConfig) map[string]config.Origin {
	out := map[string]config.Origin{}
	for _, s := range agent.Settings() {
		key, _, _ := strings.Cut(s.Key, "[") // modules[…] combined
		if _, ok := out[key]; !ok {
			out[key] = s.Origin
		}
	}
	for _, s := range cfg.Settings() {
		if strings.HasPrefix(s.Key, "plugins.") {
			out[s.Key] = s.Origin
		}
	}
	return out
}
