// Package served makes of an author's plugin what package serve serves, for packages that test plugins. It must not
// know what they do with it; sdk.Main has its own way, since sdk can't import this.
package served

import (
	"github.com/picoclaw/picoclaw/sdk"
	"github.com/picoclaw/picoclaw/sdk/internal/serve"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// Plugin is an author's plugin in the wire's words.
func Plugin(p sdk.Plugin) serve.Plugin {
	return serve.Plugin{
		ID: p.ID, Version: p.Version, Doc: p.Doc,
		Grants: pluginpb.Grant(p.Grants), Config: p.Config, Tools: p.Tools, Stop: p.Stop, Busy: p.Busy,
	}
}

// Manifest is what an author's plugin says of itself, or what is wrong with it.
func Manifest(p sdk.Plugin) (*pluginpb.Manifest, error) { return serve.Manifest(Plugin(p)) }
