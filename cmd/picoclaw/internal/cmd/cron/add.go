package cron

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/picoclaw/picoclaw/cmd/internal/cli"
	"github.com/picoclaw/picoclaw/cmd/picoclaw/internal/hosts"
	"github.com/picoclaw/picoclaw/host/schedule"
	"github.com/picoclaw/picoclaw/host/schedule/crontool"
	"github.com/picoclaw/picoclaw/host/session"
)

// AddOptions are the options of cron add.
type AddOptions struct {
	Options
	at, in, every, expr, tz, timeout string
	spec                             schedule.Job
}

func NewCmdAdd(f *cli.Factory, runF func(*AddOptions) error) *cobra.Command {
	v := &AddOptions{Options: Options{Factory: f}}
	cmd := &cobra.Command{
		Use:   "add NAME",
		Short: "Add a job that sends a message to an agent or runs a command",
		Args:  cli.OneArgumentWithNoun(&v.spec.Name, "a name for the job"),
	}
	flags := cmd.Flags()
	flags.StringVar(&v.at, "at", "", "run once at a `time`: 15:04, 2006-01-02 15:04, or 2006-01-02T15:04:05Z")
	flags.StringVar(&v.in, "in", "", "run once after a `duration`, such as 20m or 2d")
	flags.StringVar(&v.every, "every", "", "`duration` between runs")
	flags.StringVar(&v.expr, "cron", "", "cron `expression`: minute, hour, day of the month, month, day of the week")
	flags.StringVar(&v.tz, "tz", "", "time `zone` of --cron, such as Europe/Berlin (default: this machine's)")
	flags.StringVar(&v.spec.Payload.Message, "message", "", "`text` to send to the agent")
	flags.StringVar(&v.spec.Payload.Command, "command", "", "command `line` to run; --message describes it")
	flags.StringVar(&v.timeout, "timeout", "", "maximum `duration` of a run; 0 for no limit (default: tools.cron.exec_timeout_minutes)")
	flags.StringVar(&v.spec.Missed, "missed", "", "missed runs: `once` or skip")
	f.SetFlagCompletion(cmd, "missed", cli.NewWordCompleter(schedule.RunOnce, schedule.SkipMissed))
	v.addFlags(cmd)
	return cli.SetRun(cmd, v, (*AddOptions).addJob, runF)
}

func (v *AddOptions) addJob() error {
	if err := v.openStore(); err != nil {
		return err
	}
	now := time.Now()
	if err := v.parseJobFlags(now); err != nil {
		return err
	}
	if err := v.spec.Validate(); err != nil {
		return cli.UsageErrorf("%w", err)
	}
	if v.spec.Payload.Command != "" {
		if err := v.checkCommandAllowed(); err != nil {
			return err
		}
	}
	j, err := v.store.AddJob(v.spec, now)
	if err != nil {
		return cli.FailedError(err)
	}
	if v.output == cli.JSON {
		return v.printJobJSON(j)
	}
	fmt.Fprintf(v.Out, "job %s is added (%s); next run %s\n", j.Name, j.ID, describeNextRun(j, now))
	v.warnIdle()
	return nil
}

// parseJobFlags creates the job from the flags.
func (v *AddOptions) parseJobFlags(now time.Time) (err error) {
	var set []string
	for flag, value := range map[string]string{"--at": v.at, "--in": v.in, "--every": v.every, "--cron": v.expr} {
		if value != "" {
			set = append(set, flag)
		}
	}
	if len(set) != 1 {
		return cli.UsageErrorf("give one of --at, --in, --every and --cron")
	}
	if v.tz != "" && v.expr == "" {
		return cli.UsageErrorf("--tz applies to --cron; give --at a time with a zone, such as 2006-01-02T15:04:05+02:00")
	}
	var span time.Duration
	switch s := &v.spec.Schedule; set[0] {
	case "--at":
		var at time.Time
		at, err = parseFutureTime(v.at, now)
		*s = schedule.Schedule{Kind: schedule.At, AtMs: at.UnixMilli()}
	case "--in":
		span, err = cli.ParseDuration("--in", v.in)
		*s = schedule.Schedule{Kind: schedule.At, AtMs: now.Add(span).UnixMilli()}
	case "--every":
		span, err = cli.ParseDuration("--every", v.every)
		*s = schedule.Schedule{Kind: schedule.Every, EveryMs: span.Milliseconds()}
	case "--cron":
		*s = schedule.Schedule{Kind: schedule.Cron, Expr: v.expr, TZ: v.tz}
	}
	if err == nil && v.timeout != "" {
		span, err = cli.ParseDuration("--timeout", v.timeout)
		ms := span.Milliseconds()
		v.spec.TimeoutMs = &ms
	}
	return err
}

// checkCommandAllowed returns an error if the guard would not allow a scheduled run of the command.
func (v *AddOptions) checkCommandAllowed() error {
	if !v.agentConfig.Tools.Cron.AllowCommand {
		return cli.FailedError(errors.New(crontool.CommandsDisabledError().AgentText()))
	}
	s, _, done, err := hosts.OpenSessionWith(v.Factory, (*session.Host).OpenPreviewSession, v.agentConfig.ID, session.Cron)
	if err != nil {
		return err
	}
	defer done()
	err = crontool.CheckJobCommand(s, v.spec.Payload.Command)
	if e := (*session.Error)(nil); errors.As(err, &e) {
		err = errors.New(e.AgentText())
	}
	return cli.FailedError(err)
}

// parseFutureTime parses a future time; a time of day is its next occurrence.
func parseFutureTime(text string, now time.Time) (time.Time, error) {
	if at, err := time.ParseInLocation("15:04", text, now.Location()); err == nil {
		at = time.Date(now.Year(), now.Month(), now.Day(), at.Hour(), at.Minute(), 0, 0, now.Location())
		if !at.After(now) {
			at = time.Date(now.Year(), now.Month(), now.Day()+1, at.Hour(), at.Minute(), 0, 0, now.Location())
		}
		return at, nil
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02T15:04", "2006-01-02 15:04"} {
		at, err := time.ParseInLocation(layout, text, now.Location())
		switch {
		case err != nil:
			continue
		case !at.After(now):
			return at, cli.UsageErrorf("--at %q is in the past", text)
		}
		return at, nil
	}
	return time.Time{}, cli.UsageErrorf("--at %q: want 15:04, 2006-01-02 15:04, or 2006-01-02T15:04:05Z", text)
}
