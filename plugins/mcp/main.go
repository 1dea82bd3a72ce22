// Command mcp is the plugin that offers the tools of one MCP server, which it runs as its child or reaches over HTTP.
//
// It is the program of each server that an operator has added; what lies in the directory that it is started in says
// which server that is: plugin.json, the manifest with the tools as they were accepted, and server.json, how the server
// is started or where it is. So a server is a plugin like any other to the host.
//
// It must not decide what a server may do: the sandbox that it shares with the server does, and whoever breaks out of
// the one is still in the other. It offers what was accepted and nothing else: a tool that the server now describes in
// other words than those that the operator has read is not called.
//
// A call is made once. A server that ends meanwhile is an error, and the next call starts it again.
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
		if err := probe(os.Stdin, os.Stdout); err != nil {
			fail(err)
		}
		return
	}
	plugin, err := here()
	if err != nil {
		fail(err)
	}
	sdk.Main(plugin)
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "mcp:", err)
	os.Exit(1)
}

// here makes the plugin of what lies in the working directory.
func here() (sdk.Plugin, error) {
	var m pluginpb.Manifest
	var d definition
	for name, to := range map[string]any{pluginpb.ManifestFile: &m, definitionFile: &d} {
		text, err := os.ReadFile(name)
		if os.IsNotExist(err) {
			return sdk.Plugin{}, fmt.Errorf("there is no %s here; `picoclaw mcp add` makes a plugin of it", name)
		}
		if err == nil {
			err = json.Unmarshal(text, to)
		}
		if err != nil {
			return sdk.Plugin{}, fmt.Errorf("%s: %w", name, err)
		}
	}
	return newPlugin(&m, &d)
}

func newPlugin(m *pluginpb.Manifest, d *definition) (sdk.Plugin, error) {
	s, err := newServer(m.ID, d)
	if err != nil {
		return sdk.Plugin{}, err
	}
	p := sdk.Plugin{
		ID: m.ID, Version: m.Version, Doc: m.Doc, Grants: sdk.Grants(m.Grants), FullNames: m.FullNames, Stop: s.stop,
	}
	for _, spec := range m.Tools {
		p.Tools = append(p.Tools, sdk.NewSpecTool(spec, s.handler(spec)))
	}
	return p, nil
}
