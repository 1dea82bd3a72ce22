// Command mcp is the plugin that offers the tools of one MCP server, which it runs as a child process or reaches over
// HTTP.
//
// It is the program of every server that an operator has added. Its working directory defines the server: plugin.json
// is the manifest with the accepted tools, and server.json says how to start or reach the server. To the host a server
// is a plugin like any other.
//
// This program must not decide what a server may do: the sandbox around both of them does. It offers only accepted
// tools, and quarantines a tool whose description differs from the one that the operator accepted.
//
// It never repeats a call. If the server ends during a call, the call fails, and the next call starts the server again.
package main

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/picoclaw/picoclaw/sdk"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == "probe" {
		if err := probeServer(os.Stdin, os.Stdout); err != nil {
			exitWithError(err)
		}
		return
	}
	plugin, err := loadPluginFromWorkDir()
	if err != nil {
		exitWithError(err)
	}
	sdk.Main(plugin)
}

// exitWithError prints an error and exits.
func exitWithError(err error) {
	fmt.Fprintln(os.Stderr, "mcp:", err)
	os.Exit(1)
}

// loadPluginFromWorkDir returns the plugin that the working directory defines.
func loadPluginFromWorkDir() (sdk.Plugin, error) {
	var m pluginpb.Manifest
	var d serverDefinition
	for name, target := range map[string]any{pluginpb.ManifestFile: &m, definitionFile: &d} {
		text, err := os.ReadFile(name)
		if os.IsNotExist(err) {
			return sdk.Plugin{}, fmt.Errorf("there is no %s in this directory; `picoclaw mcp add` creates it", name)
		}
		if err == nil {
			err = json.Unmarshal(text, target)
		}
		if err != nil {
			return sdk.Plugin{}, fmt.Errorf("%s: %w", name, err)
		}
	}
	return newPlugin(&m, &d)
}

// newPlugin returns the plugin for a manifest and a server definition.
func newPlugin(m *pluginpb.Manifest, d *serverDefinition) (sdk.Plugin, error) {
	s, err := newServer(m.ID, d)
	if err != nil {
		return sdk.Plugin{}, err
	}
	p := sdk.Plugin{
		ID: m.ID, Version: m.Version, Doc: m.Doc, Grants: sdk.Grants(m.Grants), FullNames: m.FullNames, Stop: s.shutdown,
	}
	for _, spec := range m.Tools {
		p.Tools = append(p.Tools, sdk.NewSpecTool(spec, s.newToolHandler(spec)))
	}
	for _, spec := range m.Resources {
		p.Resources = append(p.Resources, sdk.NewSpecTool(spec, s.newFeatureHandler(spec, pluginpb.ResourceKind, s.readResource)))
	}
	for _, spec := range m.Prompts {
		p.Prompts = append(p.Prompts, sdk.NewSpecTool(spec, s.newFeatureHandler(spec, pluginpb.PromptKind, s.getPrompt)))
	}
	return p, nil
}
