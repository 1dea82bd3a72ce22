package selftest

import (
	"github.com/picoclaw/picoclaw/isolation"
)

// Wall is one thing that a sandbox keeps apart.
type Wall struct {
	Name   string
	Attack string // what the self-test tries, in words

	sandbox, confined need // what it takes to hold, in a sandbox and for a confined process without one
}

// Mode is how processes are held.
type Mode struct {
	Sandboxed bool // in a sandbox; confined without one otherwise
	Network   bool // with the host's network
}

// Walls are what is attacked.
var Walls = []Wall{
	{"files", "read and write a file that was not granted", always, landlock},
	{"system", "write to the system's directories", always, landlock},
	{"second wall", "go on from a directory that is open by mistake", landlock, landlock},
	{"descriptors", "find an open file that nobody handed over", always, always},
	{"environments", "read another process's environment", always, landlock},
	{"processes", "signal the host", always, scope},
	{"capabilities", "have root's privileges", always, always},
	{"user namespaces", "get privileges in a namespace of its own", always, callFilter},
	{"system calls", "reach keys, bpf, io_uring and other doors into the kernel", callFilter, callFilter},
	{"network", "connect to a server on this machine", always, callFilter},
	{"abstract sockets", "connect to a socket that has no path", always, scope},
	{"virtual sockets", "reach the machine below this one (AF_VSOCK)", callFilter, callFilter},
}

// need is what a wall takes.
type need int

const (
	always     need = iota
	landlock        // any version of it
	scope           // a version that keeps signals and abstract sockets inside
	callFilter      // a filter of system calls
	never           // it is open on purpose
)

func (w Wall) needs(m Mode) need {
	switch {
	case m.Network && w.Name == "network":
		return never
	case !m.Sandboxed, m.Network && w.Name == "abstract sockets":
		return w.confined
	}
	return w.sandbox
}

func (n need) met(machine isolation.Offers) bool {
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

// Missing says in words what the wall would take and this machine does not have; empty if nothing.
func (w Wall) Missing(m Mode, machine isolation.Offers) string {
	n := w.needs(m)
	switch {
	case n.met(machine):
		return ""
	case n == landlock:
		return "the kernel has no Landlock"
	case n == never:
		return "it is the host's network"
	case n == scope:
		return "the kernel's Landlock does not keep signals and sockets inside: Linux 6.12 is the first that does"
	}
	return "there is no filter of system calls for this architecture"
}

// Report is how a sandbox took the attacks.
type Report struct {
	Identity string   `json:"identity"` // what was attacked: see Check
	Results  []Result `json:"results"`  // in the order of Walls
}

// Result is how one attack ended.
type Result struct {
	Wall string `json:"wall"`          // the name of what was attacked
	Got  string `json:"got,omitempty"` // what was got; empty if it held
}

// Held reports whether the attack came to nothing.
func (r Result) Held() bool { return r.Got == "" }

// Broken returns the walls that this machine could have, and that did not hold.
func (r *Report) Broken(m Mode, machine isolation.Offers) []Result {
	var broken []Result
	for n, wall := range Walls {
		if result := r.Results[n]; !result.Held() && wall.needs(m).met(machine) {
			broken = append(broken, result)
		}
	}
	return broken
}

// complete reports whether the report is about the walls that there are now.
func (r *Report) complete() bool {
	if len(r.Results) != len(Walls) {
		return false
	}
	for n, wall := range Walls {
		if r.Results[n].Wall != wall.Name {
			return false
		}
	}
	return true
}
