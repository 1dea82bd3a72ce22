package run

import (
	"testing"

	"github.com/picoclaw/picoclaw/cmd/internal/cli"
	"github.com/picoclaw/picoclaw/cmd/internal/clitest"
)

func TestNewCmdRun(t *testing.T) {
	clitest.CheckParsedOptions(t, NewCmdRun,
		clitest.OptionsCase[Options]{Line: "--project p --worktree w --allow a --allow b --env A=1 --show --agent x -- claude -p --show",
			Want: Options{agent: "x", project: "p", workTree: "w", hosts: []string{"a", "b"}, env: []string{"A=1"}, show: true,
				program: []string{"claude", "-p", "--show"}}},
		clitest.OptionsCase[Options]{Line: "make --always-make", Want: Options{program: []string{"make", "--always-make"}}},
		clitest.OptionsCase[Options]{Line: "--show", Usage: "name the program to run"})
	clitest.CheckParsedOptions(t, NewCmdStatus,
		clitest.OptionsCase[cli.CommonOptions]{Line: "--output json", Want: cli.CommonOptions{Output: cli.JSON}},
		clitest.OptionsCase[cli.CommonOptions]{Line: "a", Usage: "takes no argument"})
	clitest.CheckParsedOptions(t, NewCmdTrust,
		clitest.OptionsCase[TrustOptions]{Line: "--project p --yes --remove", Want: TrustOptions{project: "p", yes: true, remove: true}},
		clitest.OptionsCase[TrustOptions]{Line: "a", Usage: "takes no argument"})
	clitest.CheckParsedOptions(t, NewCmdAllow,
		clitest.OptionsCase[AllowOptions]{Line: "r a.test:80", Want: AllowOptions{run: "r", host: "a.test:80"}},
		clitest.OptionsCase[AllowOptions]{Line: "r", Usage: "want the ID of a run"})
}
