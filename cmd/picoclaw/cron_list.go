package main

import (
	"fmt"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"github.com/picoclaw/picoclaw/cmd/picoclaw/internal/terminal"
	"github.com/picoclaw/picoclaw/host/schedule"
)

// listedJobs are an agent's jobs as scripts read them.
type listedJobs struct {
	Agent string         `json:"agent"`
	Idle  string         `json:"idle,omitzero"` // why none runs now
	Jobs  []schedule.Job `json:"jobs"`
}

// cronListOptions are the options of `picoclaw cron list`.
type cronListOptions struct{ cronVerb }

func newCronList(a *app, runF func(*cronListOptions) error) *cobra.Command {
	v := &cronListOptions{cronVerb: cronVerb{app: a}}
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List an agent's jobs, and when each runs next",
		Example: "  picoclaw cron list\n  picoclaw cron list --agent reader --output json",
		Args:    noArguments,
		RunE:    func(*cobra.Command, []string) error { return v.run() },
	}
	v.flags(cmd)
	return newCommand(cmd, v, runF)
}

func (v *cronListOptions) run() error {
	if err := v.open(); err != nil {
		return err
	}
	jobs, err := v.store.Jobs()
	if err != nil {
		return failed(err)
	}
	if v.output == jsonOutput {
		return jsonv2.MarshalWrite(v.stdout, listedJobs{v.of.ID, v.idle(), jobs}, jsontext.Multiline(false))
	}
	if len(jobs) == 0 {
		fmt.Fprintf(v.stdout, "Agent %s has no jobs; `picoclaw cron add` adds one.\n", v.of.ID)
		return nil
	}
	table := terminal.NewTable("ID", "NAME", "WHEN", "LAST RUN", "NEXT RUN")
	for _, j := range jobs {
		table.Row(j.ID, terminal.Shorten(j.Name, 40), j.Schedule.String(), lastRun(j), nextRun(j, time.Now()))
		if s := j.State.LastStatus; s == schedule.Failed || s == schedule.Timeout {
			table.Style(3, terminal.Bad)
		}
	}
	if err := table.Write(terminal.New(v.stdout)); err != nil {
		return err
	}
	v.sayIdle()
	return nil
}

// lastRun says when a job has run last, and how that ended.
func lastRun(j schedule.Job) string {
	text := string(j.State.LastStatus)
	if j.State.LastRunAtMs > 0 {
		text += " " + time.UnixMilli(j.State.LastRunAtMs).Format("2006-01-02 15:04")
	}
	return text
}
