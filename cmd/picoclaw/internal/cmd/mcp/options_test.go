package mcp

import (
	"testing"

	"github.com/picoclaw/picoclaw/cmd/internal/cli"
	"github.com/picoclaw/picoclaw/cmd/internal/clitest"
	"github.com/picoclaw/picoclaw/cmd/picoclaw/internal/install"
	"github.com/picoclaw/picoclaw/host/mcpservers"
)

func TestNewCmdMCP(t *testing.T) {
	clitest.CheckParsedOptions(t, NewCmdMCP,
		clitest.OptionsCase[Options]{Line: "--agent a --connect s", Want: Options{agent: "a", socket: "s"}},
		clitest.OptionsCase[Options]{Line: "--http localhost:80 --allow-host h",
			Want: Options{http: httpServeOptions{address: "127.0.0.1:80", hosts: []string{"h"}}}},
		clitest.OptionsCase[Options]{Line: "--http 0.0.0.0:80", Usage: "--allow-remote"},
		clitest.OptionsCase[Options]{Line: "--token-file t", Usage: "requires --http ADDRESS"},
		clitest.OptionsCase[Options]{Line: "serve", Usage: `no argument "serve"`})
}

func TestNewCmdAdd(t *testing.T) {
	clitest.CheckParsedOptions(t, NewCmdAdd,
		clitest.OptionsCase[AddOptions]{Line: "a --env K=v --network h --yes -- npx p",
			Want: AddOptions{sharedServerOptions: sharedServerOptions{Options: install.Options{Output: cli.Text, Yes: true}, name: "a", env: []string{"K=v"},
				spec: mcpservers.ServerSpec{Command: []string{"npx", "p"}, Workspace: "none", Network: []string{"h"}, Env: map[string]string{"K": "v"}}}}},
		clitest.OptionsCase[AddOptions]{Line: "", Usage: "name the server"},
		clitest.OptionsCase[AddOptions]{Line: "-- npx p", Usage: "in front of --"},
		clitest.OptionsCase[AddOptions]{Line: "a --env K -- npx p", Usage: "want NAME=VALUE"})
}

func TestNewCmdAboutOneServer(t *testing.T) {
	text, trust := install.Options{Output: cli.Text}, install.Options{Output: cli.Text, Verb: "mcp trust"}
	clitest.CheckParsedOptions(t, NewCmdImport,
		clitest.OptionsCase[ImportOptions]{Line: "mcp.json --workspace ro", Want: ImportOptions{
			sharedServerOptions: sharedServerOptions{Options: text, spec: mcpservers.ServerSpec{Workspace: "ro"}}, file: "mcp.json"}},
		clitest.OptionsCase[ImportOptions]{Line: "", Usage: "name the file"})
	clitest.CheckParsedOptions(t, NewCmdList,
		clitest.OptionsCase[cli.CommonOptions]{Line: "--output json", Want: cli.CommonOptions{Output: cli.JSON}},
		clitest.OptionsCase[cli.CommonOptions]{Line: "a", Usage: "takes no argument"})
	clitest.CheckParsedOptions(t, NewCmdShow,
		clitest.OptionsCase[cli.CommonOptions]{Line: "a", Want: cli.CommonOptions{Argument: "a", Output: cli.Text}},
		clitest.OptionsCase[cli.CommonOptions]{Line: "", Usage: "show takes the name of one server"})
	clitest.CheckParsedOptions(t, NewCmdUpdate,
		clitest.OptionsCase[UpdateOptions]{Line: "a", Want: UpdateOptions{sharedServerOptions{Options: trust, name: "a"}}},
		clitest.OptionsCase[UpdateOptions]{Line: "a b", Usage: "update takes the name of one server"})
	clitest.CheckParsedOptions(t, NewCmdTrust,
		clitest.OptionsCase[UpdateOptions]{Line: "a", Want: UpdateOptions{sharedServerOptions{Options: trust, name: "a"}}},
		clitest.OptionsCase[UpdateOptions]{Line: "", Usage: "trust takes the name of one server"})
	clitest.CheckParsedOptions(t, NewCmdRemove,
		clitest.OptionsCase[RemoveOptions]{Line: "a --keep", Want: RemoveOptions{Options: text, name: "a", keep: true}},
		clitest.OptionsCase[RemoveOptions]{Line: "", Usage: "remove takes the name of one server"})
}
