package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/picoclaw/picoclaw/isolation"
	"github.com/picoclaw/picoclaw/sdk"
	"github.com/picoclaw/picoclaw/sdk/workspace"
)

// mcpServer is the MCP server of this plugin. It starts at the first call.
type mcpServer struct {
	id         string
	definition *serverDefinition
	launcher   *isolation.Starter // nil for a server over HTTP
	calls      *callTracker
	dirs       placeholderDirs
	changes    changeRecorder

	startMu      sync.Mutex
	conn         *serverConnection // nil while the server does not run
	selfConfined bool              // this process has restricted itself

	toolsMu     sync.Mutex
	quarantined map[string]string // reasons by picoclaw's names of tools
}

// serverConnection is the connection to a running server.
type serverConnection struct {
	session *mcp.ClientSession
	child   *childServer  // nil for a server over HTTP
	ended   chan struct{} // closed when session and child have ended
}

// newServer returns a server that is not started yet.
func newServer(id string, d *serverDefinition) (*mcpServer, error) {
	s := &mcpServer{id: id, definition: d, calls: &callTracker{active: map[string]*toolRequest{}}}
	if d.URL != "" {
		return s, nil
	}
	var err error
	s.launcher, err = isolation.NewStarter(isolation.Config{}, hclog.NewNullLogger())
	return s, err
}

// startTimeout is the time for a server to start and list its tools.
const startTimeout = 60 * time.Second

// ensureConnected starts the server if it does not run, and compares its tools with the accepted ones.
func (s *mcpServer) ensureConnected(ctx context.Context, env *sdk.Environment) (*serverConnection, error) {
	s.startMu.Lock()
	defer s.startMu.Unlock()
	if s.conn != nil && !s.conn.hasEnded(ctx) {
		return s.conn, nil
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	dirs := placeholderDirs{workspace: env.Workspace.Dir(), state: env.StateDir, data: env.DataDir}
	if s.dirs == (placeholderDirs{}) { // fixed for the life of this process
		s.dirs = dirs
	}
	l := &serverConnection{ended: make(chan struct{})}
	var transport mcp.Transport
	if s.definition.URL != "" {
		transport = newHTTPTransport(s.definition, dirs)
	} else {
		var err error
		if l.child, err = s.startProcess(env, dirs); err != nil {
			return nil, err
		}
		transport = l.child.newTransport()
	}
	var err error
	l.session, err = s.openSession(ctx, transport, dirs.workspace)
	if err == nil {
		err = s.quarantineChangedTools(ctx, l.session)
	}
	if err != nil {
		return nil, s.abortStart(l.child, err)
	}
	s.conn = l
	go s.awaitEnd(l)
	return l, nil
}

// hasEnded reports whether the server has ended. After the end of standard output, it waits until the session and the
// child process have ended, too.
func (l *serverConnection) hasEnded(ctx context.Context) bool {
	var stdoutDone <-chan struct{}
	if l.child != nil {
		stdoutDone = l.child.stdoutDone
	}
	select {
	case <-stdoutDone:
		select {
		case <-l.ended:
		case <-ctx.Done():
		}
		return true
	case <-l.ended:
		return true
	default:
		return false
	}
}

// startProcess starts the server as a child, with this process's own access and the state directory.
func (s *mcpServer) startProcess(env *sdk.Environment, dirs placeholderDirs) (*childServer, error) {
	profile := isolation.Profile{
		Name: s.id, Exec: true, Network: env.Grants.Network, Confine: env.Exec.Confine, Nested: env.Exec.Sandboxed,
		ReadOnly: env.Exec.ReadOnly, ReadWrite: env.Exec.ReadWrite, Limits: env.Exec.Limits,
	}
	profile.Limits.CPU = 0 // the CPU limit is for a single command, not for a server
	dir := dirs.workspace
	if dirs.data != "" {
		profile.ReadOnly = append(profile.ReadOnly, dirs.data)
	}
	if dirs.state != "" {
		profile.ReadWrite = append(profile.ReadWrite, dirs.state)
		if env.Grants.Workspace == sdk.NoWorkspace || env.Grants.Workspace == "" {
			dir = dirs.state
		}
	}
	if env.Exec.Confine && env.Grants.Workspace == sdk.WorkspaceAccess {
		s.changes.enableRecording(s.id, env)
		profile.Notice = newChangeObserver((*workspace.ProtectionEnforcer).BeforeChange, &s.changes)
	}
	if !s.selfConfined {
		// A process can only restrict itself, and children inherit that.
		if err := errors.Join(isolation.LimitSelf(profile.Limits), s.launcher.ApplyChildFilterToSelf(profile)); err != nil {
			return nil, err
		}
		s.selfConfined = true
	}
	return startChildServer(s.launcher, profile, s.definition, dirs, dir, env.Exec.Env)
}

// abortStart stops the child, and returns an error with the child's last standard error output.
func (s *mcpServer) abortStart(c *childServer, err error) error {
	if c == nil {
		return sdk.Errorf("unavailable", "can't connect to the server %s: %v", s.id, err)
	}
	c.stopServer()
	return sdk.Errorf("unavailable", "the server %s did not start: %v%s", s.id, err, c.describeExit())
}

// awaitEnd waits until the server or session ends, and cleans up. The next call restarts the server. The host can't do
// that, because it might learn of the end only after the next call.
func (s *mcpServer) awaitEnd(l *serverConnection) {
	_ = l.session.Wait()
	if l.child != nil {
		l.child.stopServer()
		fmt.Fprintf(os.Stderr, "%s: the server ended%s\n", s.id, l.child.describeExit())
	}
	close(l.ended)
}

// shutdown stops the server when the plugin ends.
func (s *mcpServer) shutdown(context.Context) {
	s.startMu.Lock()
	defer s.startMu.Unlock()
	if s.conn != nil {
		if s.conn.child != nil {
			s.conn.child.stopServer()
		} else {
			_ = s.conn.session.Close()
		}
	}
	if s.launcher != nil {
		_ = s.launcher.Close()
	}
	s.changes.close()
}

// quarantineChangedTools compares the server's tools with the accepted ones, and quarantines those that differ.
func (s *mcpServer) quarantineChangedTools(ctx context.Context, session *mcp.ClientSession) error {
	found, err := listTools(ctx, session, s.dirs)
	if err != nil {
		return err
	}
	changed := map[string]string{}
	for name, accepted := range s.definition.Tools {
		switch current, ok := found[accepted.Name]; {
		case !ok:
			changed[name] = "the server no longer has it"
		case current.Hash != accepted.Hash:
			changed[name] = "its description differs from the accepted one"
		}
	}
	s.toolsMu.Lock()
	defer s.toolsMu.Unlock()
	s.quarantined = changed
	s.writeCurrentTools(found)
	return nil
}

// currentToolsFile holds the server's current tools while some are quarantined, for the operator to compare.
const currentToolsFile = "seen.json"

// writeCurrentTools writes currentToolsFile if tools are quarantined. The server can write to the directory, too: an
// existing file is removed first, since it may be a symlink or a FIFO.
func (s *mcpServer) writeCurrentTools(found map[string]listedTool) {
	if s.dirs.state == "" {
		return
	}
	path := filepath.Join(s.dirs.state, currentToolsFile)
	_ = os.RemoveAll(path)
	if len(s.quarantined) == 0 {
		return
	}
	text, err := json.Marshal(found)
	if err != nil {
		return
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return // the file only adds detail
	}
	_, _ = f.Write(text)
	_ = f.Close()
}

// quarantineError returns an error if a tool is quarantined.
func (s *mcpServer) quarantineError(name string) error {
	s.toolsMu.Lock()
	defer s.toolsMu.Unlock()
	reason, ok := s.quarantined[name]
	if !ok {
		return nil
	}
	return sdk.Errorf(sdk.Withdrawn, "the tool %s.%s is quarantined: %s", s.id, name, reason).
		WithHint("`picoclaw mcp trust %s` shows the difference and accepts it", s.id)
}
