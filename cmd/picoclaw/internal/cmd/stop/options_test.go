package stop

import (
	"testing"

	"github.com/picoclaw/picoclaw/cmd/internal/clitest"
)

func TestNewCmdStop(t *testing.T) {
	clitest.CheckParsedOptions(t, NewCmdStop,
		clitest.OptionsCase[Options]{Line: "--agent a --why later", Want: Options{agent: "a", reason: "later"}},
		clitest.OptionsCase[Options]{Line: "a", Usage: "takes no argument"})
	clitest.CheckParsedOptions(t, NewCmdStart,
		clitest.OptionsCase[StartOptions]{Line: "--agent a", Want: StartOptions{agent: "a"}},
		clitest.OptionsCase[StartOptions]{Line: "a", Usage: "takes no argument"})
}
