package serve

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/picoclaw/picoclaw/internal/suggest"
	"github.com/picoclaw/picoclaw/sdk/exec"
	"github.com/picoclaw/picoclaw/sdk/guard"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
	"github.com/picoclaw/picoclaw/sdk/pluginpolicy"
)

// standaloneCall is a parsed `call` command, which runs a tool without a host.
type standaloneCall struct {
	tool      string
	arguments string // JSON, or "-" for standard input
	config    string // JSON
	help      bool
}

// runCallCommand runs one tool without a host, for plugin authors. The current directory is the workspace, and all
// requested grants are given. Only guard and workspace restrict the tool.
func runCallCommand(p Plugin, args []string, stdin io.Reader, stdout, stderr io.Writer) error {
	command, err := parseCallCommand(args)
	if err != nil {
		return usageError{err}
	}
	manifest, err := NewManifest(p)
	if err != nil {
		return fmt.Errorf("this plugin can't be used: %w", err)
	}
	if command.tool == "" {
		if command.help {
			printHelp(stdout, p)
			return nil
		}
		return usageError{fmt.Errorf("name the tool to call: %s", strings.Join(toolNames(manifest), ", "))}
	}
	spec, err := findTool(manifest, command.tool)
	if err != nil {
		return usageError{err}
	}
	command.tool = spec.Name
	if command.help {
		return printToolHelp(stdout, spec)
	}
	if command.arguments == "-" {
		read, readErr := io.ReadAll(io.LimitReader(stdin, pluginpb.MaxArgumentBytes+1))
		if readErr != nil {
			return fmt.Errorf("read the arguments from standard input: %w", readErr)
		}
		command.arguments = string(read)
	}
	canonical, err := canonicalArguments(spec, command.arguments)
	if err != nil {
		return usageError{err}
	}
	return command.runToolStandalone(p, manifest, canonical, stdout, stderr)
}

// parseCallCommand parses the arguments after `call`. Options may be anywhere.
func parseCallCommand(args []string) (*standaloneCall, error) {
	c := &standaloneCall{}
	flags := flag.NewFlagSet("call", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.StringVar(&c.config, "config", "", "")
	var words []string
	for {
		if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
			c.help = true
		} else if err != nil {
			return nil, fmt.Errorf("call: %w", err)
		}
		if flags.NArg() == 0 {
			break
		}
		words, args = append(words, flags.Arg(0)), flags.Args()[1:]
	}
	if len(words) > 0 {
		c.tool = words[0]
	}
	if len(words) > 1 {
		c.arguments = words[1]
	}
	if len(words) > 2 {
		return nil, fmt.Errorf("call takes a tool and one JSON object, not also %q; quote the JSON for your shell", words[2])
	}
	return c, nil
}

// canonicalArguments validates JSON arguments like a host and returns their canonical form.
func canonicalArguments(spec *pluginpb.ToolSpec, text string) ([]byte, error) {
	reader, _, err := spec.CompileInputSchema()
	if err != nil {
		return nil, err
	}
	args, err := reader.Read([]byte(text))
	if err == nil {
		return args.Canonical, nil
	}
	var wrong *pluginpb.InvalidArgumentsError
	suggestion := ""
	if errors.As(err, &wrong) && wrong.Unknown != "" {
		suggestion = suggest.DidYouMean(wrong.Unknown, wrong.Known)
	}
	return nil, fmt.Errorf("%s: %w%s; `call %s --help` shows its arguments", spec.Name, err, suggestion, spec.Name)
}

func (c *standaloneCall) runToolStandalone(p Plugin, m *pluginpb.Manifest, arguments []byte, stdout, stderr io.Writer) error {
	dir, err := os.Getwd()
	if err != nil {
		return err
	}
	s := newService(p, newLogger(stderr, p.ID, false))
	policy := &pluginpolicy.Policy{
		Guard:  guard.Policy{Workspace: dir, Restrict: true, Exec: guard.ExecPolicy{DenyPatterns: true}},
		Grants: m.Grants,
		Exec:   exec.CommandSettings{Timeout: time.Minute},
		Config: []byte(c.config),
	}
	if m.Grants.State {
		if policy.StateDir, err = os.MkdirTemp("", p.ID+"-state"); err != nil {
			return err
		}
		defer func() { _ = os.RemoveAll(policy.StateDir) }()
	}
	if m.Grants.Takeback {
		dir, mkdirErr := os.MkdirTemp("", p.ID+"-takeback")
		if mkdirErr != nil {
			return mkdirErr
		}
		defer func() { _ = os.RemoveAll(dir) }()
		policy.Undo.Dir = dir
	}
	env, err := s.newEnvironment(policy)
	if err != nil {
		return err
	}
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt)
	defer cancel()
	defer s.stopOnce(context.WithoutCancel(ctx))
	result := s.runTool(ctx, s.tools[c.tool], s.newToolCall(env, arguments, func(e *pluginpb.CallEvent) { printEvent(stderr, e) }))
	if result.AgentText() != "" {
		fmt.Fprintln(stdout, result.AgentText())
	}
	return newCallError(c.tool, result.GetError())
}

// printEvent prints an output or progress event of a running call.
func printEvent(w io.Writer, e *pluginpb.CallEvent) {
	switch e := e.GetEvent().(type) {
	case *pluginpb.CallEvent_Output:
		_, _ = w.Write(e.Output.GetData())
	case *pluginpb.CallEvent_Progress:
		if p := e.Progress; p.GetTotal() > 0 {
			fmt.Fprintf(w, "%g of %g %s\n", p.GetDone(), p.GetTotal(), p.GetMessage())
		} else {
			fmt.Fprintf(w, "%g %s\n", p.GetDone(), p.GetMessage())
		}
	}
}

// newCallError returns a call's error with code, rule and hint; nil without error.
func newCallError(tool string, e *pluginpb.Error) error {
	if e == nil {
		return nil
	}
	text := fmt.Sprintf("%s: %s [%s]", tool, e.GetMessage(), e.GetCode())
	if e.GetRule() != "" {
		text += "\nrule: " + e.GetRule()
	}
	if e.GetHint() != "" {
		text += "\nhint: " + e.GetHint()
	}
	return errors.New(text)
}
