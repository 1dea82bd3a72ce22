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

// undoOptions are the options of `picoclaw undo`.
type undoOptions struct {
	toolVerb

	force, dryRun bool
}

func newUndo(a *app, runF func(*undoOptions) error) *cobra.Command {

	v := &undoOptions{toolVerb: toolVerb{app: a, tool: "undo"}}
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
		RunE: func(cmd *cobra.Command, args []string) error { return v.run(cmd, args) },
	}
	cmd.Flags().BoolVar(&v.force, "force", false, "also if the files have changed since; what they are now is kept too")
	cmd.Flags().BoolVar(&v.dryRun, "dry-run", false, "only say what would be put back")
	v.flags(cmd)
	return newCommand(cmd, v, runF)
}

func (v *undoOptions) run(cmd *cobra.Command, args []string) error {
	wanted := map[string]any{"force": v.force, "dry_run": v.dryRun}
	if len(args) == 1 {
		wanted["id"] = args[0]
	} else {
		v.refused = commandSince
	}
	return v.call(cmd, wanted)
}

// historyOptions are the options of `picoclaw history`.
type historyOptions struct {
	toolVerb

	limit int
}

func newHistory(a *app, runF func(*historyOptions) error) *cobra.Command {

	v := &historyOptions{toolVerb: toolVerb{app: a, tool: "history"}}
	cmd := &cobra.Command{
		Use:   "history",
		Short: "List an agent's changes to files, the last one first",
		Example: strings.Trim(`
  picoclaw history
  picoclaw history --agent reviewer --limit 5 --output json`, "\n"),
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return v.call(cmd, map[string]any{"limit": v.limit}) },
	}
	cmd.Flags().IntVar(&v.limit, "limit", 20, "how many")
	v.flags(cmd)
	return newCommand(cmd, v, runF)
}

// toolVerb is a verb that calls one tool.
type toolVerb struct {
	*app
	tool   string
	agent  string
	output outputFormat
	// why the call is not to be made; nil to make it
	refused func(context.Context, *session.Session) (*session.Error, error)
}

func (v *toolVerb) flags(cmd *cobra.Command) {
	v.app.agentFlag(cmd, &v.agent, "the agent whose changes (default: the first one)")
	v.app.outputFlag(cmd, &v.output)
}

func (v *toolVerb) call(cmd *cobra.Command, arguments map[string]any) error {
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
