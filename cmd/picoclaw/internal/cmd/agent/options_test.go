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
		clitest.OptionsCase[SessionsOptions]{Line: "--agent reader", Want: SessionsOptions{id: "reader", output: cli.Text}},
		clitest.OptionsCase[SessionsOptions]{Line: "a", Usage: "takes no argument"})
	clitest.CheckParsedOptions(t, NewCmdForget,
		clitest.OptionsCase[ForgetOptions]{Line: "s1 --agent reader", Want: ForgetOptions{session: "s1", agent: "reader"}},
		clitest.OptionsCase[ForgetOptions]{Line: "", Usage: "name the session to delete"},
		clitest.OptionsCase[ForgetOptions]{Line: "a b", Usage: "name the session to delete"})
}

func TestNewCmdAgents(t *testing.T) {
	clitest.CheckParsedOptions(t, NewCmdAgents,
		clitest.OptionsCase[AgentsOptions]{Line: "--output json", Want: AgentsOptions{output: cli.JSON}},
		clitest.OptionsCase[AgentsOptions]{Line: "sho", Usage: "show"})
	clitest.CheckParsedOptions(t, NewCmdAgentsShow,
		clitest.OptionsCase[AgentsShowOptions]{Line: "", Want: AgentsShowOptions{output: cli.Text}},
		clitest.OptionsCase[AgentsShowOptions]{Line: "guest", Want: AgentsShowOptions{id: "guest", output: cli.Text}},
		clitest.OptionsCase[AgentsShowOptions]{Line: "a b", Usage: "show takes the id of one agent"})
}
