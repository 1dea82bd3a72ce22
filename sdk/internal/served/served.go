// Package served converts an author's plugin for package serve, as sdk.Main does. Only test packages import it, because
// sdk would import itself through it. It must not know the tests.
package served

import (
	"github.com/picoclaw/picoclaw/sdk"
	"github.com/picoclaw/picoclaw/sdk/internal/serve"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// ToServePlugin converts an author's plugin for package serve.
func ToServePlugin(p sdk.Plugin) serve.Plugin {
	return serve.Plugin{
		ID: p.ID, Version: p.Version, Doc: p.Doc,
		Grants: pluginpb.Grant(p.Grants), Config: p.Config, Tools: p.Tools, Stop: p.Stop, Busy: p.Busy,
		Resources: p.Resources, Prompts: p.Prompts,
	}
}

// PluginManifest returns the manifest of an author's plugin, or an error if the plugin is invalid.
func PluginManifest(p sdk.Plugin) (*pluginpb.Manifest, error) {
	return serve.NewManifest(ToServePlugin(p))
}
