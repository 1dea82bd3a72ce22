// Package cli asks models through the command lines of their makers, Claude Code and Codex, which run a loop of their
// own. Theirs are not the tools: the only hands of such a program are an MCP server that reaches this very session, so
// every call that it makes is decided on and recorded as any other.
//
// Three things see to that. The program is told to have no other tools; what it says that it has, and what it does, is
// looked at, and one tool too many ends it with all that it has started; and it runs through isolation, without the
// workspace and with the network of its maker's API alone, where a sandbox can keep it to that.
//
// What these programs are told and how they answer was read from the versions in the tests, which really start them.
// The package must not know how a call is decided on, where the server's socket leads, nor where its options were read.
package cli

import (
	"bufio"
	"bytes"
	"context"
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
)

// Options say which program is asked, and what for.
type Options struct {
	Maker   Maker
	Model   string   // as the program calls it; empty, or the name of the protocol or of the program, for its default
	BaseURL string   // where its API is, for another place than its maker's
	Command []string // the program and arguments before ours; empty for its usual name on the PATH
	Hosts   []string // that it reaches, as in network.allow; nil for those of its API

	// Secret is the name of the operator's secret that is the key. The program sees a placeholder. It takes a sandbox.
	Secret string
	Key    string // the key itself, where there is no sandbox: the program sees it

	// Sandboxed says that a sandbox keeps programs to their hosts. Without one they have the network.
	Sandboxed bool
	// Start starts a program for the session.
	Start func(session.ConfinedProgram) (*isolation.Process, error)
	// Server is the MCP server that reaches the session, a program and its arguments, and Paths what it needs to see:
	// itself and its socket.
	Server, Paths []string
}

// CLI is a model behind a program.
type CLI struct {
	o     Options
	maker *maker
	name  string // as errors say it
	found *found
	hosts []string
	keyAs string // the variable with the key; empty for none
}

// New makes a model, and starts nothing.
func New(o Options) (*CLI, error) {
	c := &CLI{o: o, maker: makers[o.Maker], name: string(o.Maker), hosts: o.Hosts}
	if c.maker == nil {
		return nil, fmt.Errorf("there is no CLI provider %q; there are %s and %s", o.Maker, Claude, Codex)
	}
	if slices.Contains([]string{c.name, c.maker.program, c.maker.program + "-code"}, o.Model) {
		c.o.Model = ""
	}
	if len(o.Server) == 0 || o.Start == nil {
		return nil, fmt.Errorf("%s has no server that its tools are from", c.name)
	}
	var err error
	if c.hosts == nil {
		if c.hosts, err = c.maker.hosts(o.BaseURL); err != nil {
			return nil, fmt.Errorf("%s: %w", c.name, err)
		}
	}
	if c.found, err = find(o.Command, c.maker.program); err != nil {
		return nil, fmt.Errorf("%s: %w", c.name, err)
	}
	return c, c.chooseKey()
}

// chooseKey says which variable the key is in.
func (c *CLI) chooseKey() error {
	switch {
	case c.o.Secret != "" && !c.o.Sandboxed:
		return fmt.Errorf("%s has the secret %s as its key, which takes a sandbox that fills it in on the way; set "+
			"isolation.enabled to true, or api_key in place of secret", c.name, c.o.Secret)
	case c.o.Key != "" && c.o.Sandboxed:
		return fmt.Errorf("%s would see its key in the sandbox; put it under secrets as %s, and name that in secret in "+
			"place of api_key", c.name, c.maker.key)
	case c.o.Secret != "" && c.maker.keys != nil && !slices.Contains(c.maker.keys, c.o.Secret):
		return fmt.Errorf("%s has the secret %s as its key, and looks for one of another name; call it %s",
			c.name, c.o.Secret, strings.Join(c.maker.keys, " or "))
	case c.o.Secret != "":
		c.keyAs = c.o.Secret
	case c.o.Key != "":
		c.keyAs = c.maker.key
	}
	return nil
}

// Generate has the program answer a conversation. Its calls are made through the server; the reply has none.
func (c *CLI) Generate(ctx context.Context, r agent.Request, onText func(string)) (*agent.Reply, error) {
	if onText == nil {
		onText = func(string) {}
	}
	if r.Observe == nil {
		r.Observe = func(agent.Event) {}
	}
	system, prompt := r.System, prompt(r.Messages)
	if len(system) > longestArgument {
		system, prompt = "", system+"\n\n"+prompt
	}
	input, err := c.maker.input(prompt)
	if err != nil {
		return nil, err
	}
	a := &assembly{name: c.name, request: r, onText: onText, calls: map[string]agent.Call{}}
	reply, err := c.run(ctx, c.maker.arguments(c, system, r), input, c.maker.reader(a), a)
	return reply, c.explained(err)
}

// explained says how a secret has to be sent where a key was not taken.
func (c *CLI) explained(err error) error {
	var failed *agent.ModelError
	if errors.As(err, &failed) && c.o.Secret == c.maker.key && c.maker.sends != "" &&
		(failed.Status == http.StatusUnauthorized || strings.Contains(failed.Message, "API key")) {
		failed.Message += fmt.Sprintf("; is secrets.%s.as %s, as %s sends it?", c.o.Secret, c.maker.sends, c.maker.program)
	}
	return err
}

// reader reads a program's events.
type reader interface {
	// read reads one. An error ends the program.
	read(line []byte) error
}

// maxLine is the longest event that is read: results of tools are in them.
const maxLine = 32 << 20

// endsWithin is how long a program may take to end that has answered.
const endsWithin = 5 * time.Second

// run runs the program until its answer is whole.
func (c *CLI) run(ctx context.Context, args []string, input []byte, events reader, a *assembly) (*agent.Reply, error) {
	p := c.program(args)
	pipes, err := stdio.Of(p.Command)
	if err != nil {
		return nil, err
	}
	defer pipes.Close()
	process, err := c.o.Start(p)
	pipes.Started()
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
		pipes.Ended()
	}()
	said := stdio.NewTail(longestWords)
	var listening sync.WaitGroup
	listening.Go(func() { _, _ = io.Copy(said, pipes.Err) })
	go func() {
		_, _ = pipes.In.Write(input) // one that does not read it says why
		_ = pipes.In.Close()
	}()
	err = read(pipes.Out, events, a)
	if err != nil {
		process.Kill()
	}
	within, cancel := context.WithTimeout(ctx, endsWithin)
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
		return a.reply()
	case waited != nil && !errors.Is(waited, context.DeadlineExceeded):
		return nil, fmt.Errorf("%s could not be run: %w", c.name, waited)
	}
	return nil, a.failed(0, fmt.Sprintf("it ended without an answer (%s)%s", exit, c.words(said)))
}

// read reads a program's events until its answer is whole, or nothing more comes.
func read(from io.Reader, events reader, a *assembly) error {
	lines := bufio.NewScanner(from)
	lines.Buffer(make([]byte, 0, 64<<10), maxLine)
	for !a.done && lines.Scan() {
		if line := bytes.TrimSpace(lines.Bytes()); len(line) > 0 {
			if err := events.read(line); err != nil {
				return err
			}
		}
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		return a.wrong("wrote an event of more than %d bytes", maxLine)
	}
	return nil
}

// program is the program with what it may touch.
func (c *CLI) program(args []string) session.ConfinedProgram {
	env := c.maker.environment(c)
	if c.o.Key != "" {
		env[c.keyAs] = c.o.Key
	}
	p := session.ConfinedProgram{
		Name: c.name, Workspace: "none", ReadOnly: slices.Concat(c.found.paths, c.o.Paths), Network: !c.o.Sandboxed,
	}
	if c.o.Sandboxed {
		p.Hosts = c.hosts
	}
	if c.o.Secret != "" {
		p.Secrets = []string{c.o.Secret}
	}
	p.Command = &exec.Cmd{
		Path: c.found.argv[0], Args: slices.Concat(c.found.argv, args), Dir: string(filepath.Separator),
		Env: environment(env, p.ReadOnly),
	}
	return p
}

// words are the last of what the program has said besides.
func (c *CLI) words(said *stdio.Tail) string {
	text, _ := said.Text()
	text = clean(text)
	if c.o.Key != "" {
		text = strings.ReplaceAll(text, c.o.Key, "[secret]")
	}
	if text == "" {
		return ""
	}
	return ": " + text
}
