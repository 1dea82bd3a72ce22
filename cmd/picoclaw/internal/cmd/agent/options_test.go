package agent

import (
	"testing"

	"github.com/picoclaw/picoclaw/cmd/internal/cli"
	"github.com/picoclaw/picoclaw/cmd/internal/clitest"
)

func TestNewCmdAgent(t *testing.T) {
	clitest.CheckParsedOptions(t, NewCmdAgent,
		clitest.OptionsCase[Options]{Line: "", Want: Options{session: "cli:default", output: cli.Text}},
		clitest.OptionsCase[Options]{Line: "-m - -s review --agent reader --model fast --output json",
			Want: Options{message: "-", once: true, session: "review", agent: "reader", model: "fast", output: cli.JSON}},
		clitest.OptionsCase[Options]{Line: "--output json", Usage: "add -m TASK"},
		clitest.OptionsCase[Options]{Line: "hello", Usage: `takes no argument "hello"`})
}

func TestNewCmdSessions(t *testing.T) {
	clitest.CheckParsedOptions(t, NewCmdSessions,
		clitest.OptionsCase[cli.CommonOptions]{Line: "--agent reader", Want: cli.CommonOptions{Agent: "reader", Output: cli.Text}},
		clitest.OptionsCase[cli.CommonOptions]{Line: "a", Usage: "takes no argument"})
	clitest.CheckParsedOptions(t, NewCmdForget,
		clitest.OptionsCase[cli.CommonOptions]{Line: "s1 --agent reader", Want: cli.CommonOptions{Argument: "s1", Agent: "reader"}},
		clitest.OptionsCase[cli.CommonOptions]{Line: "", Usage: "name the session to delete"},
		clitest.OptionsCase[cli.CommonOptions]{Line: "a b", Usage: "name the session to delete"})
}

func TestNewCmdAgents(t *testing.T) {
	clitest.CheckParsedOptions(t, NewCmdAgents,
		clitest.OptionsCase[cli.CommonOptions]{Line: "--output json", Want: cli.CommonOptions{Output: cli.JSON}},
		clitest.OptionsCase[cli.CommonOptions]{Line: "sho", Usage: "show"})
	clitest.CheckParsedOptions(t, NewCmdAgentsShow,
		clitest.OptionsCase[cli.CommonOptions]{Line: "", Want: cli.CommonOptions{Output: cli.Text}},
		clitest.OptionsCase[cli.CommonOptions]{Line: "guest", Want: cli.CommonOptions{Argument: "guest", Output: cli.Text}},
		clitest.OptionsCase[cli.CommonOptions]{Line: "a b", Usage: "show takes the id of one agent"})
}
