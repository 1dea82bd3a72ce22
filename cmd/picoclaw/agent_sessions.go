package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/picoclaw/picoclaw/cmd/picoclaw/internal/terminal"
	"github.com/picoclaw/picoclaw/host"
	"github.com/picoclaw/picoclaw/host/agent"
)

// sessionsOf is where an agent's conversations are kept, and its id.
func (a *app) sessionsOf(id string) (dir, agent string, err error) {
	cfg, err := a.config("")
	if err != nil {
		return "", "", err
	}
	of, err := cfg.Agent(id)
	if err != nil {
		return "", "", usage("%w", err)
	}
	return host.SessionDir(cfg.Home().Path, of.ID), of.ID, nil
}

// keptSession is a session as scripts read it.
type keptSession struct {
	Session  string    `json:"session"`
	Modified time.Time `json:"modified"`
	Bytes    int64     `json:"bytes"`
	Path     string    `json:"path"`
}

// agentSessionsOptions are the options of `picoclaw agent sessions`.
type agentSessionsOptions struct {
	*app

	id     string
	output outputFormat
}

func newAgentSessions(a *app, runF func(*agentSessionsOptions) error) *cobra.Command {
	o := &agentSessionsOptions{app: a}

	cmd := &cobra.Command{
		Use:     "sessions",
		Short:   "List an agent's sessions, the last used first",
		Long:    "Lists the conversations that are kept of an agent. A session is a file of JSON lines below sessions in the instance root.",
		Example: "  picoclaw agent sessions\n  picoclaw agent sessions --agent reader --output json",
		Args:    noArguments,
		RunE:    func(*cobra.Command, []string) error { return o.run() },
	}
	a.agentFlag(cmd, &o.id, "the agent (default: the first one)")
	a.outputFlag(cmd, &o.output)
	return newCommand(cmd, o, runF)
}

func (o *agentSessionsOptions) run() error {
	dir, id, err := o.sessionsOf(o.id)
	if err != nil {
		return err
	}
	kept, err := agent.Transcripts(dir)
	if err != nil {
		return failed(err)
	}
	if o.output == jsonOutput {
		all := []keptSession{}
		for _, k := range kept {
			all = append(all, keptSession{k.Key, k.Modified.UTC(), k.Bytes, k.Path})
		}
		return o.printJSON(all)
	}
	if len(kept) == 0 {
		fmt.Fprintf(o.stdout, "No session of agent %s is kept.\n", id)
		return nil
	}
	table := terminal.NewTable("SESSION", "LAST USED", "KB").Right(2)
	for _, k := range kept {
		table.Row(terminal.Line(k.Key), k.Modified.Local().Format(time.DateTime), fmt.Sprint((k.Bytes+1023)/1024))
	}
	return table.Write(terminal.New(o.stdout))
}

// agentForgetOptions are the options of `picoclaw agent forget`.
type agentForgetOptions struct {
	*app

	id string
}

func newAgentForget(a *app, runF func(*agentForgetOptions) error) *cobra.Command {
	o := &agentForgetOptions{app: a}

	cmd := &cobra.Command{
		Use:     "forget SESSION",
		Short:   "Delete a session",
		Long:    "Deletes what was said in a session. What the agent did stands in the record, picoclaw audit.",
		Example: "  picoclaw agent forget cli:default",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usage("forget which session? `picoclaw agent sessions` lists them")
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error { return o.run(args) },
	}
	a.agentFlag(cmd, &o.id, "the agent (default: the first one)")
	return newCommand(cmd, o, runF)
}

func (o *agentForgetOptions) run(args []string) error {
	dir, _, err := o.sessionsOf(o.id)
	if err != nil {
		return err
	}
	if err := agent.DeleteTranscript(dir, args[0]); err != nil {
		return failed(err)
	}
	fmt.Fprintf(o.stdout, "Session %s is deleted.\n", terminal.Line(args[0]))
	return nil
}
