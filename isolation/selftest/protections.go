package selftest

import (
	"github.com/picoclaw/picoclaw/isolation"
)

// Protection is one property that a sandbox enforces.
type Protection struct {
	Name   string
	Attack string // what the self-test tries, as a verb phrase

	sandbox, confined protectionRequirement // requirement in a sandbox, and for a process confined by Landlock alone
}

// ConfinementMode says how the attacked processes are confined.
type ConfinementMode struct {
	Sandboxed bool // in a sandbox; confined without one otherwise
	Network   bool // with the host's network
}

// Protections lists the attacked protections in the order of their report.
var Protections = []Protection{
	{"files", "read and write a file that was not granted", always, landlock},
	{"system", "write to the system's directories", always, landlock},
	{"open directories", "reach files through a directory that was left open", landlock, landlock},
	{"descriptors", "use a file descriptor that it was not given", always, always},
	{"environments", "read another process's environment", always, landlock},
	{"processes", "signal the host", always, scope},
	{"capabilities", "use root's privileges", always, always},
	{"user namespaces", "gain privileges in a new user namespace", always, callFilter},
	{"system calls", "use keys, bpf, io_uring and other risky kernel interfaces", callFilter, callFilter},
	{"network", "connect to a server on this machine", always, callFilter},
	{"abstract sockets", "connect to an abstract socket", always, scope},
	{"virtual sockets", "connect to the hypervisor (AF_VSOCK)", callFilter, callFilter},
}

// protectionRequirement is a kernel feature or mode without which a protection can't hold.
type protectionRequirement int

const (
	always     protectionRequirement = iota
	landlock                         // any version
	scope                            // a version that confines signals and abstract sockets
	callFilter                       // a seccomp filter
	never                            // disabled by the configuration
)

func (p Protection) requirementIn(m ConfinementMode) protectionRequirement {
	switch {
	case m.Network && p.Name == "network":
		return never
	case !m.Sandboxed, m.Network && p.Name == "abstract sockets":
		return p.confined
	}
	return p.sandbox
}

func (n protectionRequirement) isMet(machine isolation.KernelFeatures) bool {
	switch n {
	case landlock:
		return machine.Landlock > 0
	case scope:
		return machine.Landlock >= isolation.LandlockScope
	case callFilter:
		return machine.Filter
	case never:
		return false
	}
	return true
}

// MissingRequirement returns the requirement of the protection that this machine lacks; empty if none.
func (p Protection) MissingRequirement(m ConfinementMode, machine isolation.KernelFeatures) string {
	n := p.requirementIn(m)
	switch {
	case n.isMet(machine):
		return ""
	case n == landlock:
		return "the kernel has no Landlock"
	case n == never:
		return "it is the host's network"
	case n == scope:
		return "the kernel's Landlock does not confine signals and sockets; Linux 6.12 does"
	}
	return "there is no seccomp filter for this architecture"
}

// Report is the result of all attacks on a sandbox.
type Report struct {
	Identity string         `json:"identity"` // the tested sandbox: see RunSelfTest
	Results  []AttackResult `json:"results"`  // in the order of Protections
}

// AttackResult is the result of the attack on one protection.
type AttackResult struct {
	Protection string `json:"wall"`
	Got        string `json:"got,omitempty"` // what was got; empty if it held
}

// IsBlocked reports whether the protection held, so that the attack failed.
func (r AttackResult) IsBlocked() bool { return r.Got == "" }

// BrokenProtections returns the results of protections that this machine supports and an attack broke.
func (r *Report) BrokenProtections(m ConfinementMode, machine isolation.KernelFeatures) []AttackResult {
	var broken []AttackResult
	for n, p := range Protections {
		if result := r.Results[n]; !result.IsBlocked() && p.requirementIn(m).isMet(machine) {
			broken = append(broken, result)
		}
	}
	return broken
}

// isComplete reports whether the report covers all of Protections.
func (r *Report) isComplete() bool {
	if len(r.Results) != len(Protections) {
		return false
	}
	for n, p := range Protections {
		if r.Results[n].Protection != p.Name {
			return false
		}
	}
	return true
}
