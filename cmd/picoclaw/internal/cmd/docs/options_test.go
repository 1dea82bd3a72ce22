package docs

import (
	"testing"

	"github.com/picoclaw/picoclaw/cmd/internal/clitest"
)

func TestNewCmdDocs(t *testing.T) {
	clitest.CheckParsedOptions(t, NewCmdDocs,
		clitest.OptionsCase[Options]{Line: "docs", Want: Options{dir: "docs"}},
		clitest.OptionsCase[Options]{Line: "", Usage: "name the directory to write"})
}
