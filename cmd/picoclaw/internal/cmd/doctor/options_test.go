package doctor

import (
	"testing"

	"github.com/picoclaw/picoclaw/cmd/internal/cli"
	"github.com/picoclaw/picoclaw/cmd/internal/clitest"
)

func TestNewCmdDoctor(t *testing.T) {
	clitest.CheckParsedOptions(t, NewCmdDoctor, clitest.OptionsCase[cli.CommonOptions]{Line: "main", Usage: "takes no argument"})
	clitest.CheckParsedOptions(t, NewCmdSelfTest,
		clitest.OptionsCase[SelfTestOptions]{Line: "a b", Want: SelfTestOptions{arguments: []string{"a", "b"}}})
}
