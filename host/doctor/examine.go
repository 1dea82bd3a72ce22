// Package doctor says which walls stand between an agent and this machine, and what would raise the others.
//
// It reads the agent's policy, builds the sandbox that the policy asks for, and has it attacked (isolation/selftest):
// what it reports is what holds, not what is configured. It also says of one path which of the walls would let it
// through.
//
// It must not know how calls are made, nor how what it says is shown.
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

	"github.com/picoclaw/picoclaw/host/policy"
	"github.com/picoclaw/picoclaw/isolation"
	"github.com/picoclaw/picoclaw/isolation/selftest"
)

// State is whether a wall stands.
type State string

// The states.
const (
	On         State = "on"
	Off        State = "off"        // the configuration does not ask for it, or it does not hold
	Impossible State = "impossible" // this machine can't have it
)

// Row is what there is to say of one wall.
type Row struct {
	Wall  string `json:"wall"`
	State State  `json:"state"`
	Why   string `json:"why"`
	Fix   string `json:"fix,omitempty"` // what would raise it: a command, or a setting
}

// Report is what there is to say of all.
type Report struct {
	Agent string `json:"agent"`
	// OK is false if something that the configuration asks for does not hold.
	OK   bool  `json:"ok"`
	Rows []Row `json:"walls"`
}

func (r *Report) add(wall string, state State, why, fix string) {
	r.Rows = append(r.Rows, Row{Wall: wall, State: state, Why: why, Fix: fix})
}

// Options say what is examined.
type Options struct {
	Policy *policy.Policy
	// SelfTest is the command that attacks a sandbox from inside: see selftest.Options.
	SelfTest []string
	Logger   hclog.Logger
}

// examination is a report in the making.
type examination struct {
	Options
	report  *Report
	machine isolation.Offers
	iso     *isolation.Isolation // nil where the sandbox that was asked for can't be had
}

// Examine looks at this machine with an agent's policy in mind.
func Examine(ctx context.Context, o Options) (*Report, error) {
	e := &examination{Options: o, report: &Report{Agent: o.Policy.Agent(), OK: true}, machine: isolation.MachineOffers()}
	e.sandbox()
	e.landlock()
	e.commands()
	e.filter()
	e.groups()
	if e.iso != nil {
		defer func() { _ = e.iso.Close() }()
		if err := e.attacks(ctx); err != nil {
			return nil, err
		}
	}
	e.whitelists()
	e.user()
	return e.report, nil
}

// sandbox finds out whether there can be one, and says so whether or not one was asked for.
func (e *examination) sandbox() {
	const wall = "sandbox"
	in := e.Policy.Isolation()
	iso, err := e.configure(true)
	var cant *isolation.Unavailable
	switch {
	case err == nil && in.Enabled:
		e.iso = iso
		made := "each plugin has namespaces and a mount view of its own, made by bubblewrap"
		if runtime.GOOS == "windows" {
			made = "each plugin has a restricted token, low integrity and a job of its own, which stops neither reading nor the network"
		}
		e.report.add(wall, On, made, "")
		return
	case err == nil:
		_ = iso.Close()
		e.report.add(wall, Off, "isolation.enabled is false; this machine could have it", "set isolation.enabled to true")
	case errors.As(err, &cant):
		e.report.add(wall, Impossible, cause(cant), cant.Cure)
	default:
		e.report.add(wall, Off, err.Error(), "")
	}
	if in.Enabled {
		e.report.OK = false // nothing starts
		return
	}
	if e.Policy.Guard().Restrict {
		e.iso, _ = e.configure(false) // without a sandbox there is nothing to fail but the instance root, which was made
	}
}

func (e *examination) configure(enabled bool) (*isolation.Isolation, error) {
	var rules []isolation.ExposePath
	if enabled {
		rules = e.Policy.Isolation().ExposePaths
	}
	return isolation.Configure(isolation.Config{Enabled: enabled, Home: e.Policy.Home(), ExposePaths: rules, Groups: true},
		e.Logger)
}

func cause(u *isolation.Unavailable) string {
	if u.Err == nil {
		return u.Cause
	}
	return u.Cause + ": " + u.Err.Error()
}

// What would bring Landlock, and all of it.
const (
	getLandlock = "use Linux 5.13 or later, with landlock among the names in its boot parameter lsm="
	getScope    = "use Linux 6.12 or later"
)

// restrict is what switches Landlock and the filter off.
const restrict = "set agents.defaults.restrict_to_workspace to true"

func (e *examination) landlock() {
	const wall = "Landlock"
	version := fmt.Sprintf("version %d", e.machine.Landlock)
	switch {
	case e.machine.Landlock == 0:
		e.report.add(wall, Impossible, "the kernel has none, or it is switched off", getLandlock)
	case !e.Policy.Guard().Restrict:
		e.report.add(wall, Off, "restrict_to_workspace is false; this kernel has "+version, restrict)
	case e.machine.Landlock < isolation.LandlockScope:
		e.report.add(wall, On, version+", which does not keep signals and abstract sockets inside", getScope)
	case e.Policy.Isolation().Enabled:
		e.report.add(wall, On, version+", behind the mount view", "")
	default:
		e.report.add(wall, On, version+"; without a sandbox it does not stop who looks at names, sizes and modes, changes a mode, "+
			"or connects to a socket that has a path", "")
	}
}

// commands says so where only the guard stands between a command and this machine.
func (e *examination) commands() {
	if !e.Policy.Guard().Restrict || e.Policy.Isolation().Enabled || isolation.KernelConfines() {
		return
	}
	e.report.add("commands", Off, "no wall of the kernel's confines them, so the guard is in its strict profile and nothing can be "+
		"written to a background command", "set isolation.enabled to true; or "+getLandlock)
}

func (e *examination) filter() {
	const wall = "system call filter"
	switch in := e.Policy.Isolation(); {
	case !e.machine.Filter:
		e.report.add(wall, Impossible, "there is none for this architecture", "use an x86-64 or 64-bit ARM machine")
	case in.Enabled || e.Policy.Guard().Restrict:
		e.report.add(wall, On, "what no ordinary program asks the kernel for is refused", "")
	default:
		e.report.add(wall, Off, "neither isolation.enabled nor restrict_to_workspace is true",
			"set isolation.enabled to true")
	}
}

// attacks has the sandbox attacked, and says of each wall whether it held.
func (e *examination) attacks(ctx context.Context) error {
	if !selftest.Possible {
		e.report.add("self-test", Impossible,
			"there are no attacks for this system, so that what is said here is what is configured", "use Linux")
		return nil
	}
	options := selftest.Options{
		Isolation: e.iso, Network: e.Policy.Isolation().Network && e.Policy.Network() == nil, Command: e.SelfTest,
		Dir: filepath.Join(e.Policy.Home(), "cache"),
	}
	report, err := selftest.Check(ctx, options)
	if err != nil {
		return err
	}
	for n, wall := range selftest.Walls {
		e.attacked(wall, report.Results[n], options.Mode())
	}
	return nil
}

func (e *examination) attacked(wall selftest.Wall, result selftest.Result, mode selftest.Mode) {
	missing := wall.Missing(mode, e.machine)
	switch {
	case mode.Sandboxed && !e.Policy.Guard().Restrict && wall.Name == "second wall":
		e.report.add(wall.Name, Off, "restrict_to_workspace is false, and Landlock off with it", restrict)
	case result.Held():
		e.report.add(wall.Name, On, "the self-test could not "+wall.Attack, "")
	case wall.Name == "network" && mode.Network:
		e.report.add(wall.Name, Off, "isolation.network is true: plugins with the network grant, commands among them, use the host's",
			"set isolation.network to false, or the hosts that they reach with network.allow")
	case missing != "":
		e.report.add(wall.Name, Impossible, missing, e.cure(mode))
	default:
		e.report.OK = false
		e.report.add(wall.Name, Off, "the self-test could "+wall.Attack+", and got "+result.Got,
			"report this with the output of `uname -a`")
	}
}

// cure is what helps a wall that this machine can't have the way things are.
func (e *examination) cure(mode selftest.Mode) string {
	switch {
	case !mode.Sandboxed:
		return "set isolation.enabled to true"
	case e.machine.Landlock == 0:
		return getLandlock
	}
	return getScope
}

// whitelists names the patterns that open the kernel's wall further than they look.
func (e *examination) whitelists() {
	open := e.Policy.KernelPaths().Open
	if len(open) == 0 || !e.Policy.Guard().Restrict {
		return
	}
	e.report.add("mount view", Off,
		"the whole file system is open to the kernel's wall, since these patterns begin with no directory: "+
			strings.Join(open, ", "), "begin each pattern with ^ and a directory, such as ^/usr/share/")
}

// user warns of a host that has more to lose than it needs.
func (e *examination) user() {
	switch uid := os.Geteuid(); {
	case uid < 0: // this system has none
	case uid == 0:
		e.report.add("unprivileged host", Off, "picoclaw runs as root: what gets past every wall is root's",
			"run picoclaw as a user of its own")
	default:
		e.report.add("unprivileged host", On, fmt.Sprintf("picoclaw runs as uid %d", uid), "")
	}
}
