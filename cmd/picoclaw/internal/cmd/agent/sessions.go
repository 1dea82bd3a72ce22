package agent

import (
	"cmp"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/picoclaw/picoclaw/cmd/internal/cli"
	"github.com/picoclaw/picoclaw/cmd/internal/terminal"
	"github.com/picoclaw/picoclaw/host"
	"github.com/picoclaw/picoclaw/host/agent"
	"github.com/picoclaw/picoclaw/internal/statefiles"
)

// findSessionDir returns the directory of an agent's conversations, and the agent's id.
func findSessionDir(f *cli.Factory, id string) (dir, agent string, err error) {
	cfg, err := f.LoadConfig("")
	if err != nil {
		return "", "", err
	}
	resolved, err := cfg.ResolveAgent(id)
	if err != nil {
		return "", "", cli.UsageErrorf("%w", err)
	}
	return host.ConversationDir(cfg.Home().Path, resolved.ID), resolved.ID, nil
}

// savedSession is the JSON output about a saved conversation.
type savedSession struct {
	Session  string    `json:"session"`
	Modified time.Time `json:"modified"`
	Bytes    int64     `json:"bytes"`
	Path     string    `json:"path"`
}

// SessionsOptions are the options of `picoclaw agent sessions`.
type SessionsOptions struct {
	*cli.Factory
	id     string
	output cli.OutputFormat
}

func NewCmdSessions(f *cli.Factory, runF func(*SessionsOptions) error) *cobra.Command {
	o := &SessionsOptions{Factory: f}
	cmd := &cobra.Command{
		Use:   "sessions",
		Short: "List an agent's sessions, most recently used first",
	}
	f.AddAgentFlag(cmd, &o.id, "the agent (default: the first one)")
	f.AddOutputFlag(cmd, &o.output)
	return cli.SetRun(cmd, o, (*SessionsOptions).listSessions, runF)
}

func (o *SessionsOptions) listSessions() error {
	dir, id, err := findSessionDir(o.Factory, o.id)
	if err != nil {
		return err
	}
	kept, err := agent.ListTranscripts(dir)
	err = cli.FailedError(err)
	if o.output == cli.JSON {
		all := []savedSession{}
		for _, k := range kept {
			all = append(all, savedSession{k.Key, k.Modified.UTC(), k.Bytes, k.Path})
		}
		return cmp.Or(o.PrintJSON(all), err)
	}
	if len(kept) == 0 && err == nil {
		fmt.Fprintf(o.Out, "Agent %s has no sessions.\n", id)
		return nil
	}
	table := terminal.NewTable("SESSION", "LAST USED", "KB").AlignRight(2)
	for _, k := range kept {
		table.AddRow(terminal.CleanLine(k.Key), k.Modified.Local().Format(time.DateTime), fmt.Sprint((k.Bytes+1023)/1024))
	}
	return cmp.Or(table.Write(terminal.NewWriter(o.Out)), err)
}

// ForgetOptions are the options of `picoclaw agent forget`.
type ForgetOptions struct {
	*cli.Factory
	agent, session string
}

func NewCmdForget(f *cli.Factory, runF func(*ForgetOptions) error) *cobra.Command {
	o := &ForgetOptions{Factory: f}
	cmd := &cobra.Command{
		Use:   "forget SESSION",
		Short: "Delete a session",
		Args:  cli.OneArgument(&o.session, "name the session to delete; `picoclaw agent sessions` lists them"),
	}
	f.AddAgentFlag(cmd, &o.agent, "the agent (default: the first one)")
	return cli.SetRun(cmd, o, (*ForgetOptions).deleteSession, runF)
}

func (o *ForgetOptions) deleteSession() error {
	dir, _, err := findSessionDir(o.Factory, o.agent)
	if err != nil {
		return err
	}
	home, err := o.FindHome()
	if err != nil {
		return err
	}
	err = agent.DeleteTranscript(dir, o.session)
	if err == nil {
		err = statefiles.RemoveFromList(home, agent.TranscriptPath(dir, o.session))
	}
	if err != nil {
		return cli.FailedError(err)
	}
	fmt.Fprintf(o.Out, "Session %s is deleted.\n", terminal.CleanLine(o.session))
	return nil
}
