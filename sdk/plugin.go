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
	// Doc says in one sentence what the plugin is for.
	Doc string
	// Grants is what the plugin asks for. It gets at most this, and less where the operator or the agent's policy
	// says so; see [Request.Grants].
	Grants Grants
	// Config is what the operator can configure, plugins.<id>.config in picoclaw's configuration: a struct with the
	// values that stand where the operator says nothing. Its schema is inferred as that of a tool's arguments is, and
	// goes into the manifest. Handlers get the operator's values with [ConfigOf]; a configuration that does not fit
	// keeps the plugin from starting. It is nil if there is nothing to configure.
	Config any
	// Tools are the tools, in the order in which they are listed.
	Tools []Tool
	// Resources are data that clients read by URI, and Prompts are messages that their users insert. Agents get those
	// that the operator enables with tools.resources and tools.prompts.
	Resources []Resource
	Prompts   []Prompt
	// FullNames says that the tools are called by their full names alone, such as "web.search": set it if their names are
	// not yours to choose.
	FullNames bool
	// Stop, when set, is called once before the process ends, after the last call has returned or was cancelled. It
	// ends what calls have left running. Its context has a deadline of about two seconds.
	Stop func(ctx context.Context)
	// Busy, when set, reports whether something would be lost if the process ended now, when no call is under way. A
	// plugin with the exec grant is ended for being idle only if it says that it is not busy; others always are.
	Busy func() bool
}

// Grants are the permissions a plugin requests.
type Grants struct {
	// Workspace is one of ReadOnlyWorkspace and WorkspaceAccess, for the agent's workspace and the paths that its policy
	// opens besides; empty for neither.
	Workspace string

	Exec     bool     // start other programs
	Programs []string // with Exec, the only ones that it starts, by name or by path below data/; all if there are none
	Network  bool     // reach the network
	Hosts    []string // with Network, the only hosts that it reaches, such as "api.example.com"; all if there are none
	State    bool     // keep files of its own, for each agent, from one run to the next
	Takeback bool     // use the agent's store of what changes destroy, which undo reads
	Env      []string // names of the host's environment variables
	// Secrets are names of the operator's secrets that the plugin uses without holding them, "*" for any: a variable of
	// that name holds what stands for the value, in requests to the hosts that are to get it.
	Secrets []string
}

// What a plugin may do with the agent's workspace: see [Grants].
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
	heapgrowth.Set(20 << 20) // results of a megabyte pass through, one after another
	os.Exit(serve.RunMain(serve.Plugin{
		ID: p.ID, Version: p.Version, Doc: p.Doc,
		Grants: pluginpb.Grant(p.Grants), Config: p.Config, Tools: p.Tools, Resources: p.Resources, Prompts: p.Prompts, FullNames: p.FullNames, Stop: p.Stop,
		Busy: p.Busy,
	}, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
