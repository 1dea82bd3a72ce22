package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/picoclaw/picoclaw/cmd/picoclaw/internal/terminal"
	"github.com/picoclaw/picoclaw/host/approvals"
)

// approvalsOptions is what the verbs about calls that wait share.
type approvalsOptions struct {
	*app
	output outputFormat
}

func newApprovals(a *app, runF func(*approvalsOptions) error) *cobra.Command {
	v := &approvalsOptions{app: a}
	cmd := &cobra.Command{
		Use:        "approvals",
		SuggestFor: []string{"approve", "allow", "pending"},
		Short:      "List the calls that wait for a person's yes, and answer them",
		Long: `Lists the calls that need a person's yes, and whose client can't ask for it: they wait for approvals.wait_seconds, and are
refused then. An answer counts for the one call that was shown.`,
		Example: "  picoclaw approvals\n  picoclaw approvals --output json",
		Args:    noArguments,
		RunE:    func(*cobra.Command, []string) error { return v.list() },
	}
	a.outputFlag(cmd, &v.output)
	cmd.AddCommand(newApprovalsList(a, nil), newApprovalsShow(a, nil), newApprovalsAllow(a, nil), newApprovalsDeny(a, nil))
	return newCommand(cmd, v, runF)
}

func newApprovalsList(a *app, runF func(*approvalsOptions) error) *cobra.Command {
	v := &approvalsOptions{app: a}
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List the calls that wait",
		Example: "  picoclaw approvals list\n  picoclaw approvals list --output json",
		Args:    noArguments,
		RunE:    func(*cobra.Command, []string) error { return v.list() },
	}
	a.outputFlag(cmd, &v.output)
	return newCommand(cmd, v, runF)
}

func newApprovalsShow(a *app, runF func(*approvalsOptions) error) *cobra.Command {
	v := &approvalsOptions{app: a}
	cmd := &cobra.Command{
		Use:               "show ID",
		Short:             "Show the whole of a call that waits, and why it is asked about",
		Example:           "  picoclaw approvals show 5kq2mzra",
		Args:              oneApproval,
		ValidArgsFunction: v.ids,
		RunE:              func(_ *cobra.Command, args []string) error { return v.show(args[0]) },
	}
	a.outputFlag(cmd, &v.output)
	return newCommand(cmd, v, runF)
}

// approvalsAllowOptions are the options of `picoclaw approvals allow`.
type approvalsAllowOptions struct {
	approvalsOptions

	always bool
}

func newApprovalsAllow(a *app, runF func(*approvalsAllowOptions) error) *cobra.Command {
	v := &approvalsAllowOptions{approvalsOptions: approvalsOptions{app: a}}

	cmd := &cobra.Command{
		Use:   "allow ID",
		Short: "Let a call that waits go on, this once",
		Long: `Lets one call go on. With --always it then shows the setting that allows such a call from then on, and writes it if
you say yes.`,
		Example:           "  picoclaw approvals allow 5kq2mzra\n  picoclaw approvals allow 5kq2mzra --always",
		Args:              oneApproval,
		ValidArgsFunction: v.ids,
		RunE:              func(_ *cobra.Command, args []string) error { return v.run(args) },
	}
	cmd.Flags().BoolVar(&v.always, "always", false, "propose the setting that allows it from then on")
	return newCommand(cmd, v, runF)
}

func (v *approvalsAllowOptions) run(args []string) error {
	w, err := v.answer(args[0], approvals.Answer{Yes: true})
	if err != nil || !v.always {
		return err
	}
	return v.allowAlways(w)
}

// approvalsDenyOptions are the options of `picoclaw approvals deny`.
type approvalsDenyOptions struct {
	approvalsOptions

	why string
}

func newApprovalsDeny(a *app, runF func(*approvalsDenyOptions) error) *cobra.Command {
	v := &approvalsDenyOptions{approvalsOptions: approvalsOptions{app: a}}

	cmd := &cobra.Command{
		Use:               "deny ID",
		Short:             "Refuse a call that waits",
		Example:           "  picoclaw approvals deny 5kq2mzra --why 'ask on Monday'",
		Args:              oneApproval,
		ValidArgsFunction: v.ids,
		RunE:              func(_ *cobra.Command, args []string) error { return v.run(args) },
	}
	cmd.Flags().StringVar(&v.why, "why", "", "what the agent is told")
	return newCommand(cmd, v, runF)
}

func (v *approvalsDenyOptions) run(args []string) error {
	_, err := v.answer(args[0], approvals.Answer{Why: v.why})
	return err
}

func oneApproval(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return usage("%s takes the id of one call, as `picoclaw approvals` shows it", spoken(cmd))
	}
	return nil
}

// list lists what waits.
func (v *approvalsOptions) list() error {
	all, err := v.waiting()
	if err != nil {
		return err
	}
	if v.output == jsonOutput {
		if all == nil {
			all = []*approvals.Waiting{}
		}
		return v.app.printJSON(all)
	}
	if len(all) == 0 {
		fmt.Fprintln(v.app.stdout, "No call waits for a yes.")
		return nil
	}
	table := terminal.NewTable("ID", "AGENT", "ORIGIN", "LEFT", "CALL")
	for _, w := range all {
		table.Row(w.ID, w.Agent, w.Origin, left(w), terminal.Shorten(w.Tool+" "+line(w), 80))
	}
	return table.Write(terminal.New(v.app.stdout))
}

func (v *approvalsOptions) waiting() ([]*approvals.Waiting, error) {
	home, err := v.app.home()
	if err != nil {
		return nil, err
	}
	all, err := approvals.List(home)
	if err != nil {
		return nil, failed(err)
	}
	return all, nil
}

// left is how long a call waits from now on.
func left(w *approvals.Waiting) string {
	return max(0, time.Until(w.Until)).Round(time.Second).String()
}

// line are a call's arguments in one line.
func line(w *approvals.Waiting) string {
	var args map[string]any
	if err := json.Unmarshal(w.Arguments, &args); err != nil {
		return terminal.Line(string(w.Arguments))
	}
	return terminal.Line(argumentLine(args))
}

// show shows the whole of a call.
func (v *approvalsOptions) show(id string) error {
	home, err := v.app.home()
	if err != nil {
		return err
	}
	w, err := approvals.Find(home, id)
	if err != nil {
		return failed(fmt.Errorf("%s: %w", id, err))
	}
	if v.output == jsonOutput {
		return v.app.printJSON(w)
	}
	fmt.Fprintf(v.app.stdout, "%s %s\n  agent:  %s (%s, session %s)\n  rule:   %s\n  reason: %s\n", w.Tool, line(w),
		w.Agent, w.Origin, w.Session, w.Rule, terminal.Line(w.Reason))
	if w.Setting != "" {
		fmt.Fprintf(v.app.stdout, "  always: %s\n", terminal.Line(w.Setting))
	}
	fmt.Fprintf(v.app.stdout, "It waits for another %s: `picoclaw approvals allow %s` or deny.\n", left(w), w.ID)
	return nil
}

// answer answers a call, and returns it.
func (v *approvalsOptions) answer(id string, a approvals.Answer) (*approvals.Waiting, error) {
	home, err := v.app.home()
	if err != nil {
		return nil, err
	}
	w, err := approvals.Find(home, id)
	if err != nil {
		return nil, failed(fmt.Errorf("%s: %w", id, err))
	}
	a.Way, a.Time, a.By = "cli", time.Now().UTC(), userName()
	if err := approvals.Give(home, w, a); errors.Is(err, approvals.ErrGone) || errors.Is(err, approvals.ErrAnswered) {
		return nil, failed(fmt.Errorf("%s: %w", id, err))
	} else if err != nil {
		return nil, failed(fmt.Errorf("%s could not be answered: %w", id, err))
	}
	what := "refused"
	if a.Yes {
		what = "goes on"
	}
	fmt.Fprintf(v.app.stdout, "%s: %s %s\n", what, w.Tool, line(w))
	return w, nil
}

// ids proposes calls that wait.
func (v *approvalsOptions) ids(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if all, err := v.waiting(); err == nil && len(args) == 0 {
		var ids []cobra.Completion
		for _, w := range all {
			ids = append(ids, cobra.CompletionWithDesc(w.ID, terminal.Shorten(w.Tool+" "+line(w), 60)))
		}
		return ids, cobra.ShellCompDirectiveNoFileComp
	}
	return nil, cobra.ShellCompDirectiveNoFileComp
}
