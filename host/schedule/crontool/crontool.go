// Package crontool implements the tool cron, by which an agent lists and changes its own scheduled jobs.
//
// The tool checks the command of a job like a later run, where nobody can approve it. Package schedule decides when
// jobs run. This package must not know how they run.
package crontool

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/picoclaw/picoclaw/host/schedule"
	"github.com/picoclaw/picoclaw/host/session"
	"github.com/picoclaw/picoclaw/sdk/guard"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// Options configure the tool cron.
type Options struct {
	// Store returns an agent's jobs.
	Store func(agent string) *schedule.Store
	// AllowCommand reports whether an agent's jobs may run commands (tools.cron.allow_command).
	AllowCommand func(agent string) bool
}

// NewPlugin returns the built-in plugin with the tool cron.
func NewPlugin(o Options) (session.BuiltinPlugin, error) {
	handler := cronTool{o}
	cron, err := session.NewBuiltinTool("cron", "Schedule your own work: a message to you, or a command. Use at_seconds for "+
		"once, every_seconds for an interval, cron_expr for times of the day.", handler.runCronAction)
	if err != nil {
		return session.BuiltinPlugin{}, err
	}
	return session.BuiltinPlugin{ID: "schedule", Doc: "Scheduled jobs of the agent.", Tools: []session.BuiltinTool{cron}}, nil
}

// cronArguments are the arguments of a call of the tool.
type cronArguments struct {
	Action  string `json:"action" jsonschema:"Action." enum:"add,list,get,update,remove,enable,disable"`
	JobID   string `json:"job_id,omitempty" jsonschema:"The job, for get, update, remove, enable and disable."`
	Name    string `json:"name,omitempty" jsonschema:"A short name for the job."`
	Message string `json:"message,omitempty" jsonschema:"Message for you when the job runs; with a command, its purpose."`
	Command string `json:"command,omitempty" jsonschema:"A shell command to run instead of a message to you." claim:"command"`
	Confirm bool   `json:"command_confirm,omitempty" jsonschema:"Ignored: the policy decides on the command, now and at each run."`
	At      int64  `json:"at_seconds,omitempty" jsonschema:"Seconds until a single run." minimum:"0"`
	Every   int64  `json:"every_seconds,omitempty" jsonschema:"Interval in seconds." minimum:"0"`
	Expr    string `json:"cron_expr,omitempty" jsonschema:"Schedule of minute, hour, day of month, month and day of week, such as 30 9 * * 1-5."`
	TZ      string `json:"tz,omitempty" jsonschema:"Time zone of cron_expr, such as Europe/Berlin; default: the machine's."`
}

// parseSchedule returns the schedule from the first argument that is not empty: at, every or the expression. Models
// fill unused arguments with empty values. It returns false if all are empty.
func (in *cronArguments) parseSchedule(now time.Time) (schedule.Schedule, bool) {
	const most = int64(100 * 365 * 24 * 60 * 60) // seconds
	switch {
	case in.At > 0:
		at := now.Add(time.Duration(min(in.At, most)) * time.Second)
		return schedule.Schedule{Kind: schedule.At, AtMs: at.UnixMilli()}, true
	case in.Every > 0:
		return schedule.Schedule{Kind: schedule.Every, EveryMs: min(in.Every, most) * 1000}, true
	case in.Expr != "":
		return schedule.Schedule{Kind: schedule.Cron, Expr: in.Expr, TZ: in.TZ}, true
	}
	return schedule.Schedule{}, false
}

// cronTool handles calls of the tool.
type cronTool struct{ Options }

// runCronAction carries out the action of a call.
func (t cronTool) runCronAction(_ context.Context, s *session.Session, in cronArguments) (string, error) {
	agent := s.Policy().AgentID()
	narrowing, now := s.Policy().Restriction(), time.Now()
	store := t.Store(agent).FilteredView(func(j schedule.Job) bool { return narrowing.Includes(j.Scope) })
	if in.Command != "" {
		if !t.AllowCommand(agent) {
			return "", CommandsDisabledError()
		}
		if err := CheckJobCommand(s, in.Command); err != nil {
			return "", err
		}
	}
	if in.Action != "add" && in.Action != "list" && in.JobID == "" {
		return "", &session.Error{Code: pluginpb.CodeInvalidArgument, Message: in.Action + " needs a job_id",
			Hint: "the action list shows them"}
	}
	switch in.Action {
	case "add":
		when, ok := in.parseSchedule(now)
		if !ok {
			return "", invalidArgumentError(errors.New("a schedule is missing: set at_seconds, every_seconds or cron_expr"))
		}
		name, _, _ := strings.Cut(cmp.Or(in.Name, in.Message, in.Command), "\n")
		j := schedule.Job{Name: shortenName(name), Schedule: when, Scope: narrowing,
			Payload: schedule.JobPayload{Message: in.Message, Command: in.Command}}
		j, err := store.AddJob(j, now)
		return formatResult("added", j, err)
	case "list":
		return describeAllJobs(store)
	case "get":
		return describeJobWithOutput(store, in.JobID)
	case "update":
		j, err := store.UpdateJob(in.JobID, now, func(j *schedule.Job) { in.updateJob(j, now) })
		return formatResult("changed", j, err)
	case "remove":
		j, err := store.RemoveJob(in.JobID)
		return formatResult("removed", j, err)
	}
	on := in.Action == "enable"
	if on {
		// the policy may have changed since the job was added
		j, err := store.Job(in.JobID)
		if err == nil && j.Payload.Command != "" {
			err = CheckJobCommand(s, j.Payload.Command)
		}
		if err != nil {
			return "", invalidArgumentError(err)
		}
	}
	j, err := store.UpdateJob(in.JobID, now, func(j *schedule.Job) { j.Enabled = on })
	return formatResult(in.Action+"d", j, err)
}

// updateJob changes the properties of a job for which there are arguments.
func (in *cronArguments) updateJob(j *schedule.Job, now time.Time) {
	j.Name = cmp.Or(shortenName(in.Name), j.Name)
	j.Payload.Message = cmp.Or(in.Message, j.Payload.Message)
	j.Payload.Command = cmp.Or(in.Command, j.Payload.Command)
	if when, ok := in.parseSchedule(now); ok {
		j.Schedule, j.Enabled = when, true
		j.DeleteAfterRun = when.Kind == schedule.At
	} else if in.TZ != "" {
		j.Schedule.TZ = in.TZ
	}
}

// CommandsDisabledError returns the error for jobs with a command while tools.cron.allow_command is false.
func CommandsDisabledError() *session.Error {
	return &session.Error{Code: pluginpb.CodeAccessDenied, Message: "jobs may not run commands",
		Rule: "tools.cron.allow_command", Hint: "the operator can set tools.cron.allow_command to true"}
}

// callExplainer decides on calls without making them; *session.Session implements it.
type callExplainer interface {
	ExplainCall(tool string, arguments json.RawMessage) (guard.Decision, *session.Error)
}

// CheckJobCommand returns an error if a job could not run a command. Each run decides on the command again, as a call of
// exec without a person to approve it.
func CheckJobCommand(s callExplainer, command string) error {
	arguments, err := json.Marshal(map[string]string{"command": command})
	if err != nil {
		return err
	}
	d, e := s.ExplainCall("exec", arguments)
	switch {
	case e != nil:
		return e
	case d.Verdict == guard.Ask:
		return &session.Error{Code: pluginpb.CodeAccessDenied, Rule: d.Rule, Hint: d.Hint,
			Message: "each run of the command would need a person's approval: " + d.Reason}
	case d.Verdict != guard.Allow:
		return &session.Error{Code: pluginpb.CodeAccessDenied, Message: d.Reason, Rule: d.Rule, Hint: d.Hint}
	}
	return nil
}

// invalidArgumentError converts an error to a tool error.
func invalidArgumentError(err error) error {
	if own := (*session.Error)(nil); errors.As(err, &own) {
		return err
	}
	return &session.Error{Code: pluginpb.CodeInvalidArgument, Message: err.Error()}
}

// shortenName shortens a name to 40 characters.
func shortenName(name string) string {
	if runes := []rune(name); len(runes) > 40 {
		return string(runes[:39]) + "…"
	}
	return name
}

// formatResult describes an action and the job that it changed.
func formatResult(action string, j schedule.Job, err error) (string, error) {
	if err != nil {
		return "", invalidArgumentError(err)
	}
	return "Cron job " + action + ": " + describeJob(j), nil
}

// describeJob describes a job in one line.
func describeJob(j schedule.Job) string {
	text := fmt.Sprintf("%s (id: %s, %s", j.Name, j.ID, &j.Schedule)
	switch {
	case !j.Enabled:
		text += ", disabled"
	case j.State.NextRunAtMs > 0:
		text += ", next run " + time.UnixMilli(j.State.NextRunAtMs).Format(time.RFC3339)
	}
	if j.State.LastStatus != "" {
		text += ", last run " + string(j.State.LastStatus)
	}
	return text + ")"
}

// describeAllJobs describes all jobs, one per line.
func describeAllJobs(store *schedule.Store) (string, error) {
	jobs, err := store.Jobs()
	if err != nil {
		return "", err
	}
	if len(jobs) == 0 {
		return "No scheduled jobs", nil
	}
	lines := []string{"Scheduled jobs:"}
	for _, j := range jobs {
		lines = append(lines, "- "+describeJob(j))
	}
	return strings.Join(lines, "\n"), nil
}

// describeJobWithOutput describes a job and the output of its last run.
func describeJobWithOutput(store *schedule.Store, id string) (string, error) {
	j, err := store.Job(id)
	if err != nil {
		return "", invalidArgumentError(err)
	}
	lines := []string{describeJob(j)}
	for _, part := range []struct{ name, text string }{
		{"message", j.Payload.Message}, {"command", j.Payload.Command}, {"last error", j.State.LastError},
	} {
		if part.text != "" {
			lines = append(lines, part.name+": "+part.text)
		}
	}
	runs, err := store.RecentRuns(j.ID, 1)
	if err == nil && len(runs) == 1 {
		lines = append(lines, fmt.Sprintf("last result (%s):\n%s", runs[0].Time.Format(time.RFC3339), runs[0].Text))
	}
	return strings.Join(lines, "\n"), err
}
