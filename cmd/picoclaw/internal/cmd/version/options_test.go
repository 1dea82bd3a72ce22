package version

import (
	"testing"

	"github.com/picoclaw/picoclaw/cmd/internal/cli"
	"github.com/picoclaw/picoclaw/cmd/internal/clitest"
)

func TestNewCmdVersion(t *testing.T) {
	clitest.CheckParsedOptions(t, NewCmdVersion,
		clitest.OptionsCase[Options]{Line: "", Want: Options{output: cli.Text}},
		clitest.OptionsCase[Options]{Line: "--output json", Want: Options{output: cli.JSON}},
		clitest.OptionsCase[Options]{Line: "a", Usage: "takes no argument"})
}
