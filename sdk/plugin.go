package sdk

import (
	"context"
	"fmt"

	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// Plugin is one family of tools: what [Main] serves.
type Plugin struct {
	// ID names the plugin, such as "filesystem": lower-case letters, digits, '-' and '_'.
	ID string
	// Version is the plugin's semantic version.
	Version string
	// Doc says in one sentence what the plugin is for.
	Doc string
	// Grants is what the plugin asks for. It gets at most this, and less where the operator or the agent's policy
	// says so; see [Request.Grants].
	Grants Grants
	// Config is what the operator can configure; see [NewConfig].
	Config Config
	// Tools are the tools, in the order in which they are listed.
	Tools []Tool
	// Stop, when set, is called once before the process ends, after the last call has returned or was cancelled. It
	// ends what calls have left running. Its context has a deadline of about two seconds.
	Stop func(ctx context.Context)
}

// Grants is what a plugin may touch beyond its own memory.
type Grants struct {
	Workspace WorkspaceGrant // the agent's workspace and the paths that its policy opens besides
	Exec      bool           // start other programs
	Programs  []string       // with Exec, the only ones that it starts, by name; all of the system's if there are none
	Network   bool           // reach the network
	State     bool           // keep files of its own, for each agent, from one run to the next
	Env       []string       // names of the host's environment variables
}

// WorkspaceGrant is how a plugin may use the agent's workspace.
type WorkspaceGrant string

// The workspace grants. The empty value asks for no access.
const (
	NoWorkspace       WorkspaceGrant = "none"
	ReadOnlyWorkspace WorkspaceGrant = "ro"
	WorkspaceAccess   WorkspaceGrant = "rw"
)

// Manifest returns the description of the plugin that goes beside its binary as plugin.json, or what is wrong with
// the plugin.
func (p *Plugin) Manifest() (*pluginpb.Manifest, error) {
	workspace := p.Grants.Workspace
	if workspace == "" {
		workspace = NoWorkspace
	}
	m := &pluginpb.Manifest{
		ID:       p.ID,
		Version:  p.Version,
		Doc:      p.Doc,
		Protocol: pluginpb.Range{Min: pluginpb.ProtocolVersion, Max: pluginpb.ProtocolVersion},
		Grants: pluginpb.Grant{
			Workspace: string(workspace),
			Exec:      p.Grants.Exec,
			Programs:  p.Grants.Programs,
			Network:   p.Grants.Network,
			State:     p.Grants.State,
			Env:       p.Grants.Env,
		},
	}
	var err error
	if m.Config, err = p.Config.manifest(); err != nil {
		return nil, err
	}
	for _, t := range p.Tools {
		spec := t.spec
		if err := t.schemas(&spec); err != nil {
			return nil, fmt.Errorf("tool %s: %w", spec.Name, err)
		}
		m.Tools = append(m.Tools, spec)
	}
	if err := m.Check(); err != nil {
		return nil, err
	}
	for i := range m.Tools {
		if err := m.Tools[i].CheckSchemas(); err != nil {
			return nil, fmt.Errorf("plugin %s: %w", m.ID, err)
		}
	}
	return m, nil
}
