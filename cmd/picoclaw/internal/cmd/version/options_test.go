package version

import (
	"testing"

	"github.com/picoclaw/picoclaw/cmd/internal/cli"
	"github.com/picoclaw/picoclaw/cmd/internal/clitest"
)

func TestNewCmdVersion(t *testing.T) {
	clitest.CheckParsedOptions(t, NewCmdVersion,
		clitest.OptionsCase[cli.CommonOptions]{Line: "", Want: cli.CommonOptions{Output: cli.Text}},
		clitest.OptionsCase[cli.CommonOptions]{Line: "--output json", Want: cli.CommonOptions{Output: cli.JSON}},
		clitest.OptionsCase[cli.CommonOptions]{Line: "a", Usage: "takes no argument"})
}
