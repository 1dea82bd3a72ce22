package cron

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/picoclaw/picoclaw/cmd/internal/cli"
	"github.com/picoclaw/picoclaw/cmd/internal/terminal"
	"github.com/picoclaw/picoclaw/host/schedule"
)

// NewCmdEnable returns `picoclaw cron enable`, or `disable` if on is false.
func NewCmdEnable(f *cli.Factory, on bool, runF func(*Options) error) *cobra.Command {
	verb, short := "disable", "Disable a job"
	if on {
		verb, short = "enable", "Enable a job"
	}
	return newJobCommand(f, &cobra.Command{Use: verb + " JOB", Short: short}, func(v *Options) error {
		return v.callStoreAndPrintJob(func(s *schedule.Store, job string) (schedule.Job, error) {
			return s.UpdateJob(job, time.Now(), func(j *schedule.Job) { j.Enabled = on })
		}, func(j schedule.Job) {
			text := fmt.Sprintf("job %s is %sd", terminal.CleanLine(j.Name), verb)
			if on {
				text += "; next run " + describeNextRun(j, time.Now())
			}
			fmt.Fprintln(f.Out, text)
		})
	}, runF)
}

// newJobCommand returns cmd with a job as argument.
func newJobCommand(f *cli.Factory, cmd *cobra.Command, run, runF func(*Options) error) *cobra.Command {
	v := &Options{Factory: f}
	cmd.Args, cmd.ValidArgsFunction = v.oneJobArgument(), cli.NewFirstArgumentCompleter(v.completeJobs)
	v.addFlags(cmd)
	return cli.SetRun(cmd, v, run, runF)
}

// callStoreAndPrintJob calls a function of the store for the job, and prints its result as JSON or with show.
func (v *Options) callStoreAndPrintJob(do func(*schedule.Store, string) (schedule.Job, error), show func(schedule.Job)) error {
	if err := v.openStore(); err != nil {
		return err
	}
	j, err := do(v.store, v.job)
	if err != nil {
		return cli.FailedError(err)
	}
	if v.output == cli.JSON {
		return v.printJobJSON(j)
	}
	show(j)
	return nil
}

func NewCmdRemove(f *cli.Factory, runF func(*Options) error) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "remove JOB",
		Aliases: []string{"rm"},
		Short:   "Remove a job; a current run continues to its end",
	}
	return newJobCommand(f, cmd, (*Options).removeJob, runF)
}

func (v *Options) removeJob() error {
	return v.callStoreAndPrintJob((*schedule.Store).RemoveJob, func(j schedule.Job) {
		fmt.Fprintf(v.Out, "job %s is removed\n", terminal.CleanLine(j.Name))
	})
}

func NewCmdShow(f *cli.Factory, runF func(*Options) error) *cobra.Command {
	cmd := &cobra.Command{Use: "show JOB", Short: "Show a job and its last run"}
	return newJobCommand(f, cmd, (*Options).runShow, runF)
}

func (v *Options) runShow() error {
	return v.callStoreAndPrintJob((*schedule.Store).Job, func(j schedule.Job) {
		v.printJobDetails(j)
		v.warnIdle()
	})
}

// printJobDetails prints a job with its schedule, action and last run.
func (v *Options) printJobDetails(j schedule.Job) {
	out := terminal.NewWriter(v.Out)
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
	within := strings.TrimSpace(strings.Join(slices.Concat([]string{j.Scope.Workspace}, j.Scope.Paths, slices.Concat(j.Scope.Tools...)), " "))
	fmt.Fprintf(out, "%s (%s)\n", out.Paint(terminal.Bold, terminal.CleanLine(j.Name)), j.ID)
	for _, line := range []struct{ name, text string }{
		{"agent", v.agentConfig.ID}, {"when", j.Schedule.String()}, {"next run", describeNextRun(j, time.Now())}, {"message", j.Payload.Message},
		{"command", j.Payload.Command}, {"within", within}, {"timeout", limit}, {"missed", missed}, {"last run", describeLastRun(j)}, {"error", j.State.LastError},
	} {
		if line.text != "" {
			fmt.Fprintf(out, "  %-9s %s\n", line.name, strings.ReplaceAll(out.ReplaceControls(line.text), "\n", "\n            "))
		}
	}
}
