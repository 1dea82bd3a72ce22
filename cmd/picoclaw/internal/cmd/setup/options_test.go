package setup

import (
	"testing"

	"github.com/spf13/cobra"

	"github.com/picoclaw/picoclaw/cmd/internal/cli"
	"github.com/picoclaw/picoclaw/cmd/internal/clitest"
)

func TestNewCmdInit(t *testing.T) {
	newCmd := func(f *cli.Factory, runF func(*InitOptions) error) *cobra.Command { return NewCmdInit(f, nil, runF) }
	clitest.CheckParsedOptions(t, newCmd,
		clitest.OptionsCase[InitOptions]{Line: "", Want: InitOptions{output: cli.Text}},
		clitest.OptionsCase[InitOptions]{Line: "--client cursor --file f --agent a --yes",
			Want: InitOptions{clients: []string{"cursor"}, file: "f", agent: "a", yes: true, output: cli.Text}},
		clitest.OptionsCase[InitOptions]{Line: "--yes", Usage: "go with --client"},
		clitest.OptionsCase[InitOptions]{Line: "--client codex --level high", Usage: "not known; known are run, guard, tools"},
		clitest.OptionsCase[InitOptions]{Line: "--level run", Usage: "go with --client"},
		clitest.OptionsCase[InitOptions]{Line: "cursor", Usage: "takes no argument"})
}
