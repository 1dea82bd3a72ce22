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

// confineCommands tells a plugin what each single command may touch and use: the plugin's own view without what only
// the plugin needs. Nothing in it comes from a call.
func (s *Session) confineCommands(settings *exec.Settings, workspace, userEnv string) {
	open := s.kernelPaths(true).Limit(workspace)
	settings.Confine = s.policy.Guard().Restrict
	settings.Unwalled = s.unwalled()
	settings.ReadOnly, settings.ReadWrite = existing(open.ReadOnly), existing(open.ReadWrite)
	settings.ReadWrite = append(settings.ReadWrite, isolation.UserEnv(s.policy.Home(), userEnv))
	in := s.policy.Isolation()
	if in.Enabled {
		settings.ReadWrite = append(settings.ReadWrite, isolation.PrivateDirs()...)
	}
	for _, rule := range in.ExposePaths {
		switch {
		case !in.Enabled && rule.Target != rule.Source: // there is no view that could show it elsewhere
		case rule.Mode == isolation.ModeReadWrite:
			settings.ReadWrite = append(settings.ReadWrite, rule.Target)
		default:
			settings.ReadOnly = append(settings.ReadOnly, rule.Target)
		}
	}
	settings.Limits = s.policy.Limits().Exec
	settings.Limits.Memory = boundedMemory(settings.Limits)
}

// openToCommands reports whether commands would get at a directory of the instance root because their plugin does. Only
// Landlock holds them to less than it, and only where they have no path above the directory. Where they get at the
// instance root in any case, the plugin's access opens nothing.
func (s *Session) openToCommands(settings *exec.Settings, dir string) bool {
	opened := settings.ReadWrite
	if s.policy.Isolation().Enabled || !s.policy.Guard().AllowReadOutside {
		opened = slices.Concat(opened, settings.ReadOnly)
	}
	switch {
	case !s.kernelConfines():
		return false
	case !settings.Confine || !isolation.KernelConfines():
		return true
	default:
		return paths.WithinAny(opened, dir)
	}
}

// keepsCommands reports whether what the commands of a plugin destroy in the workspace is kept for undo.
func (s *Session) keepsCommands(p *catalog.Plugin) bool {
	grants := s.given(p).Grants.Intersect(p.Manifest.Grants)
	if !grants.Exec || grants.Workspace != pluginpb.ReadWriteWorkspace {
		return false
	}
	settings := &exec.Settings{}
	s.confineCommands(settings, grants.Workspace, s.userEnvOf(p))
	return s.takesBack(grants, settings) && s.kernelConfines() && isolation.TellsOfChanges()
}

// userEnvID names the directory that the commands of this policy have for their home.
func (s *Session) userEnvID() string { return s.policy.Digest()[:16] }

// userEnvOf names the directory that a plugin's commands have for their home. Plugins that do not come with picoclaw
// have one of their own each: what one leaves there, such as settings of git, another would run.
func (s *Session) userEnvOf(p *catalog.Plugin) string {
	if p.Kind == catalog.Bundled {
		return s.userEnvID()
	}
	return s.userEnvID() + "-" + p.Manifest.ID
}

// kernelConfines reports whether the kernel confines what commands do: by a sandbox, or, where the policy confines
// them, by Landlock.
func (s *Session) kernelConfines() bool {
	return s.policy.Isolation().Enabled || s.policy.Guard().Restrict && isolation.KernelConfines()
}

// unwalled says that only the guard would stand between a command and this machine, although the policy confines it:
// there is neither a sandbox nor a kernel that could.
func (s *Session) unwalled() bool {
	return s.policy.Guard().Restrict && !s.kernelConfines()
}

// guardPolicy is the policy that calls are decided by: where no wall stands behind the guard, its strict profile. The
// kernel lets commands use their home, so the guard does.
func (s *Session) guardPolicy() guard.Policy {
	p := s.policy.Guard()
	p.Kernel = s.kernelConfines()
	if s.unwalled() {
		p.Exec.Profile = guard.ProfileSeedStrict
	}
	p.Exec.Home = isolation.UserEnv(s.policy.Home(), s.userEnvID())
	return p
}

// commandEnv is what is known of the environment that every command has: where its home is, unless the operator has it
// have another.
func (s *Session) commandEnv() map[string]string {
	env := isolation.UserEnvironment(s.policy.Home(), s.userEnvID())
	for _, name := range s.policy.ExecEnv() {
		delete(env, name)
	}
	return env
}

// UnkeptCommand returns the command that a recorded call has run, as the record has it; "" if it ran none, and if what
// it changed is kept for undo.
func (s *Session) UnkeptCommand(r audit.Record) string {
	t, _ := s.find(r.Tool)
	if t == nil || r.Denied() {
		return ""
	}
	if spec, err := s.instanceSpec(t.Plugin); err == nil && spec.Policy.Undo.Dir != "" {
		return ""
	}
	known, err := t.Arguments()
	if err != nil {
		return ""
	}
	for _, site := range known.Claims {
		if site.Claim != pluginpb.ClaimCommand {
			continue
		}
		for _, at := range valuesAt(r.Args, site.Path) {
			if text, ok := at.value.(string); ok {
				return text
			}
		}
	}
	return ""
}
