// Package doctor reports which protections work on this machine, and how to enable the others.
//
// It builds the sandbox of an agent's policy and runs the self-test in it (isolation/selftest), so it reports results
// of attacks, not settings.
//
// It must not know how calls are made, or how its report is shown.
package doctor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/hashicorp/go-hclog"

	"github.com/picoclaw/picoclaw/host/killswitch"
	"github.com/picoclaw/picoclaw/host/policy"
	"github.com/picoclaw/picoclaw/isolation"
	"github.com/picoclaw/picoclaw/isolation/selftest"
)

// ProtectionState says whether a protection works.
type ProtectionState string

// The states.
const (
	On         ProtectionState = "on"
	Off        ProtectionState = "off"        // not configured, or broken
	Impossible ProtectionState = "impossible" // not supported by this machine
)

// Finding is the state of one protection, with reason and remedy.
type Finding struct {
	Protection string          `json:"wall"`
	State      ProtectionState `json:"state"`
	Why        string          `json:"why"`
	Fix        string          `json:"fix,omitempty"` // a command or setting that enables it
}

// Report has the state of all protections.
type Report struct {
	Agent string `json:"agent"`
	// OK is false if a configured protection does not work.
	OK       bool      `json:"ok"`
	Findings []Finding `json:"walls"`
}

func (r *Report) addFinding(protection string, state ProtectionState, why, fix string) {
	r.Findings = append(r.Findings, Finding{Protection: protection, State: state, Why: why, Fix: fix})
}

// Options are the inputs of an examination.
type Options struct {
	Policy *policy.Policy
	// SelfTest is the command that runs the attacks: see selftest.Options.
	SelfTest []string
	Logger   hclog.Logger
}

// examination collects the findings of a report.
type examination struct {
	Options
	report  *Report
	machine isolation.KernelFeatures
	iso     *isolation.Starter // nil if the configured sandbox is unavailable
}

// Examine tests the protections of an agent's policy on this machine.
func Examine(ctx context.Context, o Options) (*Report, error) {
	e := &examination{Options: o, report: &Report{Agent: o.Policy.AgentID(), OK: true}, machine: isolation.DetectFeatures()}
	e.checkSandbox()
	e.checkLandlock()
	e.checkCommandConfinement()
	e.checkSeccompFilter()
	e.checkTmpDirLength()
	e.checkCgroups()
	if e.iso != nil {
		defer func() { _ = e.iso.Close() }()
		if err := e.runAttacks(ctx); err != nil {
			return nil, err
		}
	}
	e.checkPathPatterns()
	e.checkNotRoot()
	e.checkStopAndStateFiles()
	return e.report, nil
}

// checkSandbox reports whether sandboxes work on this machine, even if the configuration disables them.
func (e *examination) checkSandbox() {
	const name = "sandbox"
	in := e.Policy.IsolationOptions()
	iso, err := e.newIsolationStarter(true)
	var cant *isolation.UnavailableError
	switch {
	case err == nil && in.Enabled:
		e.iso = iso
		made := "each plugin has its own namespaces and mount view, created by bubblewrap"
		if runtime.GOOS == "windows" {
			made = "each plugin has a restricted token, low integrity and a job object, which restrict neither reading nor the network"
		}
		e.report.addFinding(name, On, made, "")
		return
	case err == nil:
		_ = iso.Close()
		e.report.addFinding(name, Off, "isolation.enabled is false; this machine supports it", "set isolation.enabled to true")
	case errors.As(err, &cant):
		e.report.addFinding(name, Impossible, describeUnavailability(cant), cant.Cure)
	default:
		e.report.addFinding(name, Off, err.Error(), "")
	}
	if in.Enabled {
		e.report.OK = false // nothing starts
		return
	}
	if e.Policy.GuardPolicy().Restrict {
		e.iso, _ = e.newIsolationStarter(false) // fails only if the home does not exist
	}
}

func (e *examination) newIsolationStarter(enabled bool) (*isolation.Starter, error) {
	var rules []isolation.ExposedPath
	if enabled {
		rules = e.Policy.IsolationOptions().ExposePaths
	}
	return isolation.NewStarter(isolation.Config{Enabled: enabled, Home: e.Policy.HomePath(), ExposePaths: rules, UseCgroups: true},
		e.Logger)
}

func describeUnavailability(u *isolation.UnavailableError) string {
	if u.Err == nil {
		return u.Cause
	}
	return u.Cause + ": " + u.Err.Error()
}

// Remedies for a missing or old Landlock.
const (
	getLandlock = "use Linux 5.13 or later, with landlock among the names in its boot parameter lsm="
	getScope    = "use Linux 6.12 or later"
)

// restrict is the remedy if the configuration disables Landlock and the system call filter.
const restrict = "set agents.defaults.restrict_to_workspace to true"

func (e *examination) checkLandlock() {
	const name = "Landlock"
	version := fmt.Sprintf("version %d", e.machine.Landlock)
	switch {
	case e.machine.Landlock == 0:
		e.report.addFinding(name, Impossible, "the kernel does not have it, or it is disabled at boot", getLandlock)
	case !e.Policy.GuardPolicy().Restrict:
		e.report.addFinding(name, Off, "restrict_to_workspace is false; this kernel has "+version, restrict)
	case e.machine.Landlock < isolation.LandlockScope:
		e.report.addFinding(name, On, version+", which does not confine signals and abstract sockets", getScope)
	case e.Policy.IsolationOptions().Enabled:
		e.report.addFinding(name, On, version+", behind the mount view", "")
	default:
		e.report.addFinding(name, On, version+"; without a sandbox it does not prevent looking at names, sizes and modes, changing modes, "+
			"or connecting to sockets with a path", "")
	}
}

// checkCommandConfinement reports commands that only the guard restricts.
func (e *examination) checkCommandConfinement() {
	if !e.Policy.GuardPolicy().Restrict || e.Policy.IsolationOptions().Enabled || isolation.SupportsConfine() {
		return
	}
	e.report.addFinding("commands", Off, "neither a sandbox nor Landlock confines them, so the guard uses its strict profile and background commands "+
		"take no input", "set isolation.enabled to true; or "+getLandlock)
}

func (e *examination) checkSeccompFilter() {
	const name = "seccomp filter"
	switch in := e.Policy.IsolationOptions(); {
	case !e.machine.Filter:
		e.report.addFinding(name, Impossible, "there is none for this architecture", "use an x86-64 or 64-bit ARM machine")
	case in.Enabled || e.Policy.GuardPolicy().Restrict:
		e.report.addFinding(name, On, "it refuses system calls that ordinary programs do not need", "")
	default:
		e.report.addFinding(name, Off, "neither isolation.enabled nor restrict_to_workspace is true",
			"set isolation.enabled to true")
	}
}

// maxTemporary limits the length of TMPDIR in bytes. Socket paths have at most 107 bytes, and programs need the rest.
const maxTemporary = 60

// checkTmpDirLength warns of a long TMPDIR outside sandboxes, where it is /tmp.
func (e *examination) checkTmpDirLength() {
	dir := isolation.UserEnvironment(e.Policy.HomePath(), e.Policy.Digest()[:16])["TMPDIR"]
	if e.Policy.IsolationOptions().Enabled || len(dir) <= maxTemporary {
		return
	}
	e.report.addFinding("socket paths", Off, fmt.Sprintf("TMPDIR of commands is %s, %d bytes long, which is too long for the sockets of programs such as Chromium",
		dir, len(dir)), "set isolation.enabled to true; or move the home to a shorter path with PICOCLAW_HOME")
}

// runAttacks runs the self-test, and adds a finding for each protection.
func (e *examination) runAttacks(ctx context.Context) error {
	if !selftest.IsSupported {
		e.report.addFinding("self-test", Impossible,
			"there are no attacks for this system; this report shows settings only", "use Linux")
		return nil
	}
	options := selftest.Options{
		Isolation: e.iso, Network: e.Policy.IsolationOptions().Network && e.Policy.NetworkRules() == nil, Command: e.SelfTest,
		Dir: filepath.Join(e.Policy.HomePath(), "cache"),
	}
	report, err := selftest.RunSelfTest(ctx, options)
	if err != nil {
		return err
	}
	for n, p := range selftest.Protections {
		e.addAttackFinding(p, report.Results[n], options.ConfinementMode())
	}
	return nil
}

func (e *examination) addAttackFinding(p selftest.Protection, result selftest.AttackResult, mode selftest.ConfinementMode) {
	missing := p.MissingRequirement(mode, e.machine)
	switch {
	case mode.Sandboxed && !e.Policy.GuardPolicy().Restrict && p.Name == "open directories":
		e.report.addFinding(p.Name, Off, "restrict_to_workspace is false, which switches Landlock off", restrict)
	case result.IsBlocked():
		e.report.addFinding(p.Name, On, "the self-test could not "+p.Attack, "")
	case p.Name == "network" && mode.Network:
		e.report.addFinding(p.Name, Off, "isolation.network is true: plugins with the network grant, including commands, use the host's network",
			"set isolation.network to false, or list hosts in network.allow")
	case missing != "":
		e.report.addFinding(p.Name, Impossible, missing, e.findRemedy(mode))
	default:
		e.report.OK = false
		e.report.addFinding(p.Name, Off, "the self-test was able to "+p.Attack+": "+result.Got,
			"report this with the output of `uname -a`")
	}
}

// findRemedy returns the change that makes an unsupported protection available.
func (e *examination) findRemedy(mode selftest.ConfinementMode) string {
	switch {
	case !mode.Sandboxed:
		return "set isolation.enabled to true"
	case e.machine.Landlock == 0:
		return getLandlock
	}
	return getScope
}

// checkPathPatterns reports path patterns that open the whole file system to sandboxes.
func (e *examination) checkPathPatterns() {
	open := e.Policy.KernelPaths().Unanchored
	if len(open) == 0 || !e.Policy.GuardPolicy().Restrict {
		return
	}
	e.report.addFinding("mount view", Off,
		"the sandbox opens the whole file system, since these patterns begin with no directory: "+
			strings.Join(open, ", "), "begin each pattern with ^ and a directory, such as ^/usr/share/")
}

// checkStopAndStateFiles reports a stop of the agent, and state files that other users can change.
func (e *examination) checkStopAndStateFiles() {
	home := e.Policy.HomePath()
	if stop := killswitch.ReadStopOfAgent(home, e.Policy.AgentID()); stop != nil {
		e.report.addFinding("agent", Off, stop.String(), "`"+stop.CommandToResume()+"`")
	}
	for _, name := range []string{"stopped.json", "stopped.reserve", "trusted.json", "files.json", "picoclaw.lock", "logs/audit.jsonl"} {
		path := filepath.Join(home, name)
		if info, err := os.Lstat(path); err == nil && runtime.GOOS != "windows" && info.Mode().Perm()&0o022 != 0 {
			e.report.addFinding("state files", Off, fmt.Sprintf("other users can change %s (mode %04o)", path, info.Mode().Perm()), "chmod 600 "+path)
		}
	}
}

// checkNotRoot warns if the host runs as root.
func (e *examination) checkNotRoot() {
	switch uid := os.Geteuid(); {
	case uid < 0: // this system has no user ids
	case uid == 0:
		e.report.addFinding("unprivileged host", Off, "picoclaw runs as root: an attacker who passes every layer has root's rights",
			"run picoclaw as its own user")
	default:
		e.report.addFinding("unprivileged host", On, fmt.Sprintf("picoclaw runs as uid %d", uid), "")
	}
}

// checkCgroups reports the limits that control groups enforce. Without groups, picoclaw checks limits periodically.
func (e *examination) checkCgroups() {
	const name = "control groups"
	if e.iso == nil {
		if !e.Policy.IsolationOptions().Enabled {
			e.report.addFinding(name, Off, "neither isolation.enabled nor restrict_to_workspace is true",
				"set isolation.enabled to true")
		}
		return // nothing starts, as checkSandbox reported
	}
	g := e.iso.CgroupSupport()
	e.report.addFinding(name, cgroupState(g), describeCgroups(g), g.Cure)
}

func cgroupState(g isolation.CgroupSupport) ProtectionState {
	switch {
	case len(g.Bounds) > 0:
		return On
	case g.Never:
		return Impossible
	}
	return Off
}

func describeCgroups(g isolation.CgroupSupport) string {
	var does []string
	if len(g.Bounds) > 0 {
		does = append(does, "the kernel limits each plugin with all its commands: "+strings.Join(g.Bounds, ", "))
	}
	if g.Kill {
		does = append(does, "kills all of them at once")
	}
	if g.Cause != "" {
		does = append(does, g.Cause)
	}
	if len(g.Bounds) == 0 && g.Cure != "" {
		does = append(does, "picoclaw checks limits every 10 to 100 ms; the kernel enforces rlimits of single processes")
	}
	return strings.Join(does, "; ")
}
