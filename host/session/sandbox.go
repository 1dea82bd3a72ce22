package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/picoclaw/picoclaw/host/catalog"
	"github.com/picoclaw/picoclaw/host/policy"
	"github.com/picoclaw/picoclaw/host/store"
	"github.com/picoclaw/picoclaw/host/supervise"
	"github.com/picoclaw/picoclaw/internal/limits"
	"github.com/picoclaw/picoclaw/internal/paths"
	"github.com/picoclaw/picoclaw/internal/protect"
	"github.com/picoclaw/picoclaw/internal/statefiles"
	"github.com/picoclaw/picoclaw/isolation"
	"github.com/picoclaw/picoclaw/isolation/selftest"
	"github.com/picoclaw/picoclaw/sdk/exec"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
	"github.com/picoclaw/picoclaw/sdk/pluginpolicy"
	"github.com/picoclaw/picoclaw/sdk/undo"
)

// pluginInstanceSpec returns the specification of a plugin's instance for this session. A session's policy never
// changes, so the result is cached.
func (s *Session) pluginInstanceSpec(p *catalog.Plugin) (*supervise.InstanceSpec, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := os.Stat(s.policy.WorkspacePath()); errors.Is(err, fs.ErrNotExist) {
		clear(s.specs) // they name existing directories only
		return nil, fmt.Errorf("workspace %q no longer exists; create it", s.policy.WorkspacePath())
	}
	if spec := s.specs[p]; spec != nil {
		return spec, nil
	}
	given := s.pluginPolicy(p)
	if !given.Enabled {
		return nil, fmt.Errorf("plugin %s is not enabled for agent %s", p.Manifest.ID, s.policy.AgentID())
	}
	if err := checkSettingsAgainstSchema(p.Manifest, given.Config); err != nil {
		return nil, fmt.Errorf("plugins.%s.config does not fit the plugin's schema: %w", p.Manifest.ID, err)
	}
	grants := given.Grants.Intersect(p.Manifest.Grants)
	policy := &pluginpolicy.Policy{Guard: s.policy.GuardPolicy(), Grants: grants, Config: given.Config}
	policy.Exec.Timeout, policy.Exec.TimeoutKey = s.commandTimeout()
	if grants.Exec {
		policy.Agent = s.policy.AgentID()
		policy.Exec.Env = hostEnvironment(s.policy.CommandEnvNames()...)
		s.configureCommandSandbox(&policy.Exec, grants.Workspace, s.pluginCommandHomeID(p))
	}
	policy.Guard.Exec.UndoableDeletes = policy.Guard.Exec.UndoableDeletes && s.undoCoversCommands(p)
	spec := &supervise.InstanceSpec{
		Manifest:     p.Manifest,
		Binary:       p.Binary,
		Digest:       p.Digest,
		Policy:       policy,
		Profile:      s.sandboxProfile(p, grants),
		Env:          pluginEnvironment(grants),
		Owner:        s.account.agent,
		MaxInstances: s.account.limits.Plugins,
	}
	if err := s.attachNetwork(p, spec, grants); err != nil {
		return nil, err
	}
	if grants.State {
		if err := s.grantPluginStateDir(spec); err != nil {
			return nil, err
		}
	}
	switch {
	case s.pluginHasUndo(grants, &policy.Exec):
		if err := s.grantPluginUndoStore(spec); err != nil {
			return nil, err
		}
	case grants.Takeback && s.policy.UndoLimits().Enabled:
		s.host.logger.Info("nothing holds commands to less than their plugin at this place, so undo does without this plugin",
			"plugin", p.Manifest.ID, "dir", s.undoStoreDir())
	}
	if p.Pin != nil {
		if p.Pin.Data != "" {
			policy.DataDir = filepath.Join(p.Dir, store.DataDir)
			data := paths.ExistingReal([]string{policy.DataDir})
			spec.Profile.ReadOnly = append(spec.Profile.ReadOnly, data...)
			if len(grants.Programs) > 0 { // programs of the package itself need no grants
				spec.Profile.Programs = append(resolvePackagePrograms(p.Dir, grants.Programs), data...)
			}
		}
		spec.Program = p.Pin.Binary
		spec.Copy = func(to string) error { return store.CopyVerifiedFiles(p.Manifest.ID, p.Dir, to, p.Pin.Files) }
	}
	if p.Kind == catalog.DevPlugin {
		s.host.logger.Warn("a plugin runs from a build directory without verification", "plugin", p.Manifest.ID, "dir", p.Dir)
	}
	maps.DeleteFunc(s.specs, func(old *catalog.Plugin, _ *supervise.InstanceSpec) bool { return old.Manifest.ID == p.Manifest.ID })
	s.specs[p] = spec
	return spec, nil
}

// resolvePackagePrograms makes the paths of programs in the data directory of a plugin's package absolute, so that their
// dynamic linkers may start too.
func resolvePackagePrograms(dir string, names []string) []string {
	out := slices.Clone(names)
	for i, name := range out {
		if strings.HasPrefix(name, store.DataDir+"/") && filepath.IsLocal(name) {
			out[i] = filepath.Join(dir, filepath.FromSlash(name))
		}
	}
	return out
}

// pluginPolicy returns the policy for a plugin, limited to the grants that were given at install.
func (s *Session) pluginPolicy(p *catalog.Plugin) policy.PluginPolicy {
	if p.Pin == nil {
		return s.policy.PluginPolicy(p.Manifest.ID)
	}
	return s.policy.InstalledPluginPolicy(p.Manifest.ID, p.Pin.Grants)
}

// takebackName is the directory of the undo stores, next to the plugins' state directories.
const takebackName = "takeback"

// CheckStateDirName returns an error if a plugin's id can't be the name of a state directory.
func CheckStateDirName(plugin string) error {
	if plugin == takebackName {
		return fmt.Errorf("plugin %s can't keep state: the directory of that name is where undo's is; give it another id", plugin)
	}
	return nil
}

// PluginStateDir returns the directory with a plugin's state for all agents.
func PluginStateDir(home, plugin string) string { return filepath.Join(home, "state", plugin) }

// grantPluginStateDir creates a plugin's state directory for this agent, and lets the plugin write to it.
func (s *Session) grantPluginStateDir(spec *supervise.InstanceSpec) error {
	if err := CheckStateDirName(spec.Manifest.ID); err != nil {
		return err
	}
	dir, err := createAndGrantDir(spec, s.agentStateDir(spec.Manifest.ID))
	if err != nil {
		return fmt.Errorf("the state directory of plugin %s: %w", spec.Manifest.ID, err)
	}
	spec.Policy.StateDir = dir
	return nil
}

// pluginHasUndo reports whether a plugin gets the undo store. Plugins whose commands could write to it do not.
func (s *Session) pluginHasUndo(grants pluginpb.Grant, settings *exec.CommandSettings) bool {
	return grants.Takeback && s.policy.UndoLimits().Enabled &&
		(!grants.Exec || settings.Confine && !s.commandsCanWriteTo(settings, s.undoDirInSandbox(grants)))
}

func (s *Session) undoDirInSandbox(grants pluginpb.Grant) string {
	if dir := s.undoStoreDir(); !s.isInPrivateTemp(grants, dir) {
		return dir
	}
	return sandboxUndoDir
}

// undoStoreDir returns the undo store's directory: the agent's, or the one set by [Session.UseUndoStore].
func (s *Session) undoStoreDir() string { return cmp.Or(s.undoOf, s.agentStateDir(takebackName)) }

// UseUndoStore replaces the agent's undo store for undo and history. Call it before the first call.
func (s *Session) UseUndoStore(dir string) { s.undoOf = dir }

// grantPluginUndoStore creates the session's undo store, and gives a plugin access to it.
func (s *Session) grantPluginUndoStore(spec *supervise.InstanceSpec) error {
	home, store := s.policy.HomePath(), s.undoStoreDir()
	if err := statefiles.CheckNotMissing(home, store); err != nil {
		return err
	}
	dir, err := createAndGrantDir(spec, store)
	if err == nil && s.undoOf == "" {
		_ = statefiles.AddToList(home, store) // on a full disk, the next session tries again
	}
	if err == nil && s.isInPrivateTemp(spec.Policy.Grants, dir) {
		spec.Profile.ReadWrite = slices.DeleteFunc(spec.Profile.ReadWrite, func(path string) bool { return path == dir })
		spec.Profile.Elsewhere = map[string]string{sandboxUndoDir: dir}
		dir = sandboxUndoDir
	}
	if err != nil {
		return fmt.Errorf("the undo store for plugin %s: %w", spec.Manifest.ID, err)
	}
	limits := s.policy.UndoLimits()
	spec.Policy.Undo = undo.StoreOptions{Dir: dir, MaxBytes: limits.MaxSize, MaxAge: limits.MaxAge}
	return nil
}

// sandboxUndoDir is the path of the undo store in a sandbox with a private /tmp, for a home below /tmp.
const sandboxUndoDir = "/run/picoclaw/undo"

// isInPrivateTemp reports whether a plugin's commands could write to a directory because it is below the private /tmp
// or /dev/shm of their sandbox.
func (s *Session) isInPrivateTemp(grants pluginpb.Grant, dir string) bool {
	return grants.Exec && s.policy.IsolationOptions().Enabled && paths.WithinAny(isolation.PrivateDirs(), dir)
}

func (s *Session) agentStateDir(name string) string {
	return filepath.Join(PluginStateDir(s.policy.HomePath(), name), s.policy.AgentID())
}

// createAndGrantDir creates a directory of the home, and lets a plugin write to it.
func createAndGrantDir(spec *supervise.InstanceSpec, dir string) (string, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", err
	}
	spec.Profile.ReadWrite = append(spec.Profile.ReadWrite, dir)
	return dir, nil
}

// sandboxProfile returns the sandbox of a plugin: the paths that the policy opens, limited by the plugin's grants. It
// does not depend on calls.
func (s *Session) sandboxProfile(p *catalog.Plugin, g pluginpb.Grant) isolation.Profile {
	profile := s.newProfile(p.Manifest.ID, g.Workspace, g.Exec, s.pluginCommandHomeID(p))
	profile.Programs, profile.Network = g.Programs, g.Network
	if profile.Confine || s.policy.IsolationOptions().Enabled {
		profile.Group = cgroupLimits(s.policy.CallLimits().Exec)
		if g.Exec {
			profile.Group.Weight = commandWeight
		}
	}
	return profile
}

// newProfile returns the sandbox of a process with this access to the workspace: none, ro or rw. exec says that the
// process runs commands. They have the HOME directory that userEnv names.
func (s *Session) newProfile(name, workspace string, exec bool, userEnv string) isolation.Profile {
	open := s.kernelPaths(exec).LimitWorkspaceAccess(workspace)
	profile := isolation.Profile{
		Name:      name,
		ReadOnly:  paths.ExistingReal(open.ReadOnly),
		ReadWrite: paths.ExistingReal(open.ReadWrite),
		Hide:      open.Hidden,
		Links:     s.policy.PathSymlinks(),
		Exec:      exec,
		Terminals: exec,
		Confine:   s.policy.GuardPolicy().Restrict,
		UserEnv:   exec,
		UserEnvID: userEnv,
	}
	if exec {
		profile.Protect = func() ([]string, error) { return s.readOnlyProtectedPaths(nil) }
	}
	return profile
}

// readOnlyProtectedPaths returns the protected paths to mount read-only. A mount can't have exceptions, so paths that a person
// may approve are left out. Files that are protected because of their content are left out if the changes of commands
// are checked. git is the git directory outside the workspace, or nil.
func (s *Session) readOnlyProtectedPaths(git *protect.SharedGitDir) (found []string, err error) {
	p := s.policy.GuardPolicy()
	dirs := map[string]string{p.Workspace: filepath.Join(p.Workspace, protect.GitDir, "config")} // with git configuration
	if git != nil {
		dirs[git.Dir] = filepath.Join(git.Dir, "config")
		found = git.FindReadOnlyPaths()
	}
	for dir, config := range dirs {
		rules, err := protect.CompileRules(dir, protect.PathLists{Deny: p.WorkspaceDeny, Ask: p.WorkspaceAsk}, nil)
		if err != nil {
			return nil, err
		}
		judged := p.Restrict && isolation.CanNoticeChanges() && protect.CanDetectWriters(config)
		found = append(found, rules.FindReadOnlyPaths(!judged)...)
	}
	return found, nil
}

// kernelPaths returns the paths that the policy opens to a plugin. exec says that the plugin runs commands: then its
// sandbox has a private /tmp, and a whitelist's prefix does not open the host's /tmp.
func (s *Session) kernelPaths(exec bool) policy.KernelLayerPaths {
	if exec && s.policy.IsolationOptions().Enabled {
		return s.policy.SandboxKernelPaths()
	}
	return s.policy.KernelPaths()
}

// pluginEnvironment returns the environment of a plugin process: the host's variables that its grants name. With exec,
// it also has the variables that commands need.
func pluginEnvironment(g pluginpb.Grant) []string {
	names := append([]string{"PICOCLAW_LOG_LEVEL"}, g.Env...)
	if g.Exec {
		names = append(names, "PATH", "LANG", "LC_ALL", "TERM", "TZ")
	}
	return hostEnvironment(names...)
}

// hostEnvironment returns the named variables of the host's environment that are set, as NAME=value, sorted.
func hostEnvironment(names ...string) []string {
	var env []string
	for _, name := range slices.Compact(slices.Sorted(slices.Values(names))) {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return env
}

func joinWithCommas(names []string) string { return strings.Join(names, ", ") }

// The control group has higher limits than a command, by these amounts. So the plugin can end a command over its limit,
// with a message, before the kernel kills it.
const (
	spareProcesses = 1024
	spareMemory    = 512 << 20
)

// CPU weights of plugins. The host has 100. Plugins whose commands may use all processors get half of the others'
// weight.
const (
	pluginWeight  = 50
	commandWeight = 25
)

// cgroupLimits returns the limits of an instance together with its commands. The plugin limits each command.
func cgroupLimits(l limits.ProcessLimits) isolation.GroupLimits {
	g := isolation.GroupLimits{Memory: commandMemoryLimit(l) + spareMemory, Weight: pluginWeight}
	if l.Processes > 0 {
		g.Processes = l.Processes + spareProcesses
	}
	return g
}

// commandMemoryLimit returns a command's memory limit: the operator's, at most 3/4 of the machine's memory.
func commandMemoryLimit(l limits.ProcessLimits) int64 {
	if most := isolation.MachineMemory() / 4 * 3; most > 0 && (l.Memory <= 0 || l.Memory > most) {
		return most
	}
	return l.Memory
}

// runSandboxSelfTest runs the sandbox self-test once per machine. It returns an error if the test fails, and nil if the
// test can't run, since the layers still apply.
func (h *Host) runSandboxSelfTest(iso *isolation.Starter, network bool) error {
	if len(h.options.SelfTest) == 0 || !iso.Enabled() || !selftest.IsSupported {
		return nil
	}
	o := selftest.Options{
		Isolation: iso, Network: network, Command: h.options.SelfTest, Dir: filepath.Join(h.options.Config.Home().Path, "cache"),
	}
	report, err := selftest.RunSelfTest(context.Background(), o)
	if err != nil {
		h.logger.Warn("the sandbox could not be tested", "error", err)
		return nil
	}
	var got []string
	for _, r := range report.BrokenProtections(o.ConfinementMode(), isolation.DetectFeatures()) {
		got = append(got, r.Protection+" ("+r.Got+")")
	}
	if len(got) == 0 {
		return nil
	}
	return fmt.Errorf("the sandbox does not hold on this machine: the self-test got through %s; `picoclaw doctor` shows details, "+
		"and isolation.enabled: false disables it", strings.Join(got, ", "))
}
