package console

import (
	"testing"

	"github.com/picoclaw/picoclaw/cmd/internal/clitest"
)

func TestNewCmdConsole(t *testing.T) {
	clitest.CheckOptions(t, NewCmdConsole,
		clitest.CommandLine[Options]{Line: "--operate", Want: Options{operate: true}},
		clitest.CommandLine[Options]{Line: "a", Usage: "takes no argument"})
}
