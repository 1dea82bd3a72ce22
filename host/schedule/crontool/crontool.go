// Package crontool is the tool with which an agent sees and changes its own scheduled jobs.
//
// It checks what a job would do when it runs, when nobody is there to be asked, and leaves when that is to package
// schedule. It must not know how jobs are run.
package crontool

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/picoclaw/picoclaw/host/policy"
	"github.com/picoclaw/picoclaw/host/schedule"
	"github.com/picoclaw/picoclaw/host/session"
	"github.com/picoclaw/picoclaw/sdk/guard"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// Options say what the tool works with.
type Options struct {
	// Store returns the jobs of an agent.
	Store func(agent string) *schedule.Store
	// AllowCommand reports whether an agent's jobs may run commands: tools.cron.allow_command.
	AllowCommand func(agent string) bool
}

// Plugin is the tool as a host's own plugin.
func Plugin(o Options) (session.BuiltinPlugin, error) {
	t := tool{o}
	cron, err := session.NewBuiltinTool("cron", "Schedule your own work: a message that you are given later, or a command that is "+
		"run. Use at_seconds for once, every_seconds for an interval, cron_expr for times of the day.", t.call)
	if err != nil {
		return session.BuiltinPlugin{}, err
	}
	return session.BuiltinPlugin{ID: "schedule", Doc: "Scheduled jobs of the agent.", Tools: []session.BuiltinTool{cron}}, nil
}

type input struct {
	Action  string `json:"action" jsonschema:"What to do." enum:"add,list,get,update,remove,enable,disable"`
	JobID   string `json:"job_id,omitempty" jsonschema:"The job, for get, update, remove, enable and disable."`
	Name    string `json:"name,omitempty" jsonschema:"A short name for the job."`
	Message string `json:"message,omitempty" jsonschema:"What you are told when the job runs. With a command, what that is for."`
	Command string `json:"command,omitempty" jsonschema:"A shell command to run in place of a message to you." claim:"command"`
	Confirm bool   `json:"command_confirm,omitempty" jsonschema:"Not needed: the policy decides on the command, now and at each run."`
	At      int64  `json:"at_seconds,omitempty" jsonschema:"Run once, so many seconds from now." minimum:"0"`
	Every   int64  `json:"every_seconds,omitempty" jsonschema:"Run each time so many seconds have passed." minimum:"0"`
	Expr    string `json:"cron_expr,omitempty" jsonschema:"Run when the time matches: minute, hour, day of the month, month, day of the week, such as 30 9 * * 1-5."`
	TZ      string `json:"tz,omitempty" jsonschema:"The time zone of cron_expr, such as Europe/Berlin. Defaults to that of the machine."`
}

// schedule is what the arguments say of it: the first of at, every and expression that is there, since models fill in
// others with nothing. It is false if none is.
func (in *input) schedule(now time.Time) (schedule.Schedule, bool) {
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

// tool is the tool's handler.
type tool struct{ Options }

func (t tool) call(_ context.Context, s *session.Session, in input) (string, error) {
	agent := s.Policy().Agent()
	narrowing, now := s.Policy().Narrowing(), time.Now()
	store := t.Store(agent).Only(func(j schedule.Job) bool { return narrowing.Covers(Narrowing(j)) })
	if in.Command != "" {
		if !t.AllowCommand(agent) {
			return "", NotAllowed()
		}
		if err := Check(s, in.Command); err != nil {
			return "", err
		}
	}
	if in.Action != "add" && in.Action != "list" && in.JobID == "" {
		return "", &session.Error{Code: pluginpb.CodeInvalidArgument, Message: in.Action + " needs a job_id",
			Hint: "the action list shows them"}
	}
	switch in.Action {
	case "add":
		when, ok := in.schedule(now)
		if !ok {
			return "", invalid(errors.New("say when: at_seconds, every_seconds or cron_expr"))
		}
		name, _, _ := strings.Cut(cmp.Or(in.Name, in.Message, in.Command), "\n")
		j := schedule.Job{Name: shortened(name), Schedule: when,
			Payload: schedule.Payload{Message: in.Message, Command: in.Command}}
		if narrowing.Workspace != "" || narrowing.Paths != nil {
			j.Within = &schedule.Within{Workspace: narrowing.Workspace, Paths: narrowing.Paths}
		}
		j, err := store.Add(j, now)
		return said("added", j, err)
	case "list":
		return list(store)
	case "get":
		return get(store, in.JobID)
	case "update":
		j, err := store.Update(in.JobID, now, func(j *schedule.Job) { in.update(j, now) })
		return said("changed", j, err)
	case "remove":
		j, err := store.Remove(in.JobID)
		return said("removed", j, err)
	}
	on := in.Action == "enable"
	if on {
		// what the job would run was decided on when it was added, for the policy that was
		j, err := store.Job(in.JobID)
		if err == nil && j.Payload.Command != "" {
			err = Check(s, j.Payload.Command)
		}
		if err != nil {
			return "", invalid(err)
		}
	}
	j, err := store.Update(in.JobID, now, func(j *schedule.Job) { j.Enabled = on })
	return said(in.Action+"d", j, err)
}

// Narrowing is what confines the runs of a job.
func Narrowing(j schedule.Job) policy.Child {
	if j.Within == nil {
		return policy.Child{}
	}
	return policy.Child{Workspace: j.Within.Workspace, Paths: j.Within.Paths}
}

// update changes what the arguments name, and nothing else.
func (in *input) update(j *schedule.Job, now time.Time) {
	j.Name = cmp.Or(shortened(in.Name), j.Name)
	j.Payload.Message = cmp.Or(in.Message, j.Payload.Message)
	j.Payload.Command = cmp.Or(in.Command, j.Payload.Command)
	if when, ok := in.schedule(now); ok {
		j.Schedule, j.Enabled = when, true
		j.DeleteAfterRun = when.Kind == schedule.At
	} else if in.TZ != "" {
		j.Schedule.TZ = in.TZ
	}
}

// NotAllowed is the error of a job with a command where tools.cron.allow_command is false.
func NotAllowed() *session.Error {
	return &session.Error{Code: pluginpb.CodeAccessDenied, Message: "jobs may not run commands",
		Rule: "tools.cron.allow_command", Hint: "the operator can set tools.cron.allow_command to true"}
}

// explainer decides calls without making them. A *session.Session is one.
type explainer interface {
	Explain(tool string, arguments json.RawMessage) (guard.Decision, *session.Error)
}

// Check says why a job could not run a command: as a call of exec it is decided again at each run, and nobody is there
// to be asked.
func Check(s explainer, command string) error {
	arguments, err := json.Marshal(map[string]string{"command": command})
	if err != nil {
		return err
	}
	d, e := s.Explain("exec", arguments)
	switch {
	case e != nil:
		return e
	case d.Verdict == guard.Ask:
		return &session.Error{Code: pluginpb.CodeAccessDenied, Rule: d.Rule, Hint: d.Hint,
			Message: "a person would have to allow the command at each run, and none is there: " + d.Reason}
	case d.Verdict != guard.Allow:
		return &session.Error{Code: pluginpb.CodeAccessDenied, Message: d.Reason, Rule: d.Rule, Hint: d.Hint}
	}
	return nil
}

func invalid(err error) error {
	if own := (*session.Error)(nil); errors.As(err, &own) {
		return err
	}
	return &session.Error{Code: pluginpb.CodeInvalidArgument, Message: err.Error()}
}

// shortened is a name that fits into a line.
func shortened(name string) string {
	if runes := []rune(name); len(runes) > 40 {
		return string(runes[:39]) + "…"
	}
	return name
}

func said(what string, j schedule.Job, err error) (string, error) {
	if err != nil {
		return "", invalid(err)
	}
	return "Cron job " + what + ": " + describe(j), nil
}

func describe(j schedule.Job) string {
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

func list(store *schedule.Store) (string, error) {
	jobs, err := store.Jobs()
	if err != nil {
		return "", err
	}
	if len(jobs) == 0 {
		return "No scheduled jobs", nil
	}
	lines := []string{"Scheduled jobs:"}
	for _, j := range jobs {
		lines = append(lines, "- "+describe(j))
	}
	return strings.Join(lines, "\n"), nil
}

// get shows a job with what its last run had to say.
func get(store *schedule.Store, id string) (string, error) {
	j, err := store.Job(id)
	if err != nil {
		return "", invalid(err)
	}
	lines := []string{describe(j)}
	for _, part := range []struct{ name, text string }{
		{"message", j.Payload.Message}, {"command", j.Payload.Command}, {"last error", j.State.LastError},
	} {
		if part.text != "" {
			lines = append(lines, part.name+": "+part.text)
		}
	}
	runs, err := store.Runs(j.ID, 1)
	if err == nil && len(runs) == 1 {
		lines = append(lines, fmt.Sprintf("last result (%s):\n%s", runs[0].Time.Format(time.RFC3339), runs[0].Text))
	}
	return strings.Join(lines, "\n"), err
}
