package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/picoclaw/picoclaw/cmd/picoclaw/internal/terminal"
	"github.com/picoclaw/picoclaw/host/schedule"
)

// cronLogOptions are the options of `picoclaw cron log`.
type cronLogOptions struct {
	cronVerb

	limit int
}

func newCronLog(a *app, runF func(*cronLogOptions) error) *cobra.Command {
	v := &cronLogOptions{cronVerb: cronVerb{app: a}}

	cmd := &cobra.Command{
		Use:   "log [JOB]",
		Short: "Show what became of an agent's jobs and heartbeats, or of one job",
		Long: `Shows the runs that have ended, the oldest first: ok, error, timeout or skipped, with what they had to say. Those of
heartbeats are shown by the name heartbeat.`,
		Example: "  picoclaw cron log\n  picoclaw cron log heartbeat --limit 5\n  picoclaw cron log --output json",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return oneJob(cmd, args)
			}
			return nil
		},
		RunE:              func(_ *cobra.Command, args []string) error { return v.run(args) },
		ValidArgsFunction: v.names,
	}
	cmd.Flags().IntVar(&v.limit, "limit", 20, "how many, the last ones")
	v.flags(cmd)
	return newCommand(cmd, v, runF)
}

func (v *cronLogOptions) run(args []string) error {
	if err := v.open(); err != nil {
		return err
	}
	runs, err := v.runs(args, v.limit)
	if err != nil {
		return err
	}
	if v.output == jsonOutput {
		for _, r := range runs {
			if err := v.printJSON(r); err != nil {
				return err
			}
		}
		return nil
	}
	if len(runs) == 0 {
		fmt.Fprintln(v.stdout, "Nothing has run yet.")
		v.sayIdle()
	}
	out := terminal.New(v.stdout)
	for _, r := range runs {
		showRun(out, r)
	}
	return nil
}

// runs are those of all jobs, or of one, which may be gone meanwhile.
func (v *cronVerb) runs(args []string, limit int) ([]schedule.Record, error) {
	if limit < 1 {
		return nil, usage("--limit %d: want 1 or more", limit)
	}
	if len(args) == 0 {
		args = []string{""}
	}
	runs, err := v.store.Runs(args[0], limit)
	if err == nil && len(runs) == 0 && args[0] != "" && args[0] != schedule.HeartbeatID {
		_, err = v.store.Job(args[0])
	}
	return runs, asFailed(err)
}

func showRun(out *terminal.Out, r schedule.Record) {
	style := terminal.Bad
	switch r.Status {
	case schedule.OK:
		style = terminal.Good
	case schedule.Skipped:
		style = terminal.Doubt
	}
	took := ""
	if r.Status != schedule.Skipped {
		took = fmt.Sprintf(" (%s)", time.Duration(r.Millis)*time.Millisecond)
	}
	fmt.Fprintf(out, "%s  %s  %s%s\n", r.Time.Local().Format(time.DateTime), out.Paint(style, fmt.Sprintf("%-7s", r.Status)),
		terminal.Line(r.Name), took)
	for _, text := range []string{r.Error, r.Text} {
		if text = strings.TrimSpace(text); text != "" {
			fmt.Fprintf(out, "    %s\n", strings.ReplaceAll(out.Clean(text), "\n", "\n    "))
		}
	}
}
