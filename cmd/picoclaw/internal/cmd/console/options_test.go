package console

import (
	"testing"

	"github.com/picoclaw/picoclaw/cmd/internal/clitest"
)

func TestNewCmdConsole(t *testing.T) {
	clitest.CheckParsedOptions(t, NewCmdConsole,
		clitest.OptionsCase[Options]{Line: "--operate", Want: Options{operate: true}},
		clitest.OptionsCase[Options]{Line: "a", Usage: "takes no argument"})
}
