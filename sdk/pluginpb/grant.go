package pluginpb

import "slices"

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
