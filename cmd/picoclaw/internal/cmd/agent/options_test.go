package agent

import (
	"testing"

	"github.com/picoclaw/picoclaw/cmd/internal/cli"
	"github.com/picoclaw/picoclaw/cmd/internal/clitest"
)

func TestNewCmdAgent(t *testing.T) {
	clitest.CheckOptions(t, NewCmdAgent,
		clitest.CommandLine[Options]{Line: "", Want: Options{session: "cli:default", output: cli.Text}},
		clitest.CommandLine[Options]{Line: "-m - -s review --agent reader --model fast --output json",
			Want: Options{message: "-", once: true, session: "review", agent: "reader", model: "fast", output: cli.JSON}},
		clitest.CommandLine[Options]{Line: "--output json", Usage: "add -m TASK"},
		clitest.CommandLine[Options]{Line: "hello", Usage: `takes no argument "hello"`})
}

func TestNewCmdSessions(t *testing.T) {
	clitest.CheckOptions(t, NewCmdSessions,
		clitest.CommandLine[SessionsOptions]{Line: "--agent reader", Want: SessionsOptions{id: "reader", output: cli.Text}},
		clitest.CommandLine[SessionsOptions]{Line: "a", Usage: "takes no argument"})
	clitest.CheckOptions(t, NewCmdForget,
		clitest.CommandLine[ForgetOptions]{Line: "s1 --agent reader", Want: ForgetOptions{session: "s1", agent: "reader"}},
		clitest.CommandLine[ForgetOptions]{Line: "", Usage: "forget which session?"},
		clitest.CommandLine[ForgetOptions]{Line: "a b", Usage: "forget which session?"})
}

func TestNewCmdAgents(t *testing.T) {
	clitest.CheckOptions(t, NewCmdAgents,
		clitest.CommandLine[AgentsOptions]{Line: "--output json", Want: AgentsOptions{output: cli.JSON}},
		clitest.CommandLine[AgentsOptions]{Line: "sho", Usage: "show"})
	clitest.CheckOptions(t, NewCmdAgentsShow,
		clitest.CommandLine[AgentsShowOptions]{Line: "", Want: AgentsShowOptions{output: cli.Text}},
		clitest.CommandLine[AgentsShowOptions]{Line: "guest", Want: AgentsShowOptions{id: "guest", output: cli.Text}},
		clitest.CommandLine[AgentsShowOptions]{Line: "a b", Usage: "show takes the id of one agent"})
}
