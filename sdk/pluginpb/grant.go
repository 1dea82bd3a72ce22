package pluginpb

import "slices"

// Levels of access to the agent's workspace. Each includes the previous ones.
const (
	NoWorkspace        = "none"
	ReadOnlyWorkspace  = "ro"
	ReadWriteWorkspace = "rw"
)

// Grant is a set of permissions of a plugin: requested, granted or effective. The zero value allows nothing.
type Grant struct {
	Workspace string   `json:"workspace"`          // "none", "ro" or "rw": access to the workspace and whitelisted paths
	Exec      bool     `json:"exec"`               // start other programs
	Programs  []string `json:"programs,omitempty"` // with exec: allowed programs; empty allows all
	Network   bool     `json:"network"`            // use the network
	Hosts     []string `json:"hosts,omitempty"`    // with network: allowed hosts; empty allows all
	State     bool     `json:"state,omitempty"`    // keep files between runs
	Takeback  bool     `json:"takeback,omitempty"` // use the undo store
	Env       []string `json:"env,omitempty"`      // names of environment variables
	Secrets   []string `json:"secrets,omitempty"`  // names of usable secrets; "*" for all
}

// Intersect returns the permissions that both grants contain. It sorts the lists.
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
		out.Programs, out.Exec = intersectAllowLists(g.Programs, other.Programs)
	}
	if out.Network {
		out.Hosts, out.Network = intersectAllowLists(g.Hosts, other.Hosts)
	}
	return out
}

// intersectAllowLists intersects two lists, where an empty one allows all. left is false if the intersection allows
// nothing.
func intersectAllowLists(a, b []string) (both []string, left bool) {
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

// workspaceRank returns the rank of a workspace access level. Unknown levels rank as none.
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

// AnySecret is the name in a list of secrets that allows all of them.
const AnySecret = "*"

// intersectSecrets intersects two lists of secrets, either of which may contain AnySecret.
func intersectSecrets(a, b []string) []string {
	switch {
	case slices.Contains(a, AnySecret):
		return intersectNames(b, b)
	case slices.Contains(b, AnySecret):
		return intersectNames(a, a)
	}
	return intersectNames(a, b)
}
