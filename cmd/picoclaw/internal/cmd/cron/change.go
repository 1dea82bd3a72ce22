package cron

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/picoclaw/picoclaw/cmd/internal/cli"
	"github.com/picoclaw/picoclaw/cmd/internal/terminal"
	"github.com/picoclaw/picoclaw/host/schedule"
)

// NewCmdSwitch is `picoclaw cron enable` and `disable`.
func NewCmdSwitch(f *cli.Factory, on bool, runF func(*Options) error) *cobra.Command {
	v := &Options{Factory: f}
	verb, short := "disable", "Disable a job"
	if on {
		verb, short = "enable", "Enable a job"
	}
	cmd := &cobra.Command{
		Use:     verb + " JOB",
		Short:   short,
		Example: "  picoclaw cron " + verb + " standup",
		Args:    v.oneJob(),
		RunE: func(*cobra.Command, []string) error {
			return v.with(func(s *schedule.Store, job string) (schedule.Job, error) {
				return s.UpdateJob(job, time.Now(), func(j *schedule.Job) { j.Enabled = on })
			}, func(j schedule.Job) {
				text := fmt.Sprintf("job %s is %sd", terminal.Line(j.Name), verb)
				if on {
					text += "; it runs next " + nextRun(j, time.Now())
				}
				fmt.Fprintln(f.Out, text)
			})
		},
		ValidArgsFunction: cli.CompleteFirst(v.names),
	}
	v.flags(cmd)
	return cli.NewCommand(cmd, v, runF)
}

// with does something to the job and shows what it is then.
func (v *Options) with(do func(*schedule.Store, string) (schedule.Job, error), show func(schedule.Job)) error {
	if err := v.open(); err != nil {
		return err
	}
	j, err := do(v.store, v.job)
	if err != nil {
		return cli.Fail(err)
	}
	if v.output == cli.JSON {
		return v.printJob(j)
	}
	show(j)
	return nil
}

// RemoveOptions are the options of `picoclaw cron remove`.
type RemoveOptions struct{ Options }

func NewCmdRemove(f *cli.Factory, runF func(*RemoveOptions) error) *cobra.Command {
	v := &RemoveOptions{Options: Options{Factory: f}}
	cmd := &cobra.Command{
		Use:               "remove JOB",
		Aliases:           []string{"rm"},
		Short:             "Remove a job; a current run continues to its end",
		Example:           "  picoclaw cron remove standup",
		Args:              v.oneJob(),
		RunE:              func(*cobra.Command, []string) error { return v.run() },
		ValidArgsFunction: cli.CompleteFirst(v.names),
	}
	v.flags(cmd)
	return cli.NewCommand(cmd, v, runF)
}

func (v *RemoveOptions) run() error {
	return v.with((*schedule.Store).RemoveJob, func(j schedule.Job) {
		fmt.Fprintf(v.Out, "job %s is removed\n", terminal.Line(j.Name))
	})
}

// ShowOptions are the options of `picoclaw cron show`.
type ShowOptions struct{ Options }

func NewCmdShow(f *cli.Factory, runF func(*ShowOptions) error) *cobra.Command {
	v := &ShowOptions{Options: Options{Factory: f}}
	cmd := &cobra.Command{
		Use:               "show JOB",
		Short:             "Show a job and its last run",
		Example:           "  picoclaw cron show standup",
		Args:              v.oneJob(),
		RunE:              func(*cobra.Command, []string) error { return v.run() },
		ValidArgsFunction: cli.CompleteFirst(v.names),
	}
	v.flags(cmd)
	return cli.NewCommand(cmd, v, runF)
}

func (v *ShowOptions) run() error {
	return v.with((*schedule.Store).Job, func(j schedule.Job) {
		v.show(j)
		v.sayIdle()
	})
}

func (v *Options) show(j schedule.Job) {
	out := terminal.New(v.Out)
	limit := "tools.cron.exec_timeout_minutes"
	if ms := j.TimeoutMs; ms != nil {
		limit = (time.Duration(*ms) * time.Millisecond).String()
		if *ms == 0 {
			limit = "none"
		}
	}
	missed := "left out"
	if j.RunsIfMissed() {
		missed = "run once"
	}
	within := ""
	if j.Scope != nil {
		within = strings.Join(append([]string{j.Scope.Workspace}, j.Scope.Paths...), " ")
	}
	fmt.Fprintf(out, "%s (%s)\n", out.Paint(terminal.Bold, terminal.Line(j.Name)), j.ID)
	for _, line := range []struct{ name, text string }{
		{"agent", v.of.ID}, {"when", j.Schedule.String()}, {"next run", nextRun(j, time.Now())}, {"message", j.Payload.Message},
		{"command", j.Payload.Command}, {"within", within}, {"timeout", limit}, {"missed", missed}, {"last run", lastRun(j)}, {"error", j.State.LastError},
	} {
		if line.text != "" {
			fmt.Fprintf(out, "  %-9s %s\n", line.name, strings.ReplaceAll(out.Clean(line.text), "\n", "\n            "))
		}
	}
}
