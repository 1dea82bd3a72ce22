// Package run starts a whole program, such as an agent with tools of its own, in a sandbox with an agent's rights to one
// project. It relays the person's terminal, and remembers each run with its undo history.
//
// The sandbox, the network and the policy are those of host/session. The process inside the sandbox is package supervisor.
// This package must not decide what a policy allows.
package run

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/picoclaw/picoclaw/host/run/internal/wire"
	"github.com/picoclaw/picoclaw/host/session"
	"github.com/picoclaw/picoclaw/isolation"
	"github.com/picoclaw/picoclaw/sdk/undo"
)

// Options describe a run.
type Options struct {
	Session  *session.Session // of an agent whose workspace is the project
	UserHome string           // the person's home directory
	Dir      string           // current directory, in the project
	Program  []string         // name or path, and arguments
	Hosts    []string         // hosts that the person allows for this run
	Env      map[string]string
	// Supervisor is this program with the argument that starts [supervisor.Main].
	Supervisor []string
	Streams    [3]*os.File
}

// Plan is what a run would do.
type Plan struct {
	Preset   *Preset
	Program  string // path; empty if it is not installed
	Missing  error  // why there is none
	Args     []string
	Home     string
	ReadOnly []string
	Hosts    []string
	Secrets  []session.RunSecret
	Env      map[string]string

	id string
}

// Result says how a run ended.
type Result struct {
	ID        string
	Code      int
	Exceeded  string // the limit that the program was ended for
	Changes   undo.Ended
	Refused   []string // changes of protected files
	Found     []string // protected files that it or others changed
	Network   []string // refused connections
	NoHistory string   // why nothing was recorded
}

// NewPlan returns what a run would do. Only the key for placeholders is written.
func NewPlan(o Options) (*Plan, error) {
	policy := o.Session.Policy()
	preset, err := FindPreset(o.Program[0])
	if err != nil {
		return nil, err
	}
	p := &Plan{Preset: preset, id: newRunID(time.Now())}
	var needs []string
	if p.Program, needs, p.Missing = findProgram(o.Program[0], o.Dir, o.UserHome); p.Missing != nil && preset.Name == "generic" {
		return nil, p.Missing
	}
	tools, toolEnv, err := toolDirs(o.UserHome)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(runsDir(policy.Home()), 0o700); err != nil {
		return nil, err
	}
	p.Args = preset.arguments(o.Program[1:], policy.Workspace())
	p.Home = isolation.UserEnvDir(policy.Home(), homeName(o.Program[0], policy.Workspace()))
	p.ReadOnly = slices.Concat(existing(preset.ReadOnly), tools, needs, preset.guidanceFiles(policy.Workspace()))
	p.Hosts = slices.Concat(preset.hostNames(), o.Hosts)
	if p.Secrets, err = keySecrets(o.Session, preset, policy.Home()); err != nil {
		return nil, err
	}
	p.Env = environment(toolEnv, preset.Env, o.Env)
	for _, secret := range p.Secrets {
		p.Env[secret.Name] = secret.Placeholder
	}
	return p, nil
}

// existing returns the paths that exist and are not reached through symlinks.
func existing(all []string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(path string) bool {
		real, err := filepath.EvalSymlinks(path)
		return err != nil || real != path
	})
}

// passedVariables are the person's variables that a program on their terminal needs.
var passedVariables = []string{"TERM", "COLORTERM", "TERM_PROGRAM", "TERM_PROGRAM_VERSION", "LANG", "LANGUAGE", "TZ", "SHELL", "EDITOR",
	"NO_COLOR", "FORCE_COLOR", "CI"}

// environment returns the program's variables besides PATH and HOME: the person's terminal and language, and layers of
// others.
func environment(layers ...map[string]string) map[string]string {
	env := map[string]string{"TMPDIR": "/tmp"} // short enough for sockets
	for _, entry := range os.Environ() {
		name, value, _ := strings.Cut(entry, "=")
		if slices.Contains(passedVariables, name) || strings.HasPrefix(name, "LC_") {
			env[name] = value
		}
	}
	for _, layer := range layers {
		maps.Copy(env, layer)
	}
	return env
}

// Start runs a program until it ends, with the given streams. It returns an error if the program can't be started, or if
// ctx is cancelled, with the cause.
func Start(ctx context.Context, o Options, p *Plan) (*Result, error) {
	if p.Missing != nil {
		return nil, p.Missing
	}
	policy := o.Session.Policy()
	if err := prepareHome(p.Home, policy.Workspace(), p.Preset); err != nil {
		return nil, fmt.Errorf("prepare the program's home: %w", err)
	}
	record := &Record{ID: p.id, Agent: policy.Agent(), Project: policy.Workspace(), Program: o.Program, PID: os.Getpid(), Started: time.Now().UTC()}
	if err := record.save(policy.Home()); err != nil {
		return nil, fmt.Errorf("note the run: %w", err)
	}
	o.Session.UseUndoStore(UndoStore(policy.Home(), p.id))
	a := &attempt{options: o, plan: p}
	result, err := a.run(ctx)
	record.Ended, record.Code = time.Now().UTC(), 1
	if result != nil {
		record.Code, record.Undo = result.Code, result.Changes.ID
	}
	return result, errors.Join(err, record.save(policy.Home()))
}

// attempt is a run in progress.
type attempt struct {
	options  Options
	plan     *Plan
	socket   wire.Conn
	running  *session.Run
	terminal *os.File // the person's; nil for none
	relay    *relay   // nil without a terminal
	shown    int      // refused connections that the title tells of
}

func (a *attempt) run(ctx context.Context) (*Result, error) {
	socket, theirs, err := wire.Pair()
	if err != nil {
		return nil, err
	}
	a.socket = socket
	defer func() { _ = socket.Close() }()
	terminal, leads := terminalOf(a.options.Streams)
	a.terminal = terminal
	cmd := exec.Command(a.options.Supervisor[0], a.options.Supervisor[1:]...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH")}
	cmd.Dir = a.options.Dir
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stream(a.options.Streams[0], leads[0]), stream(a.options.Streams[1], leads[1]), stream(a.options.Streams[2], leads[2])
	cmd.ExtraFiles = []*os.File{theirs}
	program := slices.Concat([]string{a.plan.Program}, a.plan.Args)
	a.running, err = a.options.Session.StartRun(ctx, session.RunSpec{
		Name: "run", Supervisor: cmd, UserEnv: filepath.Base(a.plan.Home), Hosts: a.plan.Hosts, Secrets: a.plan.Secrets,
		ReadOnly: append(slices.Clone(a.plan.ReadOnly), a.options.Supervisor[0]),
		Args:     map[string]any{"program": program, "dir": a.options.Dir, "run": a.plan.id},
	})
	_ = theirs.Close()
	if err != nil {
		return nil, err
	}
	defer a.running.Kill()
	start := wire.Start{Policy: a.running.Policy, Program: program, Env: a.plan.Env, Dir: a.options.Dir, Streams: leads,
		Summary: "run: " + strings.Join(a.options.Program, " ")}
	if terminal != nil {
		size := terminalSize(terminal)
		start.Terminal = &size
	}
	ended, err := a.follow(ctx, start)
	if err != nil {
		return nil, errors.Join(err, a.running.EndRun("", err.Error()))
	}
	out := &Result{ID: a.plan.id, Code: ended.Code, Exceeded: ended.Exceeded, Changes: ended.Changes, Refused: ended.Refused,
		Found: ended.Found, NoHistory: ended.NoHistory, Network: a.running.RefusedConnections()}
	failure := ""
	if ended.Code != 0 {
		failure = fmt.Sprintf("exit status %d", ended.Code)
	}
	return out, a.running.EndRun(ended.Changes.ID, failure)
}

// stream returns a standard stream for the supervisor: the person's, unless it is a terminal.
func stream(f *os.File, isTerminal bool) *os.File {
	if isTerminal {
		return nil
	}
	return f
}
