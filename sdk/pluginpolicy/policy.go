// Package pluginpolicy defines the policy that a host gives a plugin process for life. It travels as JSON in the
// Configure request; docs/wire.md lists its fields. The package must not know how a policy is made or enforced.
package pluginpolicy

import (
	"encoding/json"
	"fmt"

	"github.com/picoclaw/picoclaw/sdk/exec"
	"github.com/picoclaw/picoclaw/sdk/guard"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
	"github.com/picoclaw/picoclaw/sdk/undo"
)

// Policy is the permissions and settings of one plugin process. Agents share a process only if their policies are
// equal.
type Policy struct {
	// Agent is the id of the agent, for plugins with the exec grant, whose processes may outlive a call.
	Agent string `json:"agent,omitempty"`
	// Guard decides on paths and commands.
	Guard guard.Policy `json:"guard"`
	// Grants are the effective grants.
	Grants pluginpb.Grant `json:"grants"`
	// Exec holds the settings for commands.
	Exec exec.CommandSettings `json:"exec,omitzero"`
	// Undo is the agent's undo store. It is zero without the takeback grant or if undo is disabled.
	Undo undo.StoreOptions `json:"undo,omitzero"`
	// StateDir is the plugin's own directory for this agent, absolute; empty without the state grant.
	StateDir string `json:"state_dir,omitempty"`
	// DataDir is the read-only directory of the package's data, absolute; empty if the package has none.
	DataDir string `json:"data_dir,omitempty"`
	// Config is the operator's configuration of the plugin, a JSON object; nil if there is none.
	Config json.RawMessage `json:"config,omitempty"`
}

// ToConfigureRequest returns the Configure request that carries the policy. Equal policies have equal requests.
func (p *Policy) ToConfigureRequest() (*pluginpb.ConfigureRequest, error) {
	data, err := json.Marshal(p)
	if err != nil {
		return nil, fmt.Errorf("encode the plugin's policy: %w", err)
	}
	return &pluginpb.ConfigureRequest{Policy: data}, nil
}

// ParseRequest returns the policy in a Configure request.
func ParseRequest(req *pluginpb.ConfigureRequest) (*Policy, error) {
	var p Policy
	if err := json.Unmarshal(req.GetPolicy(), &p); err != nil {
		return nil, fmt.Errorf("read the plugin's policy: %w", err)
	}
	return &p, nil
}
