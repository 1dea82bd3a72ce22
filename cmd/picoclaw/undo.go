package main

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/spf13/cobra"

	"github.com/picoclaw/picoclaw/host/session"
)

// newUndo and newHistory are calls of the tools of the same names, for people: what an agent has done to files can be
// looked at and taken back by whoever runs it.

func newUndo(a *app) *cobra.Command {
	var force, dryRun bool
	v := toolVerb{app: a, tool: "undo"}
	cmd := &cobra.Command{
		Use:        "undo [ID]",
		SuggestFor: []string{"restore", "revert"},
		Short:      "Take back an agent's last change to files, or the one that is named",
		Long: `Takes back an agent's last change to files, by a tool or a command, or the one that is named. Nothing is touched but what
that has changed, and nothing at all if one of these files has changed since. Where commands can't be kept track of, and
the agent has run one since its last change, undo asks for the ID of what is meant.`,
		Example: strings.Trim(`
  picoclaw undo
  picoclaw undo 20261121T051354282482850-fzaj
  picoclaw undo --agent reviewer --force`, "\n"),
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usage("undo takes one operation at a time; `picoclaw history` lists them")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			wanted := map[string]any{"force": force, "dry_run": dryRun}
			if len(args) == 1 {
				wanted["id"] = args[0]
			} else {
				v.refused = a.commandSince
			}
			return v.run(cmd, wanted)
		},
	}
	cmd.Flags().BoolVar(&force, "force", false, "also if the files have changed since; what they are now is kept too")
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "only say what would be put back")
	v.flags(cmd)
	return cmd
}

func newHistory(a *app) *cobra.Command {
	var limit int
	v := toolVerb{app: a, tool: "history"}
	cmd := &cobra.Command{
		Use:   "history",
		Short: "List an agent's changes to files, the last one first",
		Example: strings.Trim(`
  picoclaw history
  picoclaw history --agent reviewer --limit 5 --output json`, "\n"),
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return v.run(cmd, map[string]any{"limit": limit}) },
	}
	cmd.Flags().IntVar(&limit, "limit", 20, "how many")
	v.flags(cmd)
	return cmd
}

// toolVerb is a verb that calls one tool.
type toolVerb struct {
	app           *app
	tool          string
	agent, output string
	// why the call is not to be made; nil to make it
	refused func(context.Context, *session.Session) (*session.Error, error)
}

func (v *toolVerb) flags(cmd *cobra.Command) {
	v.app.agentFlag(cmd, &v.agent, "the agent whose changes (default: the first one)")
	v.app.outputFlag(cmd, &v.output)
}

func (v *toolVerb) run(cmd *cobra.Command, arguments map[string]any) error {
	if err := format(v.output); err != nil {
		return err
	}
	s, h, done, err := v.app.session(v.agent, session.CLI)
	if err != nil {
		return err
	}
	defer done()
	raw, err := json.Marshal(arguments)
	if err != nil {
		return err
	}
	if err := h.Ready(); err != nil {
		return cantStart(err)
	}
	if v.refused != nil {
		switch e, err := v.refused(cmd.Context(), s); {
		case err != nil:
			return asFailed(err)
		case e != nil:
			return v.app.showResult(v.tool, &session.Result{Err: e}, v.output)
		}
	}
	return v.app.showResult(v.tool, s.Call(cmd.Context(), v.tool, raw, nil), v.output)
}
