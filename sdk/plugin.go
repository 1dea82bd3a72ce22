package sdk

import (
	"context"
	"os"

	"github.com/picoclaw/picoclaw/internal/heapgrowth"
	"github.com/picoclaw/picoclaw/sdk/internal/serve"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// Plugin is a group of tools served by [Main].
type Plugin struct {
	// ID names the plugin, such as "filesystem": lower-case letters, digits, '-' and '_'.
	ID string
	// Version is the plugin's semantic version.
	Version string
	// Doc is one sentence about the purpose of the plugin.
	Doc string
	// Grants are the requested permissions. The operator or the agent's policy may grant less: see [Request.Grants].
	Grants Grants
	// Config is a struct with the default values of the operator's configuration, plugins.<id>.config. Its schema is
	// inferred like that of a tool's arguments and becomes part of the manifest. Handlers get the operator's values
	// from [ConfigOf]. A configuration that does not fit prevents the start of the plugin. Config is nil if there is
	// nothing to configure.
	Config any
	// Tools are the tools, in the order in which they are listed.
	Tools []Tool
	// Resources are data that clients read by URI, and Prompts are messages that their users insert. Agents get those
	// that the operator enables with tools.resources and tools.prompts.
	Resources []Resource
	Prompts   []Prompt
	// FullNames says that the tools are called only by their full names, such as "web.search". Set it if you can't
	// choose their names.
	FullNames bool
	// Stop, if not nil, is called once before the process ends, after all calls have returned or were cancelled. It
	// stops background work of calls. Its context has a deadline of about two seconds.
	Stop func(ctx context.Context)
	// Busy, if not nil, reports whether ending the process between calls would lose something. An idle plugin with the
	// exec grant is ended only if Busy returns false. Other idle plugins are always ended.
	Busy func() bool
}

// Grants are the permissions that a plugin requests. The operator and the agent's policy decide which it gets.
type Grants struct {
	// Workspace is ReadOnlyWorkspace or WorkspaceAccess, for the agent's workspace and whitelisted paths; empty for
	// neither.
	Workspace string

	Exec     bool     // start other programs
	Programs []string // with Exec: the only programs that it starts, by name or by path below data/; empty for all
	Network  bool     // use the network
	Hosts    []string // with Network: the only hosts that it uses, such as "api.example.com"; empty for all
	State    bool     // keep its own files for each agent between runs
	Takeback bool     // use the agent's undo store
	Env      []string // names of the host's environment variables
	// Secrets are names of the operator's secrets that the plugin uses, "*" for any. The plugin does not see the
	// values: a variable of that name contains a placeholder, which the host replaces in requests to permitted hosts.
	Secrets []string
}

// Levels of access to the agent's workspace: see [Grants].
const (
	NoWorkspace       = "none"
	ReadOnlyWorkspace = "ro"
	WorkspaceAccess   = "rw"
)

// Main is the main function of a plugin. Started by a host, it serves the tools until the host ends. Started by a
// person, it has two commands:
//
//	describe                             print the manifest (plugin.json)
//	call TOOL [JSON] [--config JSON]     run one tool in the current directory, without a host
//
// It does not return.
func Main(p Plugin) {
	heapgrowth.SetGCThreshold(20 << 20) // results of a megabyte pass through, one after another
	os.Exit(serve.RunMain(serve.Plugin{
		ID: p.ID, Version: p.Version, Doc: p.Doc,
		Grants: pluginpb.Grant(p.Grants), Config: p.Config, Tools: p.Tools, Resources: p.Resources, Prompts: p.Prompts, FullNames: p.FullNames, Stop: p.Stop,
		Busy: p.Busy,
	}, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
