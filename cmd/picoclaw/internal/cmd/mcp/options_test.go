package mcp

import (
	"testing"

	"github.com/picoclaw/picoclaw/cmd/internal/cli"
	"github.com/picoclaw/picoclaw/cmd/internal/clitest"
	"github.com/picoclaw/picoclaw/cmd/picoclaw/internal/install"
	"github.com/picoclaw/picoclaw/host/mcpservers"
)

func TestNewCmdMCP(t *testing.T) {
	clitest.CheckOptions(t, NewCmdMCP,
		clitest.CommandLine[Options]{Line: "--agent a --connect s", Want: Options{agent: "a", socket: "s"}},
		clitest.CommandLine[Options]{Line: "--http localhost:80 --allow-host h",
			Want: Options{http: httpOptions{address: "127.0.0.1:80", hosts: []string{"h"}}}},
		clitest.CommandLine[Options]{Line: "--http 0.0.0.0:80", Usage: "--allow-remote"},
		clitest.CommandLine[Options]{Line: "--token-file t", Usage: "say --http ADDRESS"},
		clitest.CommandLine[Options]{Line: "serve", Usage: `no argument "serve"`})
}

func TestNewCmdAdd(t *testing.T) {
	clitest.CheckOptions(t, NewCmdAdd,
		clitest.CommandLine[AddOptions]{Line: "a --env K=v --network h --yes -- npx p",
			Want: AddOptions{serverOptions{Options: install.Options{Output: cli.Text, Yes: true}, name: "a", env: []string{"K=v"},
				spec: mcpservers.ServerSpec{Command: []string{"npx", "p"}, Workspace: "none", Network: []string{"h"}, Env: map[string]string{"K": "v"}}}}},
		clitest.CommandLine[AddOptions]{Line: "", Usage: "name the server"},
		clitest.CommandLine[AddOptions]{Line: "-- npx p", Usage: "in front of --"},
		clitest.CommandLine[AddOptions]{Line: "a --env K -- npx p", Usage: "want NAME=VALUE"})
}

func TestNewCmdAboutOneServer(t *testing.T) {
	text, trust := install.Options{Output: cli.Text}, install.Options{Output: cli.Text, Verb: "mcp trust"}
	clitest.CheckOptions(t, NewCmdImport,
		clitest.CommandLine[ImportOptions]{Line: "mcp.json --workspace ro", Want: ImportOptions{
			serverOptions: serverOptions{Options: text, spec: mcpservers.ServerSpec{Workspace: "ro"}}, file: "mcp.json"}},
		clitest.CommandLine[ImportOptions]{Line: "", Usage: "name the file"})
	clitest.CheckOptions(t, NewCmdList,
		clitest.CommandLine[ListOptions]{Line: "--output json", Want: ListOptions{output: cli.JSON}},
		clitest.CommandLine[ListOptions]{Line: "a", Usage: "takes no argument"})
	clitest.CheckOptions(t, NewCmdShow,
		clitest.CommandLine[ShowOptions]{Line: "a", Want: ShowOptions{name: "a", output: cli.Text}},
		clitest.CommandLine[ShowOptions]{Line: "", Usage: "show takes the name of one server"})
	clitest.CheckOptions(t, NewCmdUpdate,
		clitest.CommandLine[UpdateOptions]{Line: "a", Want: UpdateOptions{serverOptions{Options: trust, name: "a"}}},
		clitest.CommandLine[UpdateOptions]{Line: "a b", Usage: "update takes the name of one server"})
	clitest.CheckOptions(t, NewCmdTrust,
		clitest.CommandLine[TrustOptions]{Line: "a", Want: TrustOptions{serverOptions{Options: trust, name: "a"}}},
		clitest.CommandLine[TrustOptions]{Line: "", Usage: "trust takes the name of one server"})
	clitest.CheckOptions(t, NewCmdRemove,
		clitest.CommandLine[RemoveOptions]{Line: "a --keep", Want: RemoveOptions{Options: text, name: "a", keep: true}},
		clitest.CommandLine[RemoveOptions]{Line: "", Usage: "remove takes the name of one server"})
}
