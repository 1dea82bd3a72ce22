package session

import (
	"slices"

	"github.com/picoclaw/picoclaw/host/audit"
	"github.com/picoclaw/picoclaw/host/catalog"
	"github.com/picoclaw/picoclaw/internal/paths"
	"github.com/picoclaw/picoclaw/isolation"
	"github.com/picoclaw/picoclaw/sdk/exec"
	"github.com/picoclaw/picoclaw/sdk/guard"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// configureCommandSandbox sets the sandbox in which a plugin runs each command. Commands get the plugin's access,
// except to paths such as its state directory. The sandbox depends on the policy, never on a call.
func (s *Session) configureCommandSandbox(settings *exec.CommandSettings, workspace, userEnv string) {
	open := s.kernelPaths(true).LimitWorkspaceAccess(workspace)
	settings.Confine = s.policy.GuardPolicy().Restrict
	settings.Unwalled = s.guardIsOnlyLayer()
	settings.ReadOnly, settings.ReadWrite = paths.ExistingReal(open.ReadOnly), paths.ExistingReal(open.ReadWrite)
	settings.ReadWrite = append(settings.ReadWrite, isolation.UserEnvDir(s.policy.HomePath(), userEnv))
	in := s.policy.IsolationOptions()
	if settings.Sandboxed = in.Enabled; in.Enabled {
		settings.ReadWrite = append(settings.ReadWrite, isolation.PrivateDirs()...)
	}
	for _, rule := range in.ExposePaths {
		switch {
		case !in.Enabled && rule.Target != rule.Source: // without a mount view it stays where it is
		case rule.Mode == isolation.ModeReadWrite:
			settings.ReadWrite = append(settings.ReadWrite, rule.Target)
		default:
			settings.ReadOnly = append(settings.ReadOnly, rule.Target)
		}
	}
	settings.Limits = s.policy.CallLimits().Exec
	settings.Limits.Memory = commandMemoryLimit(settings.Limits)
}

// commandsCanWriteTo reports whether commands that the kernel confines can write to a directory of the home. Landlock
// alone keeps them out only if none of their paths contains it.
func (s *Session) commandsCanWriteTo(settings *exec.CommandSettings, dir string) bool {
	opened := settings.ReadWrite
	if s.policy.IsolationOptions().Enabled || !s.policy.GuardPolicy().AllowReadOutside {
		opened = slices.Concat(opened, settings.ReadOnly)
	}
	switch {
	case !s.kernelConfinesCommands():
		return false
	case !settings.Confine || !isolation.SupportsConfine():
		return true
	default:
		return paths.WithinAny(opened, dir)
	}
}

// undoCoversCommands reports whether undo covers the workspace changes of a plugin's commands.
func (s *Session) undoCoversCommands(p *catalog.Plugin) bool {
	grants := s.pluginPolicy(p).Grants.Intersect(p.Manifest.Grants)
	if !grants.Exec || grants.Workspace != pluginpb.ReadWriteWorkspace {
		return false
	}
	settings := &exec.CommandSettings{}
	s.configureCommandSandbox(settings, grants.Workspace, s.pluginCommandHomeID(p))
	return s.pluginHasUndo(grants, settings) && s.kernelConfinesCommands() && isolation.CanNoticeChanges()
}

// commandHomeID returns the name of the HOME directory for commands under this policy.
func (s *Session) commandHomeID() string { return s.policy.Digest()[:16] }

// pluginCommandHomeID returns the name of the HOME directory for a plugin's commands. Each third-party plugin has its
// own directory, so that its files, such as git settings, do not run for another plugin.
func (s *Session) pluginCommandHomeID(p *catalog.Plugin) string {
	if p.Kind == catalog.BundledPlugin {
		return s.commandHomeID()
	}
	return s.commandHomeID() + "-" + p.Manifest.ID
}

// kernelConfinesCommands reports whether a sandbox, or Landlock with a restricting policy, confines commands.
func (s *Session) kernelConfinesCommands() bool {
	return s.policy.IsolationOptions().Enabled || s.policy.GuardPolicy().Restrict && isolation.SupportsConfine()
}

// guardIsOnlyLayer reports whether commands run without sandbox and Landlock, so that only the guard restricts them.
func (s *Session) guardIsOnlyLayer() bool {
	return s.policy.GuardPolicy().Restrict && !s.kernelConfinesCommands()
}

// guardPolicy returns the policy of the guard. It has the strict profile if no other layer restricts commands, and
// allows paths below HOME, as the kernel layer does.
func (s *Session) guardPolicy() guard.Policy {
	p := s.policy.GuardPolicy()
	p.Kernel = s.kernelConfinesCommands()
	if s.guardIsOnlyLayer() {
		p.Exec.Profile = guard.ProfileSeedStrict
	}
	p.Exec.Home = isolation.UserEnvDir(s.policy.HomePath(), s.commandHomeID())
	if iso := s.policy.IsolationOptions(); iso.Enabled {
		open := s.policy.SandboxKernelPaths()
		p.Exec.Private, p.Exec.Shared = isolation.PrivateDirs(), paths.ExistingReal(slices.Concat(open.ReadWrite, open.ReadOnly))
		p.Exec.Shared = slices.DeleteFunc(p.Exec.Shared, func(path string) bool { return !paths.WithinAny(p.Exec.Private, path) })
		for _, exposed := range iso.ExposePaths {
			p.Exec.Shared = append(p.Exec.Shared, exposed.Target)
		}
	}
	return p
}

// commandEnv returns the environment variables of every command, such as HOME. The operator can override them.
func (s *Session) commandEnv() map[string]string {
	env := isolation.UserEnvironment(s.policy.HomePath(), s.commandHomeID())
	for _, name := range s.policy.CommandEnvNames() {
		delete(env, name)
	}
	return env
}

// FindLoggedCommandWithoutUndo returns the command of a logged call if undo does not cover its changes; otherwise "".
func (s *Session) FindLoggedCommandWithoutUndo(r audit.Record) string {
	t, _ := s.findTool(r.Tool)
	if t == nil || r.WasDenied() {
		return ""
	}
	if spec, err := s.pluginInstanceSpec(t.Plugin); err == nil && spec.Policy.Undo.Dir != "" {
		return ""
	}
	known, err := t.ArgumentSchema()
	if err != nil {
		return ""
	}
	for _, site := range known.Claims {
		if site.Claim != pluginpb.ClaimCommand {
			continue
		}
		for _, at := range valuesAtPropertyPath(r.Args, site.Path) {
			if text, ok := at.value.(string); ok {
				return text
			}
		}
	}
	return ""
}
