package undo

import (
	"testing"

	"github.com/picoclaw/picoclaw/cmd/internal/cli"
	"github.com/picoclaw/picoclaw/cmd/internal/clitest"
)

func TestNewCmdUndo(t *testing.T) {
	undo := commonOptions{tool: "undo", output: cli.Text}
	clitest.CheckParsedOptions(t, NewCmdUndo,
		clitest.OptionsCase[Options]{Line: "--force", Want: Options{commonOptions: undo, force: true}},
		clitest.OptionsCase[Options]{Line: "20261121T051354282482850-fzaj --dry-run",
			Want: Options{commonOptions: undo, id: "20261121T051354282482850-fzaj", dryRun: true}},
		clitest.OptionsCase[Options]{Line: "--run", Want: Options{commonOptions: commonOptions{tool: "undo", run: newestRun, output: cli.Text}}},
		clitest.OptionsCase[Options]{Line: "--run r --force", Want: Options{commonOptions: commonOptions{tool: "undo", run: "r", output: cli.Text}, force: true}},
		clitest.OptionsCase[Options]{Line: "--run=r id", Usage: "--run takes one run"},
		clitest.OptionsCase[Options]{Line: "a b", Usage: "undo takes one operation at a time"})
	clitest.CheckParsedOptions(t, NewCmdHistory,
		clitest.OptionsCase[HistoryOptions]{Line: "--agent a --limit 5 --output json",
			Want: HistoryOptions{commonOptions: commonOptions{tool: "history", agent: "a", output: cli.JSON}, limit: 5}},
		clitest.OptionsCase[HistoryOptions]{Line: "--run r", Want: HistoryOptions{commonOptions: commonOptions{tool: "history", run: "r", output: cli.Text}, limit: 20}},
		clitest.OptionsCase[HistoryOptions]{Line: "a", Usage: "takes no argument"})
}
