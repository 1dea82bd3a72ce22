package cron

import (
	"testing"

	"github.com/spf13/cobra"

	"github.com/picoclaw/picoclaw/cmd/internal/cli"
	"github.com/picoclaw/picoclaw/cmd/internal/clitest"
	"github.com/picoclaw/picoclaw/host/schedule"
)

func TestNewCmdCron(t *testing.T) {
	text := Options{output: cli.Text}
	job := Options{job: "standup", agent: "a", output: cli.Text}
	clitest.CheckParsedOptions(t, NewCmdList,
		clitest.OptionsCase[Options]{Line: "", Want: text},
		clitest.OptionsCase[Options]{Line: "standup", Usage: "takes no argument"})
	clitest.CheckParsedOptions(t, NewCmdShow,
		clitest.OptionsCase[Options]{Line: "standup --agent a", Want: job},
		clitest.OptionsCase[Options]{Line: "", Usage: "show takes the id or name of one job"})
	clitest.CheckParsedOptions(t, NewCmdRemove,
		clitest.OptionsCase[Options]{Line: "standup --agent a", Want: job},
		clitest.OptionsCase[Options]{Line: "a b", Usage: "remove takes the id or name of one job"})
	clitest.CheckParsedOptions(t, NewCmdLog,
		clitest.OptionsCase[LogOptions]{Line: "", Want: LogOptions{Options: text, limit: 20}},
		clitest.OptionsCase[LogOptions]{Line: "standup --limit 5 --agent a", Want: LogOptions{Options: job, limit: 5}},
		clitest.OptionsCase[LogOptions]{Line: "a b", Usage: "log takes the id or name of one job"})
	for _, on := range []bool{true, false} {
		newCmd := func(f *cli.Factory, runF func(*Options) error) *cobra.Command { return NewCmdEnable(f, on, runF) }
		clitest.CheckParsedOptions(t, newCmd,
			clitest.OptionsCase[Options]{Line: "standup --agent a", Want: job},
			clitest.OptionsCase[Options]{Line: "", Usage: "takes the id or name of one job"})
	}
}

func TestNewCmdAdd(t *testing.T) {
	clitest.CheckParsedOptions(t, NewCmdAdd,
		clitest.OptionsCase[AddOptions]{Line: "tea --in 4m --message go --missed skip --timeout 1m", Want: AddOptions{
			Options: Options{output: cli.Text}, in: "4m", timeout: "1m",
			spec: schedule.Job{Name: "tea", Missed: "skip", Payload: schedule.JobPayload{Message: "go"}}}},
		clitest.OptionsCase[AddOptions]{Line: "--in 4m", Usage: "add takes a name for the job"})
}
