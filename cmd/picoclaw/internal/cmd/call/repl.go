package call

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/spf13/cobra"

	"github.com/picoclaw/picoclaw/cmd/internal/cli"
	"github.com/picoclaw/picoclaw/cmd/internal/terminal"
	"github.com/picoclaw/picoclaw/cmd/picoclaw/internal/hosts"
	"github.com/picoclaw/picoclaw/cmd/picoclaw/internal/prompt"
	"github.com/picoclaw/picoclaw/cmd/picoclaw/internal/results"
	"github.com/picoclaw/picoclaw/host/session"
	"github.com/picoclaw/picoclaw/internal/suggest"
)

// REPLOptions are the options of `picoclaw repl`.
type REPLOptions struct {
	*cli.Factory
	agent string

	session *session.Session
	out     *terminal.Writer
	lines   *prompt.LineReader
	failed  bool
}

func NewCmdREPL(f *cli.Factory, runF func(*REPLOptions) error) *cobra.Command {
	r := &REPLOptions{Factory: f}
	cmd := &cobra.Command{
		Use:   "repl",
		Short: "Call tools interactively, with history and completion",
	}
	f.AddAgentFlag(cmd, &r.agent, "the agent to call for (default: the first one)")
	return cli.SetRunContext(cmd, r, (*REPLOptions).runREPL, runF)
}

func (r *REPLOptions) runREPL(ctx context.Context) error {
	sess, h, done, err := hosts.OpenSession(r.Factory, r.agent, session.CLI)
	if err != nil {
		return err
	}
	defer done()
	if err := h.PrepareForCalls(); err != nil {
		return cli.StartError(err)
	}
	r.session, r.out = sess, terminal.NewWriter(r.Out)
	r.lines = prompt.NewLineReader(r.In, r.Out, filepath.Join(h.Config().Home().Path, "repl_history"), r.completeLine)
	defer r.lines.RestoreTerminal()

	// Ctrl-C is for the call that runs; what ends the program is the end of the input, or of the terminal.
	ctx, stop := signal.NotifyContext(context.WithoutCancel(ctx), syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	if r.lines.IsInteractive() {
		fmt.Fprintf(r.out, "agent %s in %s; `help` lists commands\n", sess.Policy().AgentID(),
			sess.Policy().WorkspacePath())
	}
	for {
		line, err := r.lines.ReadLine(ctx, sess.Policy().AgentID()+"> ")
		switch {
		case errors.Is(err, io.EOF) || ctx.Err() != nil:
			return r.exitError()
		case err != nil:
			return cli.FailedError(fmt.Errorf("read the terminal: %w", err))
		}
		if leave := r.runLine(ctx, line); leave {
			return r.exitError()
		}
	}
}

// exitError returns the error for the REPL's exit code.
func (r *REPLOptions) exitError() error {
	return cli.ReportedFailure(r.failed && !r.lines.IsInteractive(), nil)
}

// runLine executes a line. leave reports whether the line ends the REPL.
func (r *REPLOptions) runLine(ctx context.Context, line string) (leave bool) {
	words, err := prompt.SplitLine(line)
	if err != nil {
		r.printError(err)
		return false
	}
	if len(words) == 0 || strings.HasPrefix(words[0], "#") {
		return false
	}
	switch normalizeCommand(words[0]) {
	case "exit":
		return true
	case "help":
		err = r.showHelp(words[1:])
	case "tools":
		err = r.showHelp(nil)
	case "explain":
		err = r.explainCall(words[1:])
	default:
		err = r.callTool(ctx, words)
	}
	r.printError(err)
	return false
}

func (r *REPLOptions) printError(err error) {
	if err == nil {
		return
	}
	r.failed = true
	if text := err.Error(); text != "" {
		fmt.Fprintln(r.Err, text)
	}
}

// parseArguments returns the words after a tool's name: key=value pairs, or one JSON object.
func (r *REPLOptions) parseArguments(words []string) *callArguments {
	if len(words) == 1 && strings.HasPrefix(words[0], "{") {
		return &callArguments{json: words[0], isJSON: true}
	}
	return &callArguments{pairs: words, stdin: strings.NewReader("")}
}

func (r *REPLOptions) callTool(ctx context.Context, words []string) error {
	raw, err := r.parseArguments(words[1:]).encodeArguments(r.session, words[0])
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt)
	defer stop()
	var ask session.ApprovalAsker
	if r.lines.IsInteractive() {
		ask = r.askApproval
	}
	return results.ShowResult(r.Factory, words[0], callWithProgress(r.Factory, ctx, r.session, words[0], raw, ask), "text")
}

func (r *REPLOptions) askApproval(ctx context.Context, q session.ApprovalQuestion) bool {
	return results.AskApproval(r.Factory, ctx, r.lines, r.out, q)
}

func (r *REPLOptions) explainCall(words []string) error {
	if len(words) == 0 {
		return errors.New("usage: explain TOOL key=value …")
	}
	raw, err := r.parseArguments(words[1:]).encodeArguments(r.session, words[0])
	if err != nil {
		return err
	}
	return printDecision(r.Factory, newExplanation(r.session.ExplainCall(words[0], raw)), "text")
}

// replCommands are the REPL's own commands, besides tools.
var replCommands = []struct{ name, doc string }{
	{"help", "help [TOOL]: list commands and tools, or show a tool's arguments"},
	{"explain", "explain TOOL key=value …: show the decision and its rule"},
	{"exit", "quit (also Ctrl-D)"},
}

// normalizeCommand returns a line's first word as a REPL command, with forms such as :q and .help translated.
func normalizeCommand(word string) string {
	name := strings.TrimLeft(word, `.:/\`)
	foreign := name != word
	switch {
	case name == "?", name == "--help", name == "-h", foreign && name == "h":
		return "help"
	case name == "quit", foreign && (name == "q" || name == "q!" || name == "wq"):
		return "exit"
	case foreign && slices.ContainsFunc(replCommands, func(v struct{ name, doc string }) bool { return v.name == name }):
		return name
	}
	return word
}

// showHelp lists the tools, or describes one.
func (r *REPLOptions) showHelp(words []string) error {
	if len(words) > 0 {
		return r.describeTool(words[0])
	}
	table := terminal.NewTable("TOOL", "WHAT IT DOES")
	for _, t := range r.session.Tools() {
		table.AddRow(t.Name, t.Spec.Doc)
		table.StyleCell(0, terminal.Name)
	}
	for _, v := range replCommands {
		table.AddRow(v.name, v.doc)
		table.StyleCell(0, terminal.Bold)
	}
	return table.Write(r.out)
}

func (r *REPLOptions) describeTool(name string) error {
	var names []string
	for _, t := range r.session.Tools() {
		names = append(names, t.Name)
		if name != t.Name && name != t.Plugin+"."+t.Spec.Name {
			continue
		}
		schema, err := t.Spec.Input.Parse()
		if err != nil {
			return err
		}
		fmt.Fprintln(r.out, t.Spec.Doc)
		table := terminal.NewTable("ARGUMENT", "TYPE", "", "WHAT IT IS")
		for _, key := range propertyNames(schema) {
			needed := ""
			if slices.Contains(schema.Required, key) {
				needed = "needed"
			}
			table.AddRow(key, argumentType(schema.Properties[key]), needed, schema.Properties[key].Description)
			table.StyleCell(0, terminal.Name)
		}
		return table.Write(r.out)
	}
	return fmt.Errorf("there is no tool %q%s", name, suggest.DidYouMean(name, names))
}

func argumentType(s *jsonschema.Schema) string {
	types := slices.DeleteFunc(append(slices.Clone(s.Types), s.Type),
		func(t string) bool { return t == "" || t == "null" })
	return cmp.Or(strings.Join(types, " or "), "any")
}

// completeLine proposes completions of a line's last word.
func (r *REPLOptions) completeLine(line string) prompt.Completions {
	words, last, ok := prompt.SplitIncompleteLine(line)
	if !ok {
		return prompt.Completions{}
	}
	var found []string
	if len(words) > 0 && (words[0] == "explain" || words[0] == "help") {
		words = words[1:]
	} else if len(words) == 0 {
		for _, v := range replCommands {
			found = append(found, v.name)
		}
	}
	completions, whole := completeWord(r.session, words, last)
	for _, c := range completions {
		name, _, _ := strings.Cut(c, "\t") // a description is behind it
		found = append(found, name)
	}
	return prompt.Completions{Last: last, Words: found, Whole: whole}
}
