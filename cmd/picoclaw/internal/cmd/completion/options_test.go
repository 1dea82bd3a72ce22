package completion

import (
	"testing"

	"github.com/picoclaw/picoclaw/cmd/internal/clitest"
)

func TestNewCmdCompletion(t *testing.T) {
	clitest.CheckParsedOptions(t, NewCmdCompletion,
		clitest.OptionsCase[Options]{Line: "zsh", Want: Options{shell: "zsh"}},
		clitest.OptionsCase[Options]{Line: "tcsh", Usage: "name the shell"},
		clitest.OptionsCase[Options]{Line: "", Usage: "name the shell"})
}
