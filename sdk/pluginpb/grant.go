package pluginpb

import "slices"

// What a plugin may do with the agent's workspace, each including the ones before it.
const (
	NoWorkspace        = "none"
	ReadOnlyWorkspace  = "ro"
	ReadWriteWorkspace = "rw"
)

// Grant is a set of permissions: requested, given, or in effect. The zero value allows nothing.
type Grant struct {
	Workspace string   `json:"workspace"`          // "none", "ro" or "rw": the workspace and the whitelisted paths
	Exec      bool     `json:"exec"`               // start other programs
	Programs  []string `json:"programs,omitempty"` // with exec, the only ones that it may start; all if there are none
	Network   bool     `json:"network"`            // reach the network
	Hosts     []string `json:"hosts,omitempty"`    // with network, the only hosts that it reaches; all if there are none
	State     bool     `json:"state,omitempty"`    // keep files between runs
	Takeback  bool     `json:"takeback,omitempty"` // use the store of what changes destroy, which undo reads
	Env       []string `json:"env,omitempty"`      // names of environment variables
	Secrets   []string `json:"secrets,omitempty"`  // names of secrets that may be used, "*" for any
}

// Intersect returns the permissions in both, sorted.
func (g Grant) Intersect(other Grant) Grant {
	out := Grant{
		Workspace: NoWorkspace,
		Exec:      g.Exec && other.Exec,
		Network:   g.Network && other.Network,
		State:     g.State && other.State,
		Takeback:  g.Takeback && other.Takeback,
		Env:       intersectNames(g.Env, other.Env),
		Secrets:   intersectSecrets(g.Secrets, other.Secrets),
	}
	if rank := min(workspaceRank(g.Workspace), workspaceRank(other.Workspace)); rank > 0 {
		out.Workspace = workspaces[rank]
	}
	if out.Exec {
		out.Programs, out.Exec = intersectLimits(g.Programs, other.Programs)
	}
	if out.Network {
		out.Hosts, out.Network = intersectLimits(g.Hosts, other.Hosts)
	}
	return out
}

// intersectLimits intersects two lists of which an empty one means all. left is false if nothing is left.
func intersectLimits(a, b []string) (both []string, left bool) {
	switch {
	case len(a) == 0:
		return intersectNames(b, b), true
	case len(b) == 0:
		return intersectNames(a, a), true
	}
	both = intersectNames(a, b)
	return both, len(both) > 0
}

var workspaces = []string{NoWorkspace, ReadOnlyWorkspace, ReadWriteWorkspace}

// workspaceRank orders the access levels of workspaces; unknown ones are none.
func workspaceRank(access string) int { return max(0, slices.Index(workspaces, access)) }

// intersectNames returns the names in both lists, sorted; nil if there are none.
func intersectNames(a, b []string) (both []string) {
	for _, name := range slices.Sorted(slices.Values(a)) {
		if slices.Contains(b, name) {
			both = append(both, name)
		}
	}
	return slices.Compact(both)
}

// AnySecret stands for all secrets.
const AnySecret = "*"

// intersectSecrets is intersectNames with support for AnySecret.
func intersectSecrets(a, b []string) []string {
	switch {
	case slices.Contains(a, AnySecret):
		return intersectNames(b, b)
	case slices.Contains(b, AnySecret):
		return intersectNames(a, a)
	}
	return intersectNames(a, b)
}
