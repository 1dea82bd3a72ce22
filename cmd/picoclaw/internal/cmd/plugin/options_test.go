package plugin

import (
	"testing"

	"github.com/spf13/cobra"

	"github.com/picoclaw/picoclaw/cmd/internal/cli"
	"github.com/picoclaw/picoclaw/cmd/internal/clitest"
	"github.com/picoclaw/picoclaw/cmd/picoclaw/internal/install"
	"github.com/picoclaw/picoclaw/host/store"
)

func TestNewCmdPlugin(t *testing.T) {
	text := install.Options{Output: cli.Text}
	clitest.CheckParsedOptions(t, NewCmdList,
		clitest.OptionsCase[cli.CommonOptions]{Line: "--output json", Want: cli.CommonOptions{Output: cli.JSON}},
		clitest.OptionsCase[cli.CommonOptions]{Line: "a", Usage: "takes no argument"})
	clitest.CheckParsedOptions(t, NewCmdInfo,
		clitest.OptionsCase[cli.CommonOptions]{Line: "grep", Want: cli.CommonOptions{Argument: "grep", Output: cli.Text}},
		clitest.OptionsCase[cli.CommonOptions]{Line: "", Usage: "info takes the id of one plugin"})
	clitest.CheckParsedOptions(t, NewCmdInstall,
		clitest.OptionsCase[InstallOptions]{Line: "a.tar.gz", Want: InstallOptions{Options: text, source: "a.tar.gz"}},
		clitest.OptionsCase[InstallOptions]{Line: "", Usage: "name one directory or archive"})
	clitest.CheckParsedOptions(t, NewCmdUpdate,
		clitest.OptionsCase[UpdateOptions]{Line: "a", Want: UpdateOptions{Options: text, source: "a"}},
		clitest.OptionsCase[UpdateOptions]{Line: "a b", Usage: "one whose new version waits"})
	clitest.CheckParsedOptions(t, NewCmdRemove,
		clitest.OptionsCase[RemoveOptions]{Line: "a", Want: RemoveOptions{Options: text, id: "a"}},
		clitest.OptionsCase[RemoveOptions]{Line: "", Usage: "remove takes the id of one plugin"})
	clitest.CheckParsedOptions(t, NewCmdVerify,
		clitest.OptionsCase[cli.CommonOptions]{Line: "", Want: cli.CommonOptions{Output: cli.Text}},
		clitest.OptionsCase[cli.CommonOptions]{Line: "a", Want: cli.CommonOptions{Argument: "a", Output: cli.Text}},
		clitest.OptionsCase[cli.CommonOptions]{Line: "a b", Usage: "verify takes the id of one plugin"})
	clitest.CheckParsedOptions(t, NewCmdReset,
		clitest.OptionsCase[cli.CommonOptions]{Line: "a", Want: cli.CommonOptions{Argument: "a", Output: cli.Text}},
		clitest.OptionsCase[cli.CommonOptions]{Line: "", Usage: "reset takes the id of one plugin"})
	clitest.CheckParsedOptions(t, NewCmdCheck,
		clitest.OptionsCase[CheckOptions]{Line: "a --strict", Want: CheckOptions{source: "a", strict: true, output: cli.Text}},
		clitest.OptionsCase[CheckOptions]{Line: "", Usage: "name one directory or archive"})
	clitest.CheckParsedOptions(t, NewCmdNew,
		clitest.OptionsCase[NewOptions]{Line: "a --dir d --module m --sdk s",
			Want: NewOptions{id: "a", dir: "d", module: "m", sdk: "s", output: cli.Text}},
		clitest.OptionsCase[NewOptions]{Line: "", Usage: "name the plugin"},
		clitest.OptionsCase[NewOptions]{Line: "a b", Usage: `remove "b"`})
	for _, on := range []bool{true, false} {
		newCmd := func(f *cli.Factory, runF func(*EnableOptions) error) *cobra.Command { return NewCmdEnable(f, on, runF) }
		clitest.CheckParsedOptions(t, newCmd,
			clitest.OptionsCase[EnableOptions]{Line: "shell --tool exec --agent guest",
				Want: EnableOptions{off: store.DisableRule{Plugin: "shell", Tool: "exec", Agent: "guest"}, output: cli.Text}},
			clitest.OptionsCase[EnableOptions]{Line: "", Usage: "takes the id of one plugin"})
	}
}
