package fleet

import (
	"testing"

	"github.com/picoclaw/picoclaw/cmd/internal/cli"
	"github.com/picoclaw/picoclaw/cmd/internal/clitest"
	"github.com/picoclaw/picoclaw/cmd/picoclaw/internal/membership"
)

func TestNewCmdFleet(t *testing.T) {
	ops := Options{membership.FleetFlags{Address: "ops.fleet"}}
	clitest.CheckParsedOptions(t, NewCmdStatus,
		clitest.OptionsCase[StatusOptions]{Line: "--fleet ops.fleet", Want: StatusOptions{Options: ops, output: cli.Text}},
		clitest.OptionsCase[StatusOptions]{Line: "a", Usage: "takes no argument"})
	clitest.CheckParsedOptions(t, NewCmdWhere,
		clitest.OptionsCase[WhereOptions]{Line: "main --fleet ops.fleet", Want: WhereOptions{Options: ops, agent: "main"}},
		clitest.OptionsCase[WhereOptions]{Line: "", Usage: "where takes the name of one agent; `picoclaw fleet status`"})
	clitest.CheckParsedOptions(t, NewCmdDrain,
		clitest.OptionsCase[DrainOptions]{Line: "build1 --fleet ops.fleet", Want: DrainOptions{Options: ops, worker: "build1"}},
		clitest.OptionsCase[DrainOptions]{Line: "a b", Usage: "drain takes the name of one worker"})
	clitest.CheckParsedOptions(t, NewCmdMove,
		clitest.OptionsCase[MoveOptions]{Line: "site build2 --fleet ops.fleet",
			Want: MoveOptions{Options: ops, agent: "site", worker: "build2"}},
		clitest.OptionsCase[MoveOptions]{Line: "site", Usage: "move takes the names of an agent and a worker"})
	clitest.CheckParsedOptions(t, NewCmdWorker,
		clitest.OptionsCase[WorkerOptions]{Line: "--fleet ops.fleet --name w",
			Want: WorkerOptions{membership.FleetFlags{Address: "ops.fleet", Name: "w"}}},
		clitest.OptionsCase[WorkerOptions]{Line: "w", Usage: "takes no argument"})
}

func TestNewCmdFleetConfig(t *testing.T) {
	clitest.CheckParsedOptions(t, NewCmdConfigPush,
		clitest.OptionsCase[ConfigOptions]{Line: "fleet.json --key k --fleet ops.fleet",
			Want: ConfigOptions{source: "fleet.json", key: "k", file: "ops.fleet"}},
		clitest.OptionsCase[ConfigOptions]{Line: "", Usage: "push takes the name of one configuration file"})
	clitest.CheckParsedOptions(t, NewCmdConfigRollback,
		clitest.OptionsCase[ConfigOptions]{Line: "--to 3 --key k", Want: ConfigOptions{serial: 3, key: "k"}},
		clitest.OptionsCase[ConfigOptions]{Line: "--to x", Usage: "to"})
	clitest.CheckParsedOptions(t, NewCmdConfigShow,
		clitest.OptionsCase[ConfigOptions]{Line: "--serial 3", Want: ConfigOptions{serial: 3}},
		clitest.OptionsCase[ConfigOptions]{Line: "3", Usage: "takes no argument"})
}
