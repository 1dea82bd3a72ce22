package session

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"time"

	"github.com/picoclaw/picoclaw/host/audit"
	"github.com/picoclaw/picoclaw/sdk/guard"
)

// ClientCall is a call of a tool that a client has itself, such as Claude Code's Bash.
type ClientCall struct {
	Tool    string         // for the audit log
	Args    map[string]any // for the audit log
	Dir     string         // absolute: the client's current directory
	Actions []ClientAction
}

// ClientAction is one thing that a client's tool does.
type ClientAction struct {
	Kind  ClientActionKind
	Value string // the command, path or host
	Dir   string // absolute: of a command, and of relative paths
	Tool  string // of an MCP call, whose server is Value
}

// ClientActionKind is the kind of a [ClientAction].
type ClientActionKind string

// The kinds of actions.
const (
	RunCommand  ClientActionKind = "command"
	ReadPath    ClientActionKind = "read"
	WritePath   ClientActionKind = "write"
	ListPath    ClientActionKind = "list"
	ReachHost   ClientActionKind = "host"
	CallMCPTool ClientActionKind = "mcp"
)

// ClientToolsOptions describe the surroundings of a client's tools beside the agent's policy.
type ClientToolsOptions struct {
	Sandboxed bool     // the kernel confines the client
	Undo      bool     // undo covers its changes
	Home      string   // its home directory, if it is its own alone
	ReadOnly  []string // paths that its sandbox opens
	ReadWrite []string
	Env       map[string]string // known variables
}

// ClientTools decides on calls of a client's own tools by the agent's policy. It advises: only a sandbox confines the
// calls. It may be used concurrently.
type ClientTools struct {
	session *Session
	guard   *guard.Guard
	options ClientToolsOptions
}

// NewClientTools returns the decisions for one client.
func (s *Session) NewClientTools(o ClientToolsOptions) (*ClientTools, error) {
	p := s.policy.Guard()
	p.Kernel, p.Exec.Home = o.Sandboxed, o.Home
	for _, path := range o.ReadOnly {
		p.AllowReadPaths = append(p.AllowReadPaths, below(path))
	}
	for _, path := range append([]string{o.Home}, o.ReadWrite...) {
		if path != "" {
			p.AllowReadPaths, p.AllowWritePaths = append(p.AllowReadPaths, below(path)), append(p.AllowWritePaths, below(path))
		}
	}
	g, err := guard.NewGuard(p)
	if err != nil {
		return nil, err
	}
	return &ClientTools{session: s, guard: g, options: o}, nil
}

// below returns the pattern of a path and all paths below it.
func below(path string) string { return "^" + regexp.QuoteMeta(filepath.Clean(path)) + "(/|$)" }

// Decide returns the strictest decision about a call's actions, and writes an audit entry.
func (c *ClientTools) Decide(ctx context.Context, call ClientCall) guard.Decision {
	s, began := c.session, time.Now()
	record := audit.Record{Time: began.UTC(), Agent: s.policy.Agent(), Session: s.id, Origin: string(s.origin), Tool: call.Tool, Args: call.Args}
	runtime, err := s.host.initRuntime()
	if stop := s.host.StopOf(s.policy.Agent()); err == nil && stop != nil {
		err = &StopError{stop}
	}
	if err == nil {
		err = s.host.shares.WaitForRate(ctx, s.account.agent, s.account.limits, s.callTimeout(), nil)
	}
	d := guard.Decision{Verdict: guard.Deny, Rule: "hook"}
	if err != nil {
		d.Reason = err.Error()
	} else {
		d = c.decideActions(call.Actions)
	}
	record.Decision, record.Rule, record.Millis = d.Verdict.String(), d.Rule, milliseconds(time.Since(began))
	if d.Verdict != guard.Allow {
		record.Error = d.Reason
	}
	if runtime == nil {
		return d
	}
	if refused := s.logCallBegin(runtime.audit, record.Shortened()); refused != nil {
		return guard.Decision{Verdict: guard.Deny, Rule: refused.Err.Rule, Reason: refused.Err.Message, Hint: refused.Err.Hint}
	}
	return d
}

func (c *ClientTools) decideActions(actions []ClientAction) guard.Decision {
	strictest := guard.Decision{Verdict: guard.Allow, Rule: "tools"}
	for _, action := range actions {
		if d := c.decideAction(action); d.Verdict > strictest.Verdict {
			strictest = d
		}
	}
	return c.session.policy.LocateSettings(strictest)
}

func (c *ClientTools) decideAction(a ClientAction) guard.Decision {
	s := c.session
	switch a.Kind {
	case RunCommand:
		command := guard.Command{Text: a.Value, Dir: a.Dir, Env: maps.Clone(c.options.Env),
			Undoable: c.options.Undo && s.policy.Guard().Exec.UndoableDeletes}
		if shell, err := guard.MachineShell(); err == nil {
			command.Dialect = shell.Dialect
		}
		return c.guard.DecideCommand(command)
	case ReadPath, WritePath, ListPath:
		path := a.Value
		if !filepath.IsAbs(path) {
			path = filepath.Join(a.Dir, path)
		}
		access := map[ClientActionKind]guard.Access{ReadPath: guard.Read, WritePath: guard.Write, ListPath: guard.List}[a.Kind]
		return c.guard.DecidePath(access, path)
	case ReachHost:
		d, err := s.ExplainHost(a.Value)
		if err != nil {
			return guard.Decision{Verdict: guard.Deny, Rule: "network.allow", Reason: err.Error()}
		}
		return d
	case CallMCPTool:
		return s.policy.DecideTool(a.Value, a.Tool, nil)
	}
	return guard.Decision{Verdict: guard.Deny, Rule: "hook", Reason: fmt.Sprintf("nothing is known of actions of the kind %q", a.Kind)}
}
