// Package approvals has the command approvals.
package approvals

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/picoclaw/picoclaw/cmd/internal/cli"
	"github.com/picoclaw/picoclaw/cmd/internal/terminal"
	"github.com/picoclaw/picoclaw/cmd/picoclaw/internal/results"
	"github.com/picoclaw/picoclaw/host/approvals"
	"github.com/picoclaw/picoclaw/host/gateway"
)

// Options are the options that the commands of `picoclaw approvals` share.
type Options struct {
	*cli.Factory
	id     string // of a call
	output cli.OutputFormat
	always bool   // of allow
	reason string // of deny
}

func NewCmdApprovals(f *cli.Factory, runF func(*Options) error) *cobra.Command {
	cmd := NewCmdList(f, runF)
	cmd.Use, cmd.Short = "approvals", "List and answer approval requests"
	cmd.SuggestFor = []string{"approve", "allow", "pending"}
	cmd.AddCommand(NewCmdList(f, nil), NewCmdShow(f, nil), NewCmdAllow(f, nil), NewCmdDeny(f, nil))
	return cmd
}

func NewCmdList(f *cli.Factory, runF func(*Options) error) *cobra.Command {
	v := &Options{Factory: f}
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List approval requests",
	}
	f.AddOutputFlag(cmd, &v.output)
	return cli.SetRunContext(cmd, v, (*Options).listRequests, runF)
}

func NewCmdShow(f *cli.Factory, runF func(*Options) error) *cobra.Command {
	v := &Options{Factory: f}
	cmd := &cobra.Command{
		Use:   "show ID",
		Short: "Show an approval request with the whole call",
	}
	v.addIDArgument(cmd)
	f.AddOutputFlag(cmd, &v.output)
	return cli.SetRun(cmd, v, (*Options).showRequest, runF)
}

func NewCmdAllow(f *cli.Factory, runF func(*Options) error) *cobra.Command {
	v := &Options{Factory: f}
	cmd := &cobra.Command{
		Use:   "allow ID",
		Short: "Approve a call once",
	}
	v.addIDArgument(cmd)
	cmd.Flags().BoolVar(&v.always, "always", false, "propose the setting that allows such calls")
	return cli.SetRun(cmd, v, (*Options).runAllow, runF)
}

func (v *Options) runAllow() error {
	w, err := v.answerRequest(approvals.Answer{Yes: true})
	if err != nil || !v.always {
		return err
	}
	return v.proposeAllowPattern(w)
}

func NewCmdDeny(f *cli.Factory, runF func(*Options) error) *cobra.Command {
	v := &Options{Factory: f}
	cmd := &cobra.Command{
		Use:   "deny ID",
		Short: "Deny a call",
	}
	v.addIDArgument(cmd)
	cmd.Flags().StringVar(&v.reason, "why", "", "`reason` shown to the agent")
	return cli.SetRun(cmd, v, (*Options).runDeny, runF)
}

func (v *Options) runDeny() error {
	_, err := v.answerRequest(approvals.Answer{Why: v.reason})
	return err
}

func (v *Options) addIDArgument(cmd *cobra.Command) {
	cmd.Args = cli.OneArgumentWithNoun(&v.id, "the id of one call, as `picoclaw approvals` shows it")
	cmd.ValidArgsFunction = cli.NewFirstArgumentCompleter(v.completeIDs)
}

// listRequests lists the approval requests. It reports a gateway that would not read the answers.
func (v *Options) listRequests(ctx context.Context) error {
	home, err := v.FindHome()
	if err != nil {
		return err
	}
	all, err := approvals.ListWaitingCalls(home)
	if err != nil {
		return cli.FailedError(err)
	}
	var paused *gateway.UnresponsiveError
	if _, gatewayErr := gateway.NewClient(home).FetchStatus(ctx); errors.As(gatewayErr, &paused) {
		fmt.Fprintln(v.Err, "picoclaw:", paused)
	}
	if v.output == cli.JSON {
		if all == nil {
			all = []*approvals.WaitingCall{}
		}
		return v.PrintJSON(all)
	}
	if len(all) == 0 {
		fmt.Fprintln(v.Out, "No approval requests.")
		return nil
	}
	table := terminal.NewTable("ID", "AGENT", "ORIGIN", "LEFT", "CALL")
	for _, w := range all {
		table.AddRow(w.ID, w.Agent, w.Origin, timeUntilRefusal(w), terminal.Shorten(w.Tool+" "+formatArguments(w), 80))
	}
	return table.Write(terminal.NewWriter(v.Out))
}

// timeUntilRefusal returns the time after which a request is refused without an answer.
func timeUntilRefusal(w *approvals.WaitingCall) string {
	return max(0, time.Until(w.Until)).Round(time.Second).String()
}

// formatArguments returns a call's arguments on one line.
func formatArguments(w *approvals.WaitingCall) string {
	var args map[string]any
	if err := json.Unmarshal(w.Arguments, &args); err != nil {
		return terminal.EscapeLine(string(w.Arguments))
	}
	return terminal.EscapeLine(results.FormatArguments(args))
}

// showRequest shows a whole approval request.
func (v *Options) showRequest() error {
	_, w, err := v.findRequest()
	if err != nil {
		return err
	}
	if v.output == cli.JSON {
		return v.PrintJSON(w)
	}
	fmt.Fprintf(v.Out, "%s %s\n  agent:  %s (%s, session %s)\n  rule:   %s\n  reason: %s\n", w.Tool, formatArguments(w),
		w.Agent, w.Origin, w.Session, w.Rule, terminal.EscapeLine(w.Reason))
	if w.Setting != "" {
		fmt.Fprintf(v.Out, "  always: %s\n", terminal.EscapeLine(w.Setting))
	}
	fmt.Fprintf(v.Out, "It waits %s more: `picoclaw approvals allow %s` or deny.\n", timeUntilRefusal(w), w.ID)
	return nil
}

// findRequest finds an approval request in the home.
func (v *Options) findRequest() (home string, w *approvals.WaitingCall, err error) {
	if home, err = v.FindHome(); err != nil {
		return "", nil, err
	}
	if w, err = approvals.FindWaitingCall(home, v.id); err != nil {
		return "", nil, cli.FailedError(fmt.Errorf("%s: %w", v.id, err))
	}
	return home, w, nil
}

// answerRequest approves or denies a call, and returns it.
func (v *Options) answerRequest(a approvals.Answer) (*approvals.WaitingCall, error) {
	home, w, err := v.findRequest()
	if err != nil {
		return nil, err
	}
	a.Way, a.Time, a.By = "cli", time.Now().UTC(), cli.UserName()
	if err := approvals.AnswerCall(home, w, a); errors.Is(err, approvals.ErrNotWaiting) || errors.Is(err, approvals.ErrAnswered) {
		return nil, cli.FailedError(fmt.Errorf("%s: %w", v.id, err))
	} else if err != nil {
		return nil, cli.FailedError(fmt.Errorf("%s could not be answered: %w", v.id, err))
	}
	what := "refused"
	if a.Yes {
		what = "goes on"
	}
	fmt.Fprintf(v.Out, "%s: %s %s\n", what, w.Tool, formatArguments(w))
	return w, nil
}

// completeIDs proposes approval requests.
func (v *Options) completeIDs() (completeIDs []cobra.Completion) {
	home, err := v.FindHome()
	if err != nil {
		return nil
	}
	all, _ := approvals.ListWaitingCalls(home)
	for _, w := range all {
		completeIDs = append(completeIDs, cobra.CompletionWithDesc(w.ID, terminal.Shorten(w.Tool+" "+formatArguments(w), 60)))
	}
	return completeIDs
}
