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
		clitest.OptionsCase[cli.CommonOptions]{Line: "--output json", Want: cli.CommonOptions{Output: cli.JSON}},
		clitest.OptionsCase[cli.CommonOptions]{Line: "a", Usage: "takes no argument"})
	clitest.CheckParsedOptions(t, NewCmdReload,
		clitest.OptionsCase[cli.CommonOptions]{Line: "", Want: cli.CommonOptions{}},
		clitest.OptionsCase[cli.CommonOptions]{Line: "a", Usage: "takes no argument"})
	clitest.CheckParsedOptions(t, NewCmdToken,
		clitest.OptionsCase[TokenOptions]{Line: "--agent a --fleet", Want: TokenOptions{agent: "a", isFleet: true}},
		clitest.OptionsCase[TokenOptions]{Line: "a b", Usage: "takes no argument"})
}
