package stop

import (
	"testing"

	"github.com/picoclaw/picoclaw/cmd/internal/clitest"
)

func TestNewCmdStop(t *testing.T) {
	clitest.CheckOptions(t, NewCmdStop,
		clitest.CommandLine[Options]{Line: "--agent a --why later", Want: Options{agent: "a", reason: "later"}},
		clitest.CommandLine[Options]{Line: "a", Usage: "takes no argument"})
	clitest.CheckOptions(t, NewCmdStart,
		clitest.CommandLine[StartOptions]{Line: "--agent a", Want: StartOptions{agent: "a"}},
		clitest.CommandLine[StartOptions]{Line: "a", Usage: "takes no argument"})
}
