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

// ClientToolCall is a call of a client's own tool, such as Claude Code's Bash.
type ClientToolCall struct {
	Tool    string         // for the audit log
	Args    map[string]any // for the audit log
	Dir     string         // absolute: the client's current directory
	Actions []ClientToolAction
}

// ClientToolAction is one action of a client's tool: a command, an access to a path or host, or an MCP call.
type ClientToolAction struct {
	Kind  ClientToolActionKind
	Value string // the command, path or host
	Dir   string // absolute: of a command, and of relative paths
	Tool  string // of an MCP call, whose server is Value
}

// ClientToolActionKind is the kind of a [ClientToolAction].
type ClientToolActionKind string

// The kinds of actions.
const (
	RunCommand  ClientToolActionKind = "command"
	ReadPath    ClientToolActionKind = "read"
	WritePath   ClientToolActionKind = "write"
	ListPath    ClientToolActionKind = "list"
	ReachHost   ClientToolActionKind = "host"
	CallMCPTool ClientToolActionKind = "mcp"
)

// ClientToolGuardOptions describe the environment in which a client's own tools run.
type ClientToolGuardOptions struct {
	Sandboxed bool     // the kernel confines the client
	Undo      bool     // undo covers its changes
	Home      string   // its home directory, if it is its own alone
	ReadOnly  []string // paths that its sandbox opens
	ReadWrite []string
	Env       map[string]string // known variables
}

// ClientToolGuard decides on calls of a client's own tools by the agent's policy. Only the client enforces the
// decisions, or a sandbox around it. It may be used concurrently.
type ClientToolGuard struct {
	session *Session
	guard   *guard.Guard
	options ClientToolGuardOptions
}

// NewClientToolGuard returns the guard for the own tools of one client.
func (s *Session) NewClientToolGuard(o ClientToolGuardOptions) (*ClientToolGuard, error) {
	p := s.policy.GuardPolicy()
	p.Kernel, p.Unwatched, p.Exec.Home = o.Sandboxed, !o.Undo, o.Home
	for _, path := range o.ReadOnly {
		p.AllowReadPaths = append(p.AllowReadPaths, subtreePattern(path))
	}
	for _, path := range append([]string{o.Home}, o.ReadWrite...) {
		if path != "" {
			p.AllowReadPaths, p.AllowWritePaths = append(p.AllowReadPaths, subtreePattern(path)), append(p.AllowWritePaths, subtreePattern(path))
		}
	}
	g, err := guard.NewGuard(p)
	if err != nil {
		return nil, err
	}
	return &ClientToolGuard{session: s, guard: g, options: o}, nil
}

// subtreePattern returns a regular expression that matches a path and all paths below it.
func subtreePattern(path string) string {
	return "^" + regexp.QuoteMeta(filepath.Clean(path)) + "(/|$)"
}

// Decide returns the strictest decision about a call's actions, and writes an audit entry.
func (c *ClientToolGuard) Decide(ctx context.Context, call ClientToolCall) guard.Decision {
	s, began := c.session, time.Now()
	record := audit.Record{Time: began.UTC(), Agent: s.policy.AgentID(), Session: s.id, Origin: string(s.origin), Tool: call.Tool, Args: call.Args}
	runtime, err := s.host.initRuntime()
	if stop := s.host.StopOfAgent(s.policy.AgentID()); err == nil && stop != nil {
		err = &AgentStoppedError{stop}
	}
	if err == nil {
		timeout, _ := s.commandTimeout()
		err = s.host.shares.WaitForRate(ctx, s.account.agent, s.account.limits, timeout, nil)
	}
	d := guard.Decision{Verdict: guard.Deny, Rule: "hook"}
	if err != nil {
		d.Reason = err.Error()
	} else {
		d = c.decideActions(call.Actions)
	}
	record.Decision, record.Rule, record.Millis = d.Verdict.String(), d.Rule, toMilliseconds(time.Since(began))
	if d.Verdict != guard.Allow {
		record.Error = d.Reason
	}
	if runtime == nil {
		return d
	}
	if refused := s.logCallBegin(runtime.audit, record.RedactedAndShortened()); refused != nil {
		return guard.Decision{Verdict: guard.Deny, Rule: refused.Err.Rule, Reason: refused.Err.Message, Hint: refused.Err.Hint}
	}
	return d
}

func (c *ClientToolGuard) decideActions(actions []ClientToolAction) guard.Decision {
	strictest := guard.Decision{Verdict: guard.Allow, Rule: "tools"}
	for _, action := range actions {
		if d := c.decideAction(action); d.Verdict > strictest.Verdict {
			strictest = d
		}
	}
	return c.session.policy.WithEffectiveSettingNames(strictest)
}

func (c *ClientToolGuard) decideAction(a ClientToolAction) guard.Decision {
	s := c.session
	switch a.Kind {
	case RunCommand:
		command := guard.Command{Text: a.Value, Dir: a.Dir, Env: maps.Clone(c.options.Env),
			Undoable: c.options.Undo && s.policy.GuardPolicy().Exec.UndoableDeletes}
		if shell, err := guard.FindShell(); err == nil {
			command.Dialect = shell.Dialect
		}
		return c.guard.DecideCommand(command)
	case ReadPath, WritePath, ListPath:
		path := a.Value
		if !filepath.IsAbs(path) {
			path = filepath.Join(a.Dir, path)
		}
		access := map[ClientToolActionKind]guard.AccessKind{ReadPath: guard.Read, WritePath: guard.Write, ListPath: guard.List}[a.Kind]
		return c.guard.DecidePath(access, path)
	case ReachHost:
		d, err := s.ExplainNetwork(a.Value)
		if err != nil {
			return guard.Decision{Verdict: guard.Deny, Rule: "network.allow", Reason: err.Error()}
		}
		return d
	case CallMCPTool:
		return s.policy.DecideTool(a.Value, a.Tool, nil)
	}
	return guard.Decision{Verdict: guard.Deny, Rule: "hook", Reason: fmt.Sprintf("nothing is known of actions of the kind %q", a.Kind)}
}
