package doctor

import (
	"testing"

	"github.com/picoclaw/picoclaw/cmd/internal/clitest"
)

func TestNewCmdDoctor(t *testing.T) {
	clitest.CheckOptions(t, NewCmdDoctor, clitest.OptionsCase[Options]{Line: "main", Usage: "takes no argument"})
	clitest.CheckOptions(t, NewCmdSelfTest,
		clitest.OptionsCase[SelfTestOptions]{Line: "a b", Want: SelfTestOptions{arguments: []string{"a", "b"}}})
}
