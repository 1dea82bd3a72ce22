package call

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/picoclaw/picoclaw/cmd/internal/cli"
	"github.com/picoclaw/picoclaw/cmd/internal/terminal"
	"github.com/picoclaw/picoclaw/cmd/picoclaw/internal/hosts"
	"github.com/picoclaw/picoclaw/host/session"
	"github.com/picoclaw/picoclaw/sdk/guard"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// ExplainOptions are the options of `picoclaw explain`.
type ExplainOptions struct {
	*cli.Factory
	agent     string
	subject   string // a tool, a path or "network"
	arguments callArguments
	output    cli.OutputFormat
	batch     bool
}

func NewCmdExplain(f *cli.Factory, runF func(*ExplainOptions) error) *cobra.Command {
	o := &ExplainOptions{Factory: f, arguments: callArguments{stdin: f.In}}
	cmd := &cobra.Command{
		Use:               "explain TOOL [key=value ...] | explain PATH | explain network HOST|URL",
		Short:             "Explain the decision on a call, a path, a host or a request",
		Args:              o.parseArguments,
		ValidArgsFunction: completeCall(f),
	}
	f.AddAgentFlag(cmd, &o.agent, "the agent to decide for (default: the first one)")
	f.AddOutputFlag(cmd, &o.output)
	addJSONFlag(cmd, &o.arguments.json)
	cmd.Flags().BoolVar(&o.batch, "batch", false, "decide on JSON lines from standard input, in the format of picoclaw batch")
	return cli.SetRun(cmd, o, (*ExplainOptions).runExplain, runF)
}

func (o *ExplainOptions) parseArguments(cmd *cobra.Command, args []string) error {
	switch {
	case o.batch && len(args) > 0:
		return cli.UsageErrorf("explain --batch takes no argument %q", args[0])
	case o.batch:
		return nil
	case len(args) == 0:
		return cli.UsageErrorf("name a tool (`picoclaw tools` lists them), or a path with a / in it")
	case isPath(args[0]) && len(args) > 1:
		return cli.UsageErrorf("explain %s takes no argument %q: to explain a call, name the tool first", args[0], args[1])
	case args[0] == "network" && len(args) != 2 && len(args) != 3: // a method may be an argument of its own
		return cli.UsageErrorf("explain network takes one host or request, such as files.example.net:8443 or 'POST https://api.example.com/me'")
	}
	o.subject, o.arguments.pairs, o.arguments.isJSON = args[0], args[1:], cmd.Flags().Changed("json")
	return nil
}

func (o *ExplainOptions) runExplain() error {
	if o.batch {
		return explainBatch(o.Factory)
	}
	s, _, done, err := hosts.OpenSessionWith(o.Factory, (*session.Host).OpenPreviewSession, o.agent, session.CLI)
	if err != nil {
		return err
	}
	defer done()
	if isPath(o.subject) {
		return explainPath(o.Factory, s, o.subject, o.output)
	}
	if o.subject == "network" {
		return explainNetwork(o.Factory, s, strings.Join(o.arguments.pairs, " "), o.output)
	}
	raw, err := o.arguments.encodeArguments(s, o.subject)
	if err != nil {
		return err
	}
	decision := newExplanation(s.ExplainCall(o.subject, raw))
	if path := o.suggestPath(s); decision.Rule == pluginpb.CodeUnknownTool && path != "" {
		decision.Hint = "to explain the path, write it with a slash: picoclaw explain " + path
	}
	return printDecision(o.Factory, decision, o.output)
}

// decisionExplanation is the JSON output about a decision.
type decisionExplanation struct {
	ID       json.RawMessage `json:"id,omitempty"`
	Decision string          `json:"decision"`
	Rule     string          `json:"rule"`
	Reason   string          `json:"reason"`
	Hint     string          `json:"hint"`

	// The rules that tools.exec.undoable_deletes has lifted for a command that is allowed.
	Softened []string `json:"softened,omitempty"`

	// Details of a refused command.
	File    string             `json:"file,omitempty"`    // configuration file with the rule
	Tier    string             `json:"tier,omitempty"`    // whether a custom allow pattern lifts the rule: soft or hard
	Command string             `json:"command,omitempty"` // the simple command that decided, as custom patterns see it
	Argv    []string           `json:"argv,omitempty"`
	Span    *guard.CommandSpan `json:"span,omitempty"` // of the reason in the command
	Safer   string             `json:"safer,omitempty"`
	Setting string             `json:"setting,omitempty"`
}

// newExplanation describes a decision; a call that cannot be parsed is denied.
func newExplanation(d guard.Decision, e *session.Error) decisionExplanation {
	if e != nil {
		rule := cmp.Or(e.Rule, e.Code)
		return decisionExplanation{Decision: guard.Deny.String(), Rule: rule, Reason: e.Message, Hint: e.Hint}
	}
	return decisionExplanation{Decision: d.Verdict.String(), Rule: d.Rule, Reason: d.Reason, Hint: d.Hint, Softened: d.Softened,
		File: d.File, Tier: d.Tier, Command: d.CanonicalCommand(), Argv: d.Argv, Span: d.Span, Safer: d.Safer, Setting: d.Setting}
}

func explainBatch(f *cli.Factory) error {
	s, done, err := openAgentSessions(f, (*session.Host).OpenPreviewSession)
	if err != nil {
		return err
	}
	defer done()
	return answerStdinLines(f, 1, func(line []byte) any {
		in, sess, e := s.parseCall(line)
		out := decisionExplanation{}
		if e != nil {
			out = newExplanation(guard.Decision{}, e)
		} else {
			out = newExplanation(sess.ExplainCall(in.Tool, in.Args))
		}
		out.ID = in.ID
		return out
	})
}

func printDecision(f *cli.Factory, e decisionExplanation, output cli.OutputFormat) error {
	if output == cli.JSON {
		return f.PrintJSON(e)
	}
	out := terminal.NewWriter(f.Out)
	style := map[string]terminal.Style{guard.Allow.String(): terminal.Good, guard.Deny.String(): terminal.Bad}[e.Decision]
	fmt.Fprintln(out, out.Paint(cmp.Or(style, terminal.Doubt), e.Decision))
	rule, where, instead, setting := e.Rule, "", e.Safer, e.Setting
	if e.Tier != "" {
		rule += " (" + e.Tier + ")"
	}
	if e.Span != nil {
		where = fmt.Sprintf("line %d, column %d: %s", e.Span.Line, e.Span.Column, clipAndQuote(e.Span.Text))
	}
	hint := e.Hint
	if instead != "" || setting != "" {
		hint = "" // it is made of the two
	}
	softened := strings.Join(e.Softened, ", ")
	if softened != "" {
		softened += ", by tools.exec.undoable_deletes"
	}
	for _, line := range []struct{ name, text string }{
		{"rule", rule}, {"softened", softened}, {"file", e.File}, {"reason", e.Reason}, {"at", where}, {"command", e.Command}, {"instead", instead},
		{"setting", setting}, {"hint", hint},
	} {
		if line.text != "" {
			fmt.Fprintf(out, "  %-8s %s\n", line.name+":", strings.ReplaceAll(out.ReplaceControls(line.text), "\n", "\n           "))
		}
	}
	return nil
}

// clipAndQuote shortens a part of a command, and quotes it if it has characters that do not print.
func clipAndQuote(text string) string {
	const limit = 200
	if len(text) > limit {
		text = strings.ToValidUTF8(text[:limit], "") + "…"
	}
	quoted := strconv.Quote(text)
	if inner := quoted[1 : len(quoted)-1]; inner != strings.ReplaceAll(text, `"`, `\"`) {
		return quoted
	}
	return text
}

// isPath reports whether an argument is a path; names of tools contain no slash.
func isPath(arg string) bool { return strings.Contains(arg, "/") || arg == "." || arg == ".." }

// suggestPath returns a path for explain if the subject is no tool but the name of an existing file: in the workspace,
// or else in the working directory. It returns "" if there is no such file.
func (o *ExplainOptions) suggestPath(s *session.Session) string {
	name := o.subject
	if len(o.arguments.pairs) > 0 || !filepath.IsLocal(name) {
		return ""
	}
	if _, err := os.Lstat(filepath.Join(s.Policy().WorkspacePath(), name)); err == nil {
		return "./" + name
	}
	if _, err := os.Lstat(name); err == nil {
		absolute, _ := filepath.Abs(name) // "" if there is no current directory
		return absolute
	}
	return ""
}

// explainPath shows each layer's decision on a path.
func explainPath(f *cli.Factory, s *session.Session, path string, output cli.OutputFormat) error {
	layers, err := s.ExplainPath(path)
	if err != nil {
		return cli.FailedError(err)
	}
	if output == cli.JSON {
		return f.PrintJSON(map[string]any{"path": path, "walls": layers})
	}
	table := tabwriter.NewWriter(f.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "LAYER\tREAD\tWRITE\tREASON")
	for _, w := range layers {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", terminal.CleanLine(w.Layer), yesOrNo(w.Read), yesOrNo(w.Write), terminal.CleanLine(w.Why))
	}
	return table.Flush()
}

// explainNetwork shows whether processes with network access may make a connection or request.
func explainNetwork(f *cli.Factory, s *session.Session, question string, output cli.OutputFormat) error {
	decision, err := s.ExplainNetwork(question)
	if err != nil {
		return cli.FailedError(err)
	}
	return printDecision(f, newExplanation(decision, nil), output)
}

func yesOrNo(yes bool) string {
	if yes {
		return "yes"
	}
	return "no"
}
