package gateway

import (
	"testing"

	"github.com/picoclaw/picoclaw/cmd/internal/cli"
	"github.com/picoclaw/picoclaw/cmd/internal/clitest"
)

func TestNewCmdGateway(t *testing.T) {
	clitest.CheckOptions(t, NewCmdGateway,
		clitest.CommandLine[Options]{Line: "start", Usage: "takes no argument"},
		clitest.CommandLine[Options]{Line: "--port many", Usage: "port"})
	clitest.CheckOptions(t, NewCmdStatus,
		clitest.CommandLine[StatusOptions]{Line: "--output json", Want: StatusOptions{output: cli.JSON}},
		clitest.CommandLine[StatusOptions]{Line: "a", Usage: "takes no argument"})
	clitest.CheckOptions(t, NewCmdReload,
		clitest.CommandLine[ReloadOptions]{Line: "", Want: ReloadOptions{}},
		clitest.CommandLine[ReloadOptions]{Line: "a", Usage: "takes no argument"})
	clitest.CheckOptions(t, NewCmdToken,
		clitest.CommandLine[TokenOptions]{Line: "--agent a --fleet", Want: TokenOptions{agent: "a", isFleet: true}},
		clitest.CommandLine[TokenOptions]{Line: "a b", Usage: "takes no argument"})
}
