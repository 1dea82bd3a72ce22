package cron

import (
	"fmt"
	"strings"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"github.com/picoclaw/picoclaw/cmd/internal/cli"
	"github.com/picoclaw/picoclaw/cmd/internal/terminal"
	"github.com/picoclaw/picoclaw/host/schedule"
)

// jobList is the JSON output of `picoclaw cron list`.
type jobList struct {
	Agent string         `json:"agent"`
	Idle  string         `json:"idle,omitzero"` // why no job runs now
	Jobs  []schedule.Job `json:"jobs"`
}

func NewCmdList(f *cli.Factory, runF func(*Options) error) *cobra.Command {
	v := &Options{Factory: f}
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List an agent's jobs and their next runs",
	}
	v.addFlags(cmd)
	return cli.SetRun(cmd, v, (*Options).listJobs, runF)
}

func (v *Options) listJobs() error {
	if err := v.openStore(); err != nil {
		return err
	}
	jobs, err := v.store.Jobs()
	if err != nil {
		return cli.FailedError(err)
	}
	if v.output == cli.JSON {
		return jsonv2.MarshalWrite(v.Out, jobList{v.agentConfig.ID, v.idleReason(), jobs}, jsontext.Multiline(false))
	}
	if len(jobs) == 0 {
		fmt.Fprintf(v.Out, "Agent %s has no jobs; `picoclaw cron add` adds one.\n", v.agentConfig.ID)
		return nil
	}
	table := terminal.NewTable("ID", "NAME", "WHEN", "LAST RUN", "NEXT RUN")
	for _, j := range jobs {
		table.AddRow(j.ID, terminal.Shorten(j.Name, 40), j.Schedule.String(), describeLastRun(j), describeNextRun(j, time.Now()))
		if s := j.State.LastStatus; s == schedule.Failed || s == schedule.Timeout {
			table.StyleCell(3, terminal.Bad)
		}
	}
	if err := table.Write(terminal.NewWriter(v.Out)); err != nil {
		return err
	}
	v.warnIdle()
	return nil
}

// describeLastRun returns time and status of a job's last run.
func describeLastRun(j schedule.Job) string {
	text := string(j.State.LastStatus)
	if j.State.LastRunAtMs > 0 {
		text += " " + time.UnixMilli(j.State.LastRunAtMs).Format("2006-01-02 15:04")
	}
	return text
}

// LogOptions are the options of `picoclaw cron log`.
type LogOptions struct {
	Options
	limit int
}

func NewCmdLog(f *cli.Factory, runF func(*LogOptions) error) *cobra.Command {
	v := &LogOptions{Options: Options{Factory: f}}
	cmd := &cobra.Command{
		Use:               "log [JOB]",
		Short:             "Show results of an agent's jobs and heartbeats, or of one job",
		Args:              cli.NoArgumentsOr(v.oneJobArgument()),
		ValidArgsFunction: cli.NewFirstArgumentCompleter(v.completeJobs),
	}
	cmd.Flags().IntVar(&v.limit, "limit", 20, "number of latest runs")
	v.addFlags(cmd)
	return cli.SetRun(cmd, v, (*LogOptions).showLog, runF)
}

func (v *LogOptions) showLog() error {
	if err := v.openStore(); err != nil {
		return err
	}
	runs, err := v.readRuns(v.limit)
	if v.output == cli.JSON {
		for _, r := range runs {
			if printErr := v.PrintJSON(r); printErr != nil {
				return printErr
			}
		}
		return err
	}
	if len(runs) == 0 && err == nil {
		fmt.Fprintln(v.Out, "Nothing has run yet.")
		v.warnIdle()
	}
	out := terminal.NewWriter(v.Out)
	for _, r := range runs {
		printRun(out, r)
	}
	return err
}

// readRuns returns the latest runs of all jobs or of one job, which may have been removed.
func (v *Options) readRuns(limit int) ([]schedule.RunRecord, error) {
	if limit < 1 {
		return nil, cli.UsageErrorf("--limit %d: want 1 or more", limit)
	}
	runs, err := v.store.RecentRuns(v.job, limit)
	if err == nil && len(runs) == 0 && v.job != "" && v.job != schedule.HeartbeatID {
		_, err = v.store.Job(v.job)
	}
	return runs, cli.FailedError(err)
}

func printRun(out *terminal.Writer, r schedule.RunRecord) {
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
		terminal.CleanLine(r.Name), took)
	for _, text := range []string{r.Error, r.Text} {
		if text = strings.TrimSpace(text); text != "" {
			fmt.Fprintf(out, "    %s\n", strings.ReplaceAll(out.ReplaceControls(text), "\n", "\n    "))
		}
	}
}
