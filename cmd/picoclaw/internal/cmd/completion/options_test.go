package completion

import (
	"testing"

	"github.com/picoclaw/picoclaw/cmd/internal/clitest"
)

func TestNewCmdCompletion(t *testing.T) {
	clitest.CheckOptions(t, NewCmdCompletion,
		clitest.CommandLine[Options]{Line: "zsh", Want: Options{shell: "zsh"}},
		clitest.CommandLine[Options]{Line: "tcsh", Usage: "for which shell?"},
		clitest.CommandLine[Options]{Line: "", Usage: "for which shell?"})
}
