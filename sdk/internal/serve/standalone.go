package serve

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/signal"
	"slices"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

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

func toolNames(m *pluginpb.Manifest) []string {
	names := make([]string, 0, len(m.Tools))
	for i := range m.Tools {
		names = append(names, m.Tools[i].Name)
	}
	return names
}

// findTool returns the tool with a short or full name.
func findTool(m *pluginpb.Manifest, name string) (*pluginpb.ToolSpec, error) {
	name = strings.TrimPrefix(name, m.ID+".")
	for i := range m.Tools {
		if m.Tools[i].Name == name {
			return &m.Tools[i], nil
		}
	}
	names := toolNames(m)
	if suggestion := suggest.DidYouMean(name, names); suggestion != "" {
		return nil, fmt.Errorf("no tool %q%s", name, suggestion)
	}
	return nil, fmt.Errorf("no tool %q; the tools are %s", name, strings.Join(names, ", "))
}

func printToolHelp(w io.Writer, spec *pluginpb.ToolSpec) error {
	input, err := spec.Input.Parse()
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "%s: %s\n", spec.Name, spec.Doc)
	if len(input.Properties) == 0 {
		_, err = fmt.Fprintln(w, "It takes no arguments.")
		return err
	}
	fmt.Fprintln(w, "\nIt takes a JSON object:")
	for _, name := range slices.Sorted(maps.Keys(input.Properties)) {
		p := input.Properties[name]
		fmt.Fprintf(w, "  %-18s %s\n", name, strings.TrimSpace(strings.Join(describeArgument(name, input, p), "; ")))
	}
	return nil
}

// describeArgument returns the type, limits and meaning of an argument.
func describeArgument(name string, input, p *jsonschema.Schema) []string {
	kind := cmp.Or(p.Type, strings.Join(p.Types, " or "))
	if slices.Contains(input.Required, name) {
		kind += ", required"
	}
	all := []string{kind}
	if len(p.Enum) > 0 {
		values := make([]string, 0, len(p.Enum))
		for _, v := range p.Enum {
			values = append(values, fmt.Sprint(v))
		}
		all = append(all, "one of "+strings.Join(values, ", "))
	}
	if p.Default != nil {
		all = append(all, "default "+string(p.Default))
	}
	if p.Description != "" {
		all = append(all, firstLine(p.Description))
	}
	return all
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}
