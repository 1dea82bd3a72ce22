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
	// path. Each must exist, be absolute, and contain no symlink: resolve
	// symlinks when you create the policy, so that a later symlink is refused
	// and not followed. A read-only path below a read-write one stays
	// protected, also against renaming its parents.
	ReadOnly  []string
	ReadWrite []string
	// Elsewhere are host directories that a sandbox shows read-write at other
	// paths, the keys. They are for private files of the child below a
	// directory that its own children may use, such as /tmp.
	Elsewhere map[string]string `json:",omitempty"`
	// Links are symlinks to create in a sandbox: targets by path. A symlink is
	// left out if a mounted directory contains the path. Links grant no access.
	Links map[string]string `json:",omitempty"`
	// Protect returns the existing paths below the read-write paths that must
	// not change, with the directories above them. It is called for each new
	// sandbox. Without a sandbox it has no effect, since Landlock can't exclude
	// parts of a granted directory.
	Protect func() ([]string, error) `json:"-"`
	// Exec lets the child start programs: it sees the system directories
	// (/usr, /bin, /lib* and public files of /etc) read-only, /proc, a minimal
	// /dev, and a private /tmp unless the paths name /tmp itself. Without it,
	// none of those exist, and the child must be statically linked.
	Exec bool
	// Programs, if any, are the only system programs that the child may start:
	// names or absolute paths. A directory, which the paths must include, stands
	// for all programs in it. Landlock enforces this, so it requires Confine and
	// kernel support. Missing programs are ignored.
	Programs []string
	// Terminals lets the child create terminals. Without a sandbox, the child
	// can then open the user's other terminals and read what is typed there.
	Terminals bool
	// Nested says that this process itself runs in a sandbox. The child shares
	// that sandbox's processes, shared memory and terminals.
	Nested bool
	// Network gives the child the host's network; without it, it has none.
	Network bool
	// Proxied gives the child its own network, which leads only to this
	// process. It requires Config.Enabled.
	Proxied *ProxiedNetwork `json:",omitempty"`
	// Confine enforces the profile without a sandbox, by Landlock, no_new_privs
	// and fewer capabilities, which need no installed program. On a kernel
	// without Landlock, the child starts unconfined and a warning is logged.
	Confine bool
	// Hide are directories that stay invisible, also below a visible path. The
	// home is always one of them.
	Hide []string
	// EndsItself says that the child ends its descendants when it gets SIGTERM.
	// Without a sandbox, the child then gets SIGTERM and not SIGKILL when this
	// process dies. If its standard input is a pipe whose other end only this
	// process holds, a stopped child is continued, too.
	EndsItself bool
	// Notice, if set, is called before each file change by the child or a
	// descendant, one at a time. If it returns an error, the change fails. It
	// requires Confine and kernel support; without them, it gets one change with Err.
	Notice func(mutation.FileMutation) error `json:"-"`
	// Limits are the resource limits of the child and its descendants.
	Limits ProcessLimits
	// Group are the limits of the child and its descendants together, including
	// separately confined commands. It requires Config.UseCgroups.
	Group GroupLimits
	// UserEnv redirects HOME, TMPDIR and XDG_* into <home>/runtime-user-env,
	// which is then read-write for the child.
	UserEnv bool
	// UserEnvID names a directory below runtime-user-env, so that children with
	// different rights do not share files. Empty means runtime-user-env itself.
	UserEnvID string

	// userHome is HOME in the user environment; "" without one.
	userHome string
	// temporary is the directory of the user environment that a sandbox mounts
	// at /tmp. The short path leaves room for names of sockets.
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
			if err := checkAbsolutePath(path); err != nil {
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

// checkAbsolutePath refuses invalid sandbox paths.
func checkAbsolutePath(path string) error {
	switch {
	case strings.ContainsRune(path, 0):
		return fmt.Errorf("%q contains a NUL byte", path)
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
	// Dials says that this process connects to servers in the network.
	Dials bool
	// Serve receives the listeners while the child starts, and returns a function that is called when the child has
	// ended and the listeners are closed.
	Serve func(NetworkListeners) (end func()) `json:"-"`
	// Certificates, if any, are trusted PEM certificates for the child, at [CertificatesPath].
	Certificates []byte `json:"-"`
}

// ProxyAddress is the address of the HTTP proxy in a [ProxiedNetwork].
const ProxyAddress = "127.0.0.1:3128"

// NameAddresses is a network of which all addresses lead to the listeners of a [ProxiedNetwork], for a DNS server that
// gives each name an address. It is not in a private range, because programs that protect themselves against requests
// to internal services refuse those, and no public server uses it.
const NameAddresses = "11.1.0.0/16"

// CertificatesPath is the path of the trusted certificates in a sandbox.
const CertificatesPath = "/etc/picoclaw-certificates.pem"

// NetworkListeners are the sockets that accept connections in a child's network.
type NetworkListeners struct {
	Proxy net.Listener   // at [ProxyAddress]
	Ports []net.Listener // at each of the ports, in their order
	Names net.PacketConn // at 127.0.0.1:53

	// Dial connects to a server of the network at a port of localhost. It is nil without [ProxiedNetwork.Dials]. It may
	// be called concurrently, and fails once the listeners are closed.
	Dial func(port uint16) (net.Conn, error)

	// Room is the maximum number of connections. Each needs two descriptors of this process.
	Room int

	closeDialer func()
}

// Close closes all listeners.
func (l NetworkListeners) Close() {
	for _, one := range append([]net.Listener{l.Proxy}, l.Ports...) {
		_ = one.Close()
	}
	_ = l.Names.Close()
	if l.closeDialer != nil {
		l.closeDialer()
	}
}

// The modes of an exposed path.
const (
	ModeReadOnly  = "ro"
	ModeReadWrite = "rw"
)

// ExposedPath makes a host path visible in every sandbox.
type ExposedPath struct {
	Source string `json:"source"` // absolute path on the host
	Target string `json:"target"` // absolute path inside; empty means the same as Source
	Mode   string `json:"mode"`   // ModeReadOnly or ModeReadWrite
}

// ValidateExposedPaths returns the *ConfigError that NewStarter would return for these rules on this machine.
func ValidateExposedPaths(rules []ExposedPath) error {
	final, err := normalizeExposedPaths(rules)
	if err != nil {
		return err
	}
	return checkExposeSources(final)
}

// normalizeExposedPaths checks rules, cleans their paths and sets defaults. It keeps the last rule for each target.
func normalizeExposedPaths(rules []ExposedPath) ([]ExposedPath, error) {
	var final []ExposedPath
	place := map[string]int{}
	for n, given := range rules {
		rule, err := normalizeExposeRule(given, fmt.Sprintf("isolation.expose_paths[%d]", n))
		if err != nil {
			return nil, err
		}
		if at, ok := place[rule.Target]; ok {
			final[at] = rule
			continue
		}
		place[rule.Target] = len(final)
		final = append(final, rule)
	}
	return final, nil
}

// normalizeExposeRule checks a rule, cleans its paths and sets its default target. key names the rule in errors.
func normalizeExposeRule(rule ExposedPath, key string) (ExposedPath, error) {
	if rule.Mode != ModeReadOnly && rule.Mode != ModeReadWrite {
		return rule, &ConfigError{Key: key + ".mode", Problem: fmt.Sprintf("%q is not a mode", rule.Mode),
			Cure: `write "ro" or "rw"`}
	}
	if rule.Target == "" {
		rule.Target = rule.Source
	}
	for _, path := range []struct {
		key   string
		value *string
	}{{".source", &rule.Source}, {".target", &rule.Target}} {
		if err := checkAbsolutePath(*path.value); err != nil {
			return rule, &ConfigError{Key: key + path.key, Problem: err.Error(), Cure: "write an absolute path"}
		}
		*path.value = filepath.Clean(*path.value)
	}
	return rule, nil
}
