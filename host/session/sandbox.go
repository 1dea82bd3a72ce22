package session

import (
	"context"
	"fmt"
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
	"github.com/picoclaw/picoclaw/isolation"
	"github.com/picoclaw/picoclaw/isolation/selftest"
	"github.com/picoclaw/picoclaw/sdk/exec"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
	"github.com/picoclaw/picoclaw/sdk/pluginpolicy"
	"github.com/picoclaw/picoclaw/sdk/undo"
)

// instanceSpec describes the instance of a plugin that serves this session's calls. It is made once: a session's policy
// never changes.
func (s *Session) instanceSpec(p *catalog.Plugin) (*supervise.Spec, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if spec := s.specs[p]; spec != nil {
		return spec, nil
	}
	given := s.given(p)
	if !given.Enabled {
		return nil, fmt.Errorf("plugin %s is not enabled for agent %s", p.Manifest.ID, s.policy.Agent())
	}
	if err := checkConfig(p.Manifest, given.Config); err != nil {
		return nil, err
	}
	grants := given.Grants.Intersect(p.Manifest.Grants)
	limits := s.policy.Limits()
	policy := &pluginpolicy.Policy{Guard: s.policy.Guard(), Grants: grants, Config: given.Config}
	policy.Exec.Timeout = limits.ExecTimeout
	if s.origin == Cron && limits.CronTimeout > 0 {
		policy.Exec.Timeout = limits.CronTimeout
	}
	if grants.Exec {
		policy.Agent = s.policy.Agent()
		policy.Exec.Env = environment(s.policy.ExecEnv()...)
		s.confineCommands(&policy.Exec, grants.Workspace, s.userEnvOf(p))
	}
	policy.Guard.Exec.UndoableDeletes = policy.Guard.Exec.UndoableDeletes && s.keepsCommands(p)
	spec := &supervise.Spec{
		Manifest:     p.Manifest,
		Binary:       p.Binary,
		Digest:       p.Digest,
		Policy:       policy,
		Profile:      s.profile(p, grants),
		Env:          pluginEnvironment(grants),
		Owner:        s.payer.agent,
		MaxInstances: s.payer.limits.Plugins,
	}
	if err := s.giveNetwork(p, spec, grants); err != nil {
		return nil, err
	}
	if grants.State {
		if err := s.giveState(spec); err != nil {
			return nil, err
		}
	}
	switch {
	case s.takesBack(grants, &policy.Exec):
		if err := s.giveTakeback(spec); err != nil {
			return nil, err
		}
	case grants.Takeback && s.policy.Undo().Enabled:
		s.host.logger.Info("nothing holds commands to less than their plugin at this place, so undo does without this plugin",
			"plugin", p.Manifest.ID, "dir", s.stateDir(takebackName))
	}
	if p.Pin != nil {
		if p.Pin.Data != "" {
			policy.DataDir = filepath.Join(p.Dir, store.DataDir)
			spec.Profile.ReadOnly = append(spec.Profile.ReadOnly, existing([]string{policy.DataDir})...)
			spec.Profile.Programs = ownPrograms(p.Dir, grants.Programs)
		}
		spec.Program = p.Pin.Binary
		spec.Copy = func(to string) error { return store.CopyVerified(p.Manifest.ID, p.Dir, to, p.Pin.Files) }
	}
	if p.Kind == catalog.Dev {
		s.host.logger.Warn("a plugin runs from a build directory, whatever is in it", "plugin", p.Manifest.ID, "dir", p.Dir)
	}
	maps.DeleteFunc(s.specs, func(old *catalog.Plugin, _ *supervise.Spec) bool { return old.Manifest.ID == p.Manifest.ID })
	s.specs[p] = spec
	return spec, nil
}

// ownPrograms puts the path before those programs that lie in a package's data.
func ownPrograms(dir string, names []string) []string {
	out := slices.Clone(names)
	for i, name := range out {
		if strings.HasPrefix(name, store.DataDir+"/") && filepath.IsLocal(name) {
			out[i] = filepath.Join(dir, filepath.FromSlash(name))
		}
	}
	return out
}

// given is what the policy says about a plugin, with what was granted when it was installed.
func (s *Session) given(p *catalog.Plugin) policy.Plugin {
	if p.Pin == nil {
		return s.policy.Plugin(p.Manifest.ID)
	}
	return s.policy.Installed(p.Manifest.ID, p.Pin.Grants)
}

// takebackName is the directory of the stores of what changes destroy, beside those that plugins have of their own.
const takebackName = "takeback"

// CheckStateOf says why a plugin of that id can't keep state, if it can't.
func CheckStateOf(plugin string) error {
	if plugin == takebackName {
		return fmt.Errorf("plugin %s can't keep state: the directory of that name is where undo's is; give it another id", plugin)
	}
	return nil
}

// StateOf is where a plugin keeps what it has for its agents, below an instance root.
func StateOf(home, plugin string) string { return filepath.Join(home, "state", plugin) }

// giveState gives a plugin a directory of its own for this agent.
func (s *Session) giveState(spec *supervise.Spec) error {
	if err := CheckStateOf(spec.Manifest.ID); err != nil {
		return err
	}
	dir, err := s.give(spec, spec.Manifest.ID)
	if err != nil {
		return fmt.Errorf("the state directory of plugin %s: %w", spec.Manifest.ID, err)
	}
	spec.Policy.StateDir = dir
	return nil
}

// takesBack reports whether a plugin has this agent's store of what changes destroy: not if its commands would get at
// it too.
func (s *Session) takesBack(grants pluginpb.Grant, settings *exec.Settings) bool {
	return grants.Takeback && s.policy.Undo().Enabled &&
		(!grants.Exec || settings.Confine && !s.openToCommands(settings, s.undoDir(grants)))
}

// undoDir is where a plugin sees this agent's undo store.
func (s *Session) undoDir(grants pluginpb.Grant) string {
	if dir := s.stateDir(takebackName); !s.sharesPrivate(grants, dir) {
		return dir
	}
	return undoPlace
}

// giveTakeback gives a plugin this agent's store of what changes destroy.
func (s *Session) giveTakeback(spec *supervise.Spec) error {
	dir, err := s.give(spec, takebackName)
	if err == nil && s.sharesPrivate(spec.Policy.Grants, dir) {
		spec.Profile.ReadWrite = slices.DeleteFunc(spec.Profile.ReadWrite, func(path string) bool { return path == dir })
		spec.Profile.Elsewhere = map[string]string{undoPlace: dir}
		dir = undoPlace
	}
	if err != nil {
		return fmt.Errorf("the store of what changes destroy, for plugin %s: %w", spec.Manifest.ID, err)
	}
	limits := s.policy.Undo()
	spec.Policy.Undo = undo.Options{Dir: dir, MaxBytes: limits.MaxSize, MaxAge: limits.MaxAge}
	return nil
}

// undoPlace is where the undo store is in the sandbox of a plugin whose commands have all of /tmp, for a home below
// that.
const undoPlace = "/run/picoclaw/undo"

// sharesPrivate reports whether the commands of a plugin would get at a directory because it is below the sandbox's own
// /tmp or /dev/shm, which they have.
func (s *Session) sharesPrivate(grants pluginpb.Grant, dir string) bool {
	return grants.Exec && s.policy.Isolation().Enabled && paths.WithinAny(isolation.PrivateDirs(), dir)
}

func (s *Session) stateDir(name string) string {
	return filepath.Join(StateOf(s.policy.Home(), name), s.policy.Agent())
}

// give makes a directory for this agent in the instance root's state, and lets a plugin write to it.
func (s *Session) give(spec *supervise.Spec, name string) (string, error) {
	dir := s.stateDir(name)
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

// profile is the kernel's wall for a plugin: what the policy opens, as far as the grants go. Nothing in it comes from
// a call.
func (s *Session) profile(p *catalog.Plugin, g pluginpb.Grant) isolation.Profile {
	open := s.kernelPaths(g.Exec).Limit(g.Workspace)
	profile := isolation.Profile{
		Name:      p.Manifest.ID,
		ReadOnly:  existing(open.ReadOnly),
		ReadWrite: existing(open.ReadWrite),
		Hide:      open.Hidden,
		Exec:      g.Exec,
		Programs:  g.Programs,
		Network:   g.Network,
		Terminals: g.Exec,
		Confine:   s.policy.Guard().Restrict,
		UserEnv:   g.Exec,
		UserEnvID: s.userEnvOf(p),
	}
	if g.Exec {
		profile.Protect = s.protected
	}
	if profile.Confine || s.policy.Isolation().Enabled {
		profile.Group = group(s.policy.Limits().Exec)
	}
	return profile
}

// protected returns the protected paths to mount read-only. A mount knows no exceptions, so it leaves out paths that a
// person may approve. Files whose content decides are among them only where the commands' changes are not judged.
func (s *Session) protected() ([]string, error) {
	p := s.policy.Guard()
	rules, err := protect.New(p.Workspace, protect.Entries{Deny: p.WorkspaceDeny, Ask: p.WorkspaceAsk}, nil)
	if err != nil {
		return nil, err
	}
	judged := p.Restrict && isolation.TellsOfChanges() && protect.CanSettle(filepath.Join(p.Workspace, protect.GitDir, "config"))
	return rules.Find(!judged), nil
}

// kernelPaths are what the policy opens to a plugin, or to one that starts programs: that has a /tmp of its own in a
// sandbox.
func (s *Session) kernelPaths(exec bool) policy.KernelPaths {
	if exec && s.policy.Isolation().Enabled {
		return s.policy.SandboxPaths()
	}
	return s.policy.KernelPaths()
}

// existing leaves out paths that are not there, since a whitelist may name what one machine has and another has not,
// and those that are reached through a symbolic link: whitelists speak of resolved paths, so nothing matches there.
func existing(paths []string) []string {
	return slices.DeleteFunc(paths, func(path string) bool {
		real, err := filepath.EvalSymlinks(path)
		return err != nil || real != path
	})
}

// pluginEnvironment is the whole environment of a plugin process: nothing of the host's but what its grants name and,
// for those that run commands, what commands need to find their way.
func pluginEnvironment(g pluginpb.Grant) []string {
	names := append([]string{"PICOCLAW_LOG_LEVEL"}, g.Env...)
	if g.Exec {
		names = append(names, "PATH", "LANG", "LC_ALL", "TERM", "TZ")
	}
	return environment(names...)
}

// environment returns the named variables of the host's environment that are set, as NAME=value, sorted.
func environment(names ...string) []string {
	var env []string
	for _, name := range slices.Compact(slices.Sorted(slices.Values(names))) {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return env
}

func list(names []string) string { return strings.Join(names, ", ") }

// How far the kernel's limits are behind those of a command. Whoever goes over one of these is to be found out and
// ended with a message, for which there is time while he goes on; the kernel has none.
const (
	processesBehind = 1024
	memoryBehind    = 512 << 20
)

// pluginWeight is a plugin's weight for the processors: half of the host's, which has to answer whatever commands do.
const pluginWeight = 50

// group bounds an instance with all its commands together, in a control group where there can be one. One command may
// use up what all may: what each may use is looked after by the plugin.
func group(l limits.Limits) isolation.GroupLimits {
	g := isolation.GroupLimits{Memory: boundedMemory(l) + memoryBehind, Weight: pluginWeight}
	if l.Processes > 0 {
		g.Processes = l.Processes + processesBehind
	}
	return g
}

// boundedMemory is how much memory a command may use: what the operator says, and never so much that the machine has
// none left.
func boundedMemory(l limits.Limits) int64 {
	if most := isolation.MachineMemory() / 4 * 3; most > 0 && (l.Memory <= 0 || l.Memory > most) {
		return most
	}
	return l.Memory
}

// tested has the sandbox attacked from inside, the first time that it is used on this machine. What does not hold is an
// error; that it can't be tested is not, since the walls are the same then.
func (h *Host) tested(iso *isolation.Isolation, network bool) error {
	if len(h.selfTest) == 0 || !iso.Enabled() || !selftest.Possible {
		return nil
	}
	o := selftest.Options{
		Isolation: iso, Network: network, Command: h.selfTest, Dir: filepath.Join(h.config.Home().Path, "cache"),
	}
	report, err := selftest.Check(context.Background(), o)
	if err != nil {
		h.logger.Warn("the sandbox could not be tested", "error", err)
		return nil
	}
	var got []string
	for _, r := range report.Broken(o.Mode(), isolation.MachineOffers()) {
		got = append(got, r.Protection+" ("+r.Got+")")
	}
	if len(got) == 0 {
		return nil
	}
	return fmt.Errorf("the sandbox does not hold on this machine: the self-test got through %s; `picoclaw doctor` says more, "+
		"and isolation.enabled: false does without it", strings.Join(got, ", "))
}
