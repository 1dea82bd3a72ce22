package isolation

import (
	"fmt"
	"net"
	"path/filepath"
	"strings"

	"github.com/picoclaw/picoclaw/internal/limits"
	"github.com/picoclaw/picoclaw/internal/mutation"
	"github.com/picoclaw/picoclaw/internal/paths"
	"github.com/picoclaw/picoclaw/isolation/internal/cgroup"
)

// Profile describes the access of one child. It comes from policy and grants, never from an agent's input.
type Profile struct {
	// Name appears in logs and messages.
	Name string
	// ReadOnly and ReadWrite are host paths that the child sees at the same
	// place. Each must exist, be absolute, and not pass through a symbolic
	// link: resolve it once when the policy is made, so that a link that is
	// put there later is refused instead of followed. A read-only path below
	// a read-write one stays protected, also against renaming its parents.
	ReadOnly  []string
	ReadWrite []string
	// Elsewhere are host directories that the child of a sandbox sees,
	// read-write, at places of their own: the keys. They are for what a child
	// has below a directory that it opens to its own children, such as /tmp.
	Elsewhere map[string]string `json:",omitempty"`
	// Links are symlinks that a sandbox has, by their paths, with their targets,
	// unless a directory that it sees has them already. They open nothing.
	Links map[string]string `json:",omitempty"`
	// Protect finds what exists below the read-write paths and is to stay as it
	// is, with the names of the directories on the way to it. It is asked each
	// time that a sandbox is made, and holds for that sandbox. Without one it
	// does nothing: Landlock can't take away from what it gives.
	Protect func() ([]string, error) `json:"-"`
	// Exec lets the child start programs: it sees the system directories
	// (/usr, /bin, /lib* and public files of /etc) read-only, /proc, a minimal
	// /dev, and a private /tmp unless the paths name /tmp itself. Without it,
	// none of those exist, and the child must be statically linked.
	Exec bool
	// Programs, if there are any, are the only programs of the system's that
	// the child may start: names or absolute paths. Landlock holds it to them,
	// so it takes Confine and a kernel that has it; what a machine lacks is
	// left out.
	Programs []string
	// Terminals lets the child make terminals. A sandbox has its own; without
	// one it can open the user's others then, and read what is typed there.
	Terminals bool
	// Nested says that this process is in a sandbox, with processes, shared
	// memory and terminals of its own, which the child shares.
	Nested bool
	// Network gives the child the host's network; without it, it has none.
	Network bool
	// Proxied gives it a network of its own instead, which leads to this
	// process alone. It takes Config.Enabled.
	Proxied *ProxiedNetwork `json:",omitempty"`
	// Confine holds the child to the profile by what needs nothing installed,
	// Landlock, no_new_privs and fewer capabilities, where no sandbox does.
	// A kernel without Landlock starts the child unconfined, and the log says
	// so.
	Confine bool
	// Hide are directories that stay invisible also below a visible path. The
	// instance root is always one of them.
	Hide []string
	// EndsItself says that the child ends everything it has started when it
	// gets SIGTERM. It is then sent that when this process dies, where there
	// is no pid namespace whose end is the end of all; killed at once, it
	// could not clear up behind itself. If its standard input is a pipe whose
	// other end this process alone holds, it is continued besides, should it
	// be stopped.
	EndsItself bool
	// Notice, if set, is called before each file change by the child or a
	// descendant, one at a time. If it returns an error, the change fails. It
	// requires Confine and kernel support; without them, it gets an Unseen change.
	Notice func(mutation.FileMutation) error `json:"-"`
	// Limits bound what the child and its descendants may use.
	Limits ProcessLimits
	// Group bounds what they use together, whoever else bounds what. It takes
	// Config.Groups.
	Group GroupLimits
	// UserEnvDir redirects HOME, TMPDIR and XDG_* into
	// <home>/runtime-user-env, which is then read-write for the child.
	UserEnv bool
	// UserEnvID names a directory of its own below runtime-user-env, so that
	// children with different rights do not meet there. Empty means
	// runtime-user-env itself.
	UserEnvID string

	// temporary is the directory of the user environment that a sandbox has as
	// its /tmp, whose short name leaves room for the names of sockets.
	temporary string
}

// PrivateDirs returns the directories that are private and writable in every sandbox.
func PrivateDirs() []string { return []string{"/tmp", "/dev/shm"} }

// allowsAnyProgram reports whether the child may start any program.
func (p Profile) allowsAnyProgram() bool { return p.Exec && len(p.Programs) == 0 }

// normalizeProfile checks p, and returns it with clean paths.
func (p Profile) normalizeProfile() (Profile, error) {
	if p.Name == "" {
		p.Name = "unnamed"
	}
	for _, list := range []*[]string{&p.ReadOnly, &p.ReadWrite, &p.Hide} {
		clean := make([]string, len(*list))
		for n, path := range *list {
			if err := checkPath(path); err != nil {
				return p, &ProfileError{Profile: p.Name, Problem: "has a path that cannot be used: " + err.Error()}
			}
			clean[n] = filepath.Clean(path)
		}
		*list = clean
	}
	if id := p.UserEnvID; id != "" && (id == "." || id == ".." || strings.ContainsAny(id, "/\\\x00")) {
		return p, &ProfileError{Profile: p.Name, Path: id, Problem: "cannot name a user environment",
			Cure: "use a plain name without separators"}
	}
	return p, nil
}

// ProcessLimits limit a child and its descendants. Zero means no limit.
//
// Processes, Memory and CPU apply to the whole tree. The tree is checked periodically and killed when it exceeds them,
// so it can exceed them for a moment. FileSize and OpenFiles apply to each process, and the kernel enforces them.
type ProcessLimits = limits.ProcessLimits

// GroupLimits limit a child with all its descendants, including separately confined commands. The kernel enforces them
// with a control group, where possible. Zero means no limit.
type GroupLimits = cgroup.GroupLimits

// checkPath refuses invalid sandbox paths.
func checkPath(path string) error {
	switch {
	case strings.ContainsRune(path, 0):
		return fmt.Errorf("%q holds a NUL byte", path)
	case !filepath.IsAbs(path):
		return fmt.Errorf("%q is not an absolute path", path)
	}
	return nil
}

// isStrictlyBelow reports whether path is strictly below dir.
func isStrictlyBelow(dir, path string) bool { return path != dir && paths.Within(dir, path) }

// ProxiedNetwork is a network that leads only to this process. Its port 53 resolves names, and this process accepts
// the connections to its ports. So Serve decides which hosts are reachable.
type ProxiedNetwork struct {
	// Name is equal for networks that may share a process.
	Name string
	// Ports are the TCP ports to listen on, on all addresses in 127.0.0.0/8.
	Ports []uint16
	// Serve receives the listeners while the child starts, and returns a function that is called when the child has
	// ended and the listeners are closed.
	Serve func(NetworkListeners) (end func()) `json:"-"`
	// Certificates, if any, are trusted PEM certificates for the child, at [CertificatesPath].
	Certificates []byte `json:"-"`
}

// ProxyAddress is the address of the HTTP proxy in a [ProxiedNetwork].
const ProxyAddress = "127.0.0.1:3128"

// CertificatesPath is the path of the trusted certificates in a sandbox.
const CertificatesPath = "/etc/picoclaw-certificates.pem"

// NetworkListeners are the sockets that accept connections in a child's network.
type NetworkListeners struct {
	Proxy net.Listener   // at [ProxyAddress]
	Ports []net.Listener // at each of the ports, in their order
	Names net.PacketConn // at 127.0.0.1:53

	// Room is how many connections this process has descriptors for, beside all else that it has open: each takes two.
	Room int
}

// Close closes all listeners.
func (l NetworkListeners) Close() {
	for _, one := range append([]net.Listener{l.Proxy}, l.Ports...) {
		_ = one.Close()
	}
	_ = l.Names.Close()
}
