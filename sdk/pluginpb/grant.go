package pluginpb

import (
	"slices"
	"time"

	"github.com/picoclaw/picoclaw/internal/limits"
	"github.com/picoclaw/picoclaw/sdk/takeback"
)

// What a plugin may do with the agent's workspace, each including the ones before it.
const (
	NoWorkspace        = "none"
	ReadOnlyWorkspace  = "ro"
	ReadWriteWorkspace = "rw"
)

// Grant is what a plugin may touch: what it asks for, what it is given, or what is in effect of both. The zero value is
// nothing.
type Grant struct {
	Workspace string   `json:"workspace"`          // "none", "ro" or "rw": the workspace and the whitelisted paths
	Exec      bool     `json:"exec"`               // start other programs
	Programs  []string `json:"programs,omitempty"` // with exec, the only ones that it may start; all if there are none
	Network   bool     `json:"network"`            // reach the network
	Hosts     []string `json:"hosts,omitempty"`    // with network, the only hosts that it reaches; all if there are none
	State     bool     `json:"state,omitempty"`    // keep files of its own from one run to the next
	Takeback  bool     `json:"takeback,omitempty"` // use the store of what changes destroy, which undo reads
	Env       []string `json:"env,omitempty"`      // names of environment variables
	Secrets   []string `json:"secrets,omitempty"`  // names of secrets that may be used, "*" for any
}

// Intersect returns what both g and other grant, sorted.
func (g Grant) Intersect(other Grant) Grant {
	out := Grant{
		Workspace: NoWorkspace,
		Exec:      g.Exec && other.Exec,
		Network:   g.Network && other.Network,
		State:     g.State && other.State,
		Takeback:  g.Takeback && other.Takeback,
		Env:       common(g.Env, other.Env),
		Secrets:   commonSecrets(g.Secrets, other.Secrets),
	}
	if rank := min(workspaceRank(g.Workspace), workspaceRank(other.Workspace)); rank > 0 {
		out.Workspace = workspaces[rank]
	}
	if out.Exec {
		out.Programs, out.Exec = only(g.Programs, other.Programs)
	}
	if out.Network {
		out.Hosts, out.Network = only(g.Hosts, other.Hosts)
	}
	return out
}

// only returns what two lists allow of which an empty one stands for all. If they have nothing in common, nothing is
// left: that is not all.
func only(a, b []string) (both []string, left bool) {
	switch {
	case len(a) == 0:
		return common(b, b), true
	case len(b) == 0:
		return common(a, a), true
	}
	both = common(a, b)
	return both, len(both) > 0
}

var workspaces = []string{NoWorkspace, ReadOnlyWorkspace, ReadWriteWorkspace}

// workspaceRank orders what may be done with the workspace; what is unknown is nothing.
func workspaceRank(access string) int { return max(0, slices.Index(workspaces, access)) }

// common returns the names that stand in both lists, sorted; nil if there are none.
func common(a, b []string) (both []string) {
	for _, name := range slices.Sorted(slices.Values(a)) {
		if slices.Contains(b, name) {
			both = append(both, name)
		}
	}
	return slices.Compact(both)
}

// AnySecret stands for every secret there is.
const AnySecret = "*"

// commonSecrets is common for names among which AnySecret may be.
func commonSecrets(a, b []string) []string {
	switch {
	case slices.Contains(a, AnySecret):
		return common(b, b)
	case slices.Contains(b, AnySecret):
		return common(a, a)
	}
	return common(a, b)
}

// NewGrants puts a grant on the wire.
func NewGrants(g Grant) *Grants {
	return &Grants{
		Workspace: g.Workspace, Exec: g.Exec, Network: g.Network, Env: g.Env, State: g.State, Takeback: g.Takeback,
	}
}

// Grant takes a grant off the wire, which does not carry programs: the kernel keeps those.
func (g *Grants) Grant() Grant {
	return Grant{
		Workspace: g.GetWorkspace(), Exec: g.GetExec(), Network: g.GetNetwork(), State: g.GetState(),
		Takeback: g.GetTakeback(), Env: g.GetEnv(),
	}
}

// NewExecLimits puts a command's limits on the wire.
func NewExecLimits(l limits.Limits) *ExecLimits {
	return &ExecLimits{
		Processes:   int64(l.Processes),
		MemoryBytes: l.Memory,
		CpuSeconds:  int64(l.CPU.Seconds()),
		FileBytes:   l.FileSize,
		OpenFiles:   int64(l.OpenFiles),
	}
}

// Limits takes a command's limits off the wire.
func (l *ExecLimits) Limits() limits.Limits {
	return limits.Limits{
		Processes: int(l.GetProcesses()),
		Memory:    l.GetMemoryBytes(),
		CPU:       time.Duration(l.GetCpuSeconds()) * time.Second,
		FileSize:  l.GetFileBytes(),
		OpenFiles: int(l.GetOpenFiles()),
	}
}

// NewTakeback puts a store of what changes destroy on the wire.
func NewTakeback(o takeback.Options) *Takeback {
	return &Takeback{Dir: o.Dir, MaxBytes: o.MaxBytes, MaxAgeSeconds: int64(o.MaxAge.Seconds())}
}

// Options takes a store of what changes destroy off the wire; without one they are zero.
func (t *Takeback) Options() takeback.Options {
	return takeback.Options{
		Dir: t.GetDir(), MaxBytes: t.GetMaxBytes(), MaxAge: time.Duration(t.GetMaxAgeSeconds()) * time.Second,
	}
}
