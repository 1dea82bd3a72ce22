package approvals

import (
	"testing"

	"github.com/picoclaw/picoclaw/cmd/internal/cli"
	"github.com/picoclaw/picoclaw/cmd/internal/clitest"
)

func TestNewCmdApprovals(t *testing.T) {
	clitest.CheckParsedOptions(t, NewCmdList,
		clitest.OptionsCase[Options]{Line: "--output json", Want: Options{output: cli.JSON}},
		clitest.OptionsCase[Options]{Line: "a", Usage: "takes no argument"})
	clitest.CheckParsedOptions(t, NewCmdShow,
		clitest.OptionsCase[Options]{Line: "5kq2mzra", Want: Options{id: "5kq2mzra", output: cli.Text}},
		clitest.OptionsCase[Options]{Line: "", Usage: "show takes the id of one call"})
	clitest.CheckParsedOptions(t, NewCmdAllow,
		clitest.OptionsCase[Options]{Line: "a --always", Want: Options{id: "a", always: true}},
		clitest.OptionsCase[Options]{Line: "a b", Usage: "allow takes the id of one call"})
	clitest.CheckParsedOptions(t, NewCmdDeny,
		clitest.OptionsCase[Options]{Line: "a --why later", Want: Options{id: "a", reason: "later"}},
		clitest.OptionsCase[Options]{Line: "", Usage: "deny takes the id of one call"})
}
