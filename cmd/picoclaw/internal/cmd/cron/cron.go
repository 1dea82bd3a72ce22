// Package cron has the command cron.
package cron

import (
	"errors"
	"fmt"
	"io/fs"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/spf13/cobra"

	"github.com/picoclaw/picoclaw/cmd/internal/cli"
	"github.com/picoclaw/picoclaw/cmd/internal/terminal"
	"github.com/picoclaw/picoclaw/host/config"
	"github.com/picoclaw/picoclaw/host/killswitch"
	"github.com/picoclaw/picoclaw/host/pidfile"
	"github.com/picoclaw/picoclaw/host/schedule"
)

func NewCmdCron(f *cli.Factory) *cobra.Command {
	return cli.NewGroupCommand(&cobra.Command{
		Use:        "cron",
		SuggestFor: []string{"schedule", "jobs"},
		Short:      "Manage the scheduled jobs of agents",
	}, NewCmdList(f, nil), NewCmdAdd(f, nil), NewCmdShow(f, nil), NewCmdRemove(f, nil), NewCmdEnable(f, true, nil),
		NewCmdEnable(f, false, nil),
		NewCmdLog(f, nil))
}

// Options are the options that the commands of `picoclaw cron` share.
type Options struct {
	*cli.Factory
	agent  string
	job    string // an id or a name
	output cli.OutputFormat

	agentConfig *config.AgentConfig
	home        string
	store       *schedule.Store
}

func (v *Options) addFlags(cmd *cobra.Command) {
	v.AddAgentFlag(cmd, &v.agent, "the agent with the jobs (default: the first one)")
	v.AddOutputFlag(cmd, &v.output)
}

// openStore opens the store of the agent's jobs.
func (v *Options) openStore() error {
	cfg, err := v.LoadConfig(v.agent)
	if err != nil {
		return err
	}
	home := cfg.Home()
	if home.Fallback {
		return cli.StartError(errors.New("there is no home for jobs; set PICOCLAW_HOME or HOME to an absolute directory"))
	}
	if v.agentConfig, err = cfg.ResolveAgent(v.agent); err != nil {
		return cli.UsageErrorf("%w", err)
	}
	v.home, v.store = home.Path, schedule.OpenStore(home.Path, v.agentConfig.ID)
	return nil
}

// idleReason returns the reason why no job of the agent runs, as a sentence; empty if jobs run.
func (v *Options) idleReason() string {
	if !v.agentConfig.Tools.Cron.Enabled {
		return fmt.Sprintf("No job of agent %s runs: tools.cron.enabled is false.", v.agentConfig.ID)
	}
	if stop := killswitch.ReadStopOfAgent(v.home, v.agentConfig.ID); stop != nil {
		return fmt.Sprintf("No job of agent %s runs: %s; `%s` resumes it.", v.agentConfig.ID, stop, stop.CommandToResume())
	}
	_, err := pidfile.ReadPidFileWithCheck(v.home)
	if stale := (*pidfile.StaleError)(nil); errors.As(err, &stale) || errors.Is(err, fs.ErrNotExist) {
		return "No job runs: no gateway is running. Start it with `picoclaw gateway`."
	}
	return ""
}

// warnIdle prints idleReason on standard error.
func (v *Options) warnIdle() {
	if idle := v.idleReason(); idle != "" {
		fmt.Fprintln(v.Err, idle)
	}
}

// printJobJSON prints a job as JSON.
func (v *Options) printJobJSON(j schedule.Job) error {
	text, err := jsonv2.Marshal(j)
	if err != nil {
		return cli.FailedError(err)
	}
	_, err = fmt.Fprintf(v.Out, "%s\n", text)
	return err
}

// oneJobArgument returns an argument check that stores the id or name of a job.
func (v *Options) oneJobArgument() cobra.PositionalArgs {
	return cli.OneArgumentWithNoun(&v.job, "the id or name of one job, as `picoclaw cron list` shows it")
}

// completeJobs proposes jobs.
func (v *Options) completeJobs() (completeJobs []cobra.Completion) {
	if v.openStore() != nil {
		return nil
	}
	jobs, _ := v.store.Jobs()
	for _, j := range jobs {
		completeJobs = append(completeJobs, cobra.CompletionWithDesc(j.ID, terminal.CleanLine(j.Name)))
	}
	return completeJobs
}

// describeNextRun says when a job runs next.
func describeNextRun(j schedule.Job, now time.Time) string {
	at := time.UnixMilli(j.State.NextRunAtMs)
	switch {
	case !j.Enabled:
		return "never: disabled"
	case j.State.NextRunAtMs == 0 && j.State.LastError != "":
		return "never: " + j.State.LastError
	case j.State.NextRunAtMs == 0:
		return "not known yet"
	case !at.After(now):
		return "due since " + at.Format("2006-01-02 15:04")
	}
	return describeFutureTime(at, now)
}

// describeFutureTime returns a future time in words, more exactly the sooner it is.
func describeFutureTime(at, now time.Time) string {
	day := func(t time.Time) time.Time { return time.Date(t.Year(), t.Month(), t.Day(), 12, 0, 0, 0, time.UTC) }
	days := int(day(at).Sub(day(now)).Hours()) / 24
	switch wait := at.Sub(now); {
	case wait < time.Minute:
		return "in less than a minute"
	case wait < 2*time.Minute:
		return "in a minute"
	case wait < time.Hour:
		return fmt.Sprintf("in %d minutes", wait/time.Minute)
	case days == 0:
		return at.Format("today 15:04")
	case days == 1:
		return at.Format("tomorrow 15:04")
	case days < 7:
		return at.Format("Monday 15:04")
	}
	return at.Format("2006-01-02 15:04")
}
