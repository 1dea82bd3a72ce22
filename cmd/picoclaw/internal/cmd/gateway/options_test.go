package gateway

import (
	"testing"

	"github.com/picoclaw/picoclaw/cmd/internal/cli"
	"github.com/picoclaw/picoclaw/cmd/internal/clitest"
)

func TestNewCmdGateway(t *testing.T) {
	clitest.CheckParsedOptions(t, NewCmdGateway,
		clitest.OptionsCase[Options]{Line: "start", Usage: "takes no argument"},
		clitest.OptionsCase[Options]{Line: "--port many", Usage: "port"})
	clitest.CheckParsedOptions(t, NewCmdStatus,
		clitest.OptionsCase[StatusOptions]{Line: "--output json", Want: StatusOptions{output: cli.JSON}},
		clitest.OptionsCase[StatusOptions]{Line: "a", Usage: "takes no argument"})
	clitest.CheckParsedOptions(t, NewCmdReload,
		clitest.OptionsCase[ReloadOptions]{Line: "", Want: ReloadOptions{}},
		clitest.OptionsCase[ReloadOptions]{Line: "a", Usage: "takes no argument"})
	clitest.CheckParsedOptions(t, NewCmdToken,
		clitest.OptionsCase[TokenOptions]{Line: "--agent a --fleet", Want: TokenOptions{agent: "a", isFleet: true}},
		clitest.OptionsCase[TokenOptions]{Line: "a b", Usage: "takes no argument"})
}
