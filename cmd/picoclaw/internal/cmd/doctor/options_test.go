package doctor

import (
	"testing"

	"github.com/picoclaw/picoclaw/cmd/internal/clitest"
)

func TestNewCmdDoctor(t *testing.T) {
	clitest.CheckOptions(t, NewCmdDoctor, clitest.CommandLine[Options]{Line: "main", Usage: "takes no argument"})
	clitest.CheckOptions(t, NewCmdSelfTest,
		clitest.CommandLine[SelfTestOptions]{Line: "a b", Want: SelfTestOptions{arguments: []string{"a", "b"}}})
}
