package stop

import (
	"testing"

	"github.com/picoclaw/picoclaw/cmd/internal/cli"
	"github.com/picoclaw/picoclaw/cmd/internal/clitest"
)

func TestNewCmdStop(t *testing.T) {
	clitest.CheckParsedOptions(t, NewCmdStop,
		clitest.OptionsCase[Options]{Line: "--agent a --why later", Want: Options{agent: "a", reason: "later"}},
		clitest.OptionsCase[Options]{Line: "a", Usage: "takes no argument"})
	clitest.CheckParsedOptions(t, NewCmdStart,
		clitest.OptionsCase[cli.CommonOptions]{Line: "--agent a", Want: cli.CommonOptions{Agent: "a"}},
		clitest.OptionsCase[cli.CommonOptions]{Line: "a", Usage: "takes no argument"})
}
