package fleet

import (
	"testing"

	"github.com/picoclaw/picoclaw/cmd/internal/cli"
	"github.com/picoclaw/picoclaw/cmd/internal/clitest"
	"github.com/picoclaw/picoclaw/cmd/picoclaw/internal/membership"
)

func TestNewCmdFleet(t *testing.T) {
	ops := membership.FleetFlags{Address: "ops.fleet"}
	clitest.CheckParsedOptions(t, NewCmdStatus,
		clitest.OptionsCase[Options]{Line: "--fleet ops.fleet", Want: Options{FleetFlags: ops, output: cli.Text}},
		clitest.OptionsCase[Options]{Line: "a", Usage: "takes no argument"})
	clitest.CheckParsedOptions(t, NewCmdWhere,
		clitest.OptionsCase[Options]{Line: "main --fleet ops.fleet", Want: Options{FleetFlags: ops, agent: "main"}},
		clitest.OptionsCase[Options]{Line: "", Usage: "where takes the name of one agent; `picoclaw fleet status`"})
	clitest.CheckParsedOptions(t, NewCmdDrain,
		clitest.OptionsCase[Options]{Line: "build1 --fleet ops.fleet", Want: Options{FleetFlags: ops, worker: "build1"}},
		clitest.OptionsCase[Options]{Line: "a b", Usage: "drain takes the name of one worker"})
	clitest.CheckParsedOptions(t, NewCmdMove,
		clitest.OptionsCase[Options]{Line: "site build2 --fleet ops.fleet",
			Want: Options{FleetFlags: ops, agent: "site", worker: "build2"}},
		clitest.OptionsCase[Options]{Line: "site", Usage: "move takes the names of an agent and a worker"})
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
