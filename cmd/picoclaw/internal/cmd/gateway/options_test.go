package gateway

import (
	"testing"
	"time"

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
		clitest.OptionsCase[TokenOptions]{Line: "--tools a,b --expires 2d",
			Want: TokenOptions{restricted: true, tools: []string{"a", "b"}, expires: "2d", duration: 48 * time.Hour}},
		clitest.OptionsCase[TokenOptions]{Line: "--workspace=", Usage: "--workspace: want a value"},
		clitest.OptionsCase[TokenOptions]{Line: "--tools= --workspace a", Usage: "--tools: want a value"},
		clitest.OptionsCase[TokenOptions]{Line: "--tools a --fleet", Usage: "without --fleet"},
		clitest.OptionsCase[TokenOptions]{Line: "--expires 0s", Usage: "want more than 0"},
		clitest.OptionsCase[TokenOptions]{Line: "--expires soon", Usage: "want a duration"},
		clitest.OptionsCase[TokenOptions]{Line: "a b", Usage: "takes no argument"})
}
