// Package cli uses the command-line agents of model vendors, Claude Code and Codex, which run their own loop. Their
// only tools come from an MCP server connected to the session, so every call is checked and logged.
//
// Three measures ensure this. Arguments disable other tools; the program's reports and actions are checked, and a
// foreign tool kills it with all its children; and it runs in the isolation layer, without the workspace and, in a
// sandbox, with no network but its vendor's API.
//
// Arguments and events match the versions in the tests, which start the real programs. The package must not know how a
// call is decided, where the server's socket leads, or where its options come from.
package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/picoclaw/picoclaw/host/agent"
	"github.com/picoclaw/picoclaw/host/session"
	"github.com/picoclaw/picoclaw/internal/stdio"
	"github.com/picoclaw/picoclaw/isolation"
	sdkexec "github.com/picoclaw/picoclaw/sdk/exec"
)

// Options configure a [ProgramModel].
type Options struct {
	Vendor  ProgramVendor
	Model   string   // name used by the program; empty, or the protocol's or program's name, for its default
	BaseURL string   // of its API; empty for the vendor's
	Command []string // program and leading arguments; empty for its usual name on the PATH
	Hosts   []string // allowed hosts, as in network.allow; nil for its API's

	// Secret names the operator's secret with the key. The program sees a placeholder; a sandbox is required.
	Secret string
	Key    string // the key itself, without a sandbox: the program sees it

	// Sandboxed says that a sandbox limits the program's hosts. Without one it has the full network.
	Sandboxed bool
	// Start starts a program for the session.
	Start func(session.AgentProgram) (*isolation.Process, error)
	// Server is the command of the MCP server for the session; Paths are files it needs: itself and its socket.
	Server, Paths []string
}

// ProgramModel is a model behind a command-line program, such as Claude Code.
type ProgramModel struct {
	options     Options
	vendor      *programAdapter
	name        string // for errors
	program     *installedProgram
	hosts       []string
	keyVariable string // environment variable with the key; empty for none
}

// New returns a model. It does not start the program.
func New(o Options) (*ProgramModel, error) {
	c := &ProgramModel{options: o, vendor: vendorPrograms[o.Vendor], name: string(o.Vendor), hosts: o.Hosts}
	if c.vendor == nil {
		return nil, fmt.Errorf("there is no CLI provider %q; there are %s and %s", o.Vendor, ClaudeVendor, CodexVendor)
	}
	if slices.Contains([]string{c.name, c.vendor.program, c.vendor.program + "-code"}, o.Model) {
		c.options.Model = ""
	}
	if len(o.Server) == 0 || o.Start == nil {
		return nil, fmt.Errorf("%s has no MCP server for its tools", c.name)
	}
	var err error
	if c.hosts == nil {
		if c.hosts, err = c.vendor.apiHosts(o.BaseURL); err != nil {
			return nil, fmt.Errorf("%s: %w", c.name, err)
		}
	}
	if c.program, err = findProgram(o.Command, c.vendor.program); err != nil {
		return nil, fmt.Errorf("%s: %w", c.name, err)
	}
	return c, c.chooseKeyVariable()
}

// chooseKeyVariable selects the environment variable for the key.
func (c *ProgramModel) chooseKeyVariable() error {
	switch {
	case c.options.Secret != "" && !c.options.Sandboxed:
		return fmt.Errorf("%s has the secret %s as its key, which only a sandbox can insert; set "+
			"isolation.enabled to true, or api_key in place of secret", c.name, c.options.Secret)
	case c.options.Key != "" && c.options.Sandboxed:
		return fmt.Errorf("%s would see its key in the sandbox; put it under secrets as %s, and name that in secret in "+
			"place of api_key", c.name, c.vendor.keyVariable)
	case c.options.Secret != "" && c.vendor.keyVariables != nil && !slices.Contains(c.vendor.keyVariables, c.options.Secret):
		return fmt.Errorf("%s has the secret %s as its key, and looks for one of another name; call it %s",
			c.name, c.options.Secret, strings.Join(c.vendor.keyVariables, " or "))
	case c.options.Secret != "":
		c.keyVariable = c.options.Secret
	case c.options.Key != "":
		c.keyVariable = c.vendor.keyVariable
	}
	return nil
}

// Generate implements [agent.Model]. The program makes its calls itself, through picoclaw's MCP server.
func (c *ProgramModel) Generate(ctx context.Context, r agent.ModelRequest, onText func(string)) (*agent.ModelReply, error) {
	if onText == nil {
		onText = func(string) {}
	}
	if r.Observe == nil {
		r.Observe = func(agent.TurnEvent) {}
	}
	system, prompt := r.System, promptText(r.Messages)
	if len(system) > maxArgumentBytes {
		system, prompt = "", system+"\n\n"+prompt
	}
	input, err := c.vendor.input(prompt)
	if err != nil {
		return nil, err
	}
	a := &replyAssembler{name: c.name, request: r, onText: onText, calls: map[string]agent.ToolCall{}}
	reply, err := c.runProgram(ctx, c.vendor.arguments(c, system, r), input, c.vendor.reader(a), a)
	return reply, c.explainKeyError(err)
}

// explainKeyError adds a hint about the configuration of the secret, if the provider rejected the key.
func (c *ProgramModel) explainKeyError(err error) error {
	if failed, ok := errors.AsType[*agent.ModelError](err); ok && c.options.Secret == c.vendor.keyVariable && c.vendor.secretFormat != "" &&
		(failed.Status == http.StatusUnauthorized || strings.Contains(failed.Message, "API key")) {
		failed.Message += fmt.Sprintf("; is secrets.%s.as %s, as %s sends it?", c.options.Secret, c.vendor.secretFormat, c.vendor.program)
	}
	return err
}

// eventHandler adds a program's events to a reply.
type eventHandler interface {
	// handleEvent parses one event. An error ends the program.
	handleEvent(line []byte) error
}

// maxEventBytes limits the size of an event, which may include tool results.
const maxEventBytes = 32 << 20

// exitTimeout limits how long a program may run after its reply.
const exitTimeout = 5 * time.Second

// runProgram runs the program until its reply is complete.
func (c *ProgramModel) runProgram(ctx context.Context, args []string, input []byte, events eventHandler, a *replyAssembler) (*agent.ModelReply, error) {
	p := c.confinedProgram(args)
	pipes, err := stdio.AttachPipes(p.Command)
	if err != nil {
		return nil, err
	}
	defer pipes.Close()
	process, err := c.options.Start(p)
	pipes.CloseChildEnds()
	if err != nil {
		return nil, fmt.Errorf("%s could not be started: %w", c.name, err)
	}
	defer func() {
		process.Kill()
		<-process.Done()
	}()
	stop := context.AfterFunc(ctx, process.Kill)
	defer stop()
	go func() {
		<-process.Done()
		pipes.SetReadDeadlines()
	}()
	said := stdio.NewTailBuffer(maxMessageBytes)
	var listening sync.WaitGroup
	listening.Go(func() { _, _ = io.Copy(said, pipes.Err) })
	go func() {
		_, _ = pipes.In.Write(input) // a program that does not read it reports why
		_ = pipes.In.Close()
	}()
	err = readEvents(pipes.Out, events, a)
	if err != nil {
		process.Kill()
	}
	within, cancel := context.WithTimeout(ctx, exitTimeout)
	defer cancel()
	exit, waited := process.Wait(within)
	process.Kill()
	<-process.Done()
	listening.Wait()
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return nil, err
	case a.done:
		return a.buildReply()
	case waited != nil && !errors.Is(waited, context.DeadlineExceeded):
		return nil, fmt.Errorf("%s could not be run: %w", c.name, waited)
	}
	return nil, a.failureError(0, fmt.Sprintf("it ended without an answer (%s)%s", exit, c.stderrTail(said)))
}

// readEvents passes a program's output to the event handler, until the reply is complete or the output ends.
func readEvents(from io.Reader, events eventHandler, a *replyAssembler) error {
	lines := bufio.NewScanner(from)
	lines.Buffer(make([]byte, 0, 64<<10), maxEventBytes)
	for !a.done && lines.Scan() {
		if line := bytes.TrimSpace(lines.Bytes()); len(line) > 0 {
			if err := events.handleEvent(line); err != nil {
				return err
			}
		}
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		return a.protocolError("wrote an event of more than %d bytes", maxEventBytes)
	}
	return nil
}

// confinedProgram returns the program with the access rights it gets.
func (c *ProgramModel) confinedProgram(args []string) session.AgentProgram {
	env := c.vendor.environment(c)
	if c.options.Key != "" {
		env[c.keyVariable] = c.options.Key
	}
	p := session.AgentProgram{
		Name: c.name, Workspace: "none", ReadOnly: slices.Concat(c.program.paths, c.options.Paths), Network: !c.options.Sandboxed,
	}
	if c.options.Sandboxed {
		p.Hosts = c.hosts
	}
	if c.options.Secret != "" {
		p.Secrets = []string{c.options.Secret}
	}
	p.Command = &exec.Cmd{
		Path: c.program.argv[0], Args: slices.Concat(c.program.argv, args), Dir: string(filepath.Separator),
		Env: sdkexec.BuildEnvironment(nil, env, p.ReadOnly),
	}
	return p
}

// stderrTail returns the end of the program's standard error for error messages.
func (c *ProgramModel) stderrTail(said *stdio.TailBuffer) string {
	text, _ := said.Text()
	text = shortenToOneLine(text)
	if c.options.Key != "" {
		text = strings.ReplaceAll(text, c.options.Key, "[secret]")
	}
	if text == "" {
		return ""
	}
	return ": " + text
}

// maxArgumentBytes limits a program's argument to less than the kernel's limit.
const maxArgumentBytes = 96 << 10

// promptText encodes a conversation as one prompt. It encodes several messages as JSON lines, so that no message can
// imitate another. It does the same for text that the program would interpret as a command.
func promptText(messages []agent.Message) string {
	if len(messages) == 1 && messages[0].Role == agent.User {
		if text := strings.TrimSpace(messages[0].Text); text != "" && strings.IndexByte("/!#", text[0]) < 0 {
			return messages[0].Text
		}
	}
	type call struct {
		Tool      string          `json:"tool"`
		Arguments json.RawMessage `json:"arguments,omitempty"`
	}
	type message struct {
		Role   agent.MessageRole `json:"role"`
		Text   string            `json:"text,omitempty"`
		Calls  []call            `json:"calls,omitempty"`
		Failed bool              `json:"failed,omitempty"`
	}
	var b strings.Builder
	b.WriteString("This is the conversation so far, as JSON, a message a line. You are its assistant. Go on where it ends; " +
		"what is done in it is done.\n\n")
	for _, m := range messages {
		told := message{Role: m.Role, Text: m.Text, Failed: m.Failed}
		for _, c := range m.Calls {
			told.Calls = append(told.Calls, call{c.Tool, c.Arguments})
		}
		line, err := json.Marshal(told)
		if err != nil {
			line, _ = json.Marshal(message{Role: m.Role, Text: m.Text})
		}
		b.Write(line)
		b.WriteByte('\n')
	}
	return b.String()
}
