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

func NewCmdSessions(f *cli.Factory, runF func(*cli.CommonOptions) error) *cobra.Command {
	cmd := &cobra.Command{Use: "sessions", Short: "List an agent's sessions, most recently used first"}
	return cli.NewCommonCommand(f, cmd, listSessions, runF, cli.WithAgent("the agent (default: the first one)"), cli.WithOutput)
}

func listSessions(o *cli.CommonOptions) error {
	dir, id, err := findSessionDir(o.Factory, o.Agent)
	if err != nil {
		return err
	}
	kept, err := agent.ListTranscripts(dir)
	err = cli.FailedError(err)
	if o.Output == cli.JSON {
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

func NewCmdForget(f *cli.Factory, runF func(*cli.CommonOptions) error) *cobra.Command {
	cmd := &cobra.Command{Use: "forget SESSION", Short: "Delete a session"}
	args := func(session *string) cobra.PositionalArgs {
		return cli.OneArgument(session, "name the session to delete; `picoclaw agent sessions` lists them")
	}
	return cli.NewCommonCommand(f, cmd, deleteSession, runF, cli.WithArgument(args), cli.WithAgent("the agent (default: the first one)"))
}

func deleteSession(o *cli.CommonOptions) error {
	dir, _, err := findSessionDir(o.Factory, o.Agent)
	if err != nil {
		return err
	}
	home, err := o.FindHome()
	if err != nil {
		return err
	}
	err = agent.DeleteTranscript(dir, o.Argument)
	if err == nil {
		err = statefiles.RemoveFromList(home, agent.TranscriptPath(dir, o.Argument))
	}
	if err != nil {
		return cli.FailedError(err)
	}
	fmt.Fprintf(o.Out, "Session %s is deleted.\n", terminal.CleanLine(o.Argument))
	return nil
}
