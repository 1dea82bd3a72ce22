package config

import (
	"testing"

	"github.com/picoclaw/picoclaw/cmd/internal/cli"
	"github.com/picoclaw/picoclaw/cmd/internal/clitest"
)

func TestNewCmdConfig(t *testing.T) {
	clitest.CheckParsedOptions(t, NewCmdShow,
		clitest.OptionsCase[ShowOptions]{Line: "", Want: ShowOptions{output: cli.Text}},
		clitest.OptionsCase[ShowOptions]{Line: "tools.exec isolation --changed --agent a",
			Want: ShowOptions{keys: []string{"tools.exec", "isolation"}, changed: true, agent: "a", output: cli.Text}},
		clitest.OptionsCase[ShowOptions]{Line: "--changde", Usage: "unknown flag"})
	clitest.CheckParsedOptions(t, NewCmdCheck,
		clitest.OptionsCase[cli.CommonOptions]{Line: "--output json", Want: cli.CommonOptions{Output: cli.JSON}},
		clitest.OptionsCase[cli.CommonOptions]{Line: "file.json", Usage: "takes no argument"})
	clitest.CheckParsedOptions(t, NewCmdSchema,
		clitest.OptionsCase[cli.CommonOptions]{Line: "", Want: cli.CommonOptions{}},
		clitest.OptionsCase[cli.CommonOptions]{Line: "file.json", Usage: "takes no argument"})
}
