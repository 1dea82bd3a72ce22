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

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/hashicorp/go-hclog"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/picoclaw/picoclaw/isolation"
	"github.com/picoclaw/picoclaw/sdk"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
	"github.com/picoclaw/picoclaw/sdk/workspace"
)

// server is the one server of this process. It is started at the first call.
type server struct {
	id         string
	definition *definition
	launcher   *isolation.Isolation // nil for a server that is reached over HTTP
	calls      *calls
	where      places
	keeper     keeper

	starting sync.Mutex
	link     *link // nil while the server does not run
	held     bool  // whether this process is held to what the server inherits
	outputs  map[string]*jsonschema.Resolved

	checking sync.Mutex
	changed  map[string]string // tools that are not what was accepted, by their names here, and why
}

// link is the way to a server that runs.
type link struct {
	session *mcp.ClientSession
	child   *child        // nil of a server that is reached over HTTP
	ended   chan struct{} // closed when the session and the child have ended
}

func newServer(id string, d *definition) (*server, error) {
	s := &server{id: id, definition: d, calls: newCalls()}
	if d.URL != "" {
		return s, nil
	}
	var err error
	s.launcher, err = isolation.Configure(isolation.Config{}, hclog.NewNullLogger())
	return s, err
}

// startTime is how long a server may take to answer for the first time.
const startTime = 60 * time.Second

// connect starts the server, unless it runs, and compares its tools with those that were accepted.
func (s *server) connect(ctx context.Context, env *sdk.Environment) (*link, error) {
	s.starting.Lock()
	defer s.starting.Unlock()
	if s.link != nil && !s.link.over(ctx) {
		return s.link, nil
	}
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	where := places{workspace: env.Workspace.Dir(), state: env.StateDir, data: env.DataDir}
	if s.where == (places{}) { // they are the same for life
		s.where = where
	}
	l := &link{ended: make(chan struct{})}
	var transport mcp.Transport
	if s.definition.URL != "" {
		transport = remote(s.definition, where)
	} else {
		var err error
		if l.child, err = s.start(env, where); err != nil {
			return nil, err
		}
		transport = l.child.transport()
	}
	var err error
	l.session, err = s.open(ctx, transport, where.workspace)
	if err == nil {
		err = s.check(ctx, l.session)
	}
	if err != nil {
		return nil, s.failed(l.child, err)
	}
	s.link = l
	go s.follow(l)
	return l, nil
}

// over reports whether the server has ended, or is about to: nothing more can be sent to it.
func (l *link) over(ctx context.Context) bool {
	var silent <-chan struct{}
	if l.child != nil {
		silent = l.child.silent
	}
	select {
	case <-silent:
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

// start starts the server as a child, with what this process was given, and the state of its own.
func (s *server) start(env *sdk.Environment, where places) (*child, error) {
	profile := isolation.Profile{
		Name: s.id, Exec: true, Network: env.Grants.Network, Confine: env.Exec.Confine,
		ReadOnly: env.Exec.ReadOnly, ReadWrite: env.Exec.ReadWrite, Limits: env.Exec.Limits,
	}
	profile.Limits.CPU = 0 // that is for a command; a server lives as long as its calls come
	dir := where.workspace
	if where.data != "" {
		profile.ReadOnly = append(profile.ReadOnly, where.data)
	}
	if where.state != "" {
		profile.ReadWrite = append(profile.ReadWrite, where.state)
		if env.Grants.Workspace == sdk.NoWorkspace || env.Grants.Workspace == "" {
			dir = where.state
		}
	}
	if env.Exec.Confine && env.Grants.Workspace == sdk.WorkspaceAccess {
		s.keeper.open(s.id, env)
		profile.Notice = relay((*workspace.ChangeMonitor).Notice, &s.keeper)
	}
	if !s.held {
		// This process itself is held to what the server inherits: there is no limiting of others in here.
		if err := errors.Join(isolation.LimitSelf(profile.Limits), s.launcher.FilterSelf(profile)); err != nil {
			return nil, err
		}
		s.held = true
	}
	return startChild(s.launcher, profile, s.definition, where, dir, env.Exec.Env)
}

// failed says why the server can't be used, with what it has said itself, and ends it.
func (s *server) failed(c *child, err error) error {
	if c == nil {
		return sdk.Errorf("unavailable", "the server %s can't be used: %v", s.id, err)
	}
	c.end()
	return sdk.Errorf("unavailable", "the server %s did not start: %v%s", s.id, err, c.lastWords())
}

// follow waits for the end of the server, or of the session with one elsewhere, and ends with it what it has left. The
// next call starts it again: were that the host's to do, a call that comes before the host knows of the end would be
// lost.
func (s *server) follow(l *link) {
	_ = l.session.Wait()
	if l.child != nil {
		l.child.end()
		fmt.Fprintf(os.Stderr, "%s: the server has ended%s\n", s.id, l.child.lastWords())
	}
	close(l.ended)
}

// stop ends the server when the plugin ends.
func (s *server) stop(context.Context) {
	s.starting.Lock()
	defer s.starting.Unlock()
	if s.link != nil {
		if s.link.child != nil {
			s.link.child.end()
		} else {
			_ = s.link.session.Close()
		}
	}
	if s.launcher != nil {
		_ = s.launcher.Close()
	}
	s.keeper.close()
}

// check compares the tools that the server has with those that were accepted.
func (s *server) check(ctx context.Context, session *mcp.ClientSession) error {
	found, err := list(ctx, session, s.where)
	if err != nil {
		return err
	}
	changed := map[string]string{}
	for name, accepted := range s.definition.Tools {
		switch now, ok := found[accepted.Name]; {
		case !ok:
			changed[name] = "the server does not have it any more"
		case now.Hash != accepted.Hash:
			changed[name] = "the server describes it in other words than those that were accepted"
		}
	}
	s.checking.Lock()
	defer s.checking.Unlock()
	s.changed = changed
	s.note(found)
	return nil
}

// seenFile is where it is noted what the server offers in place of what was accepted, for the operator to read.
const seenFile = "seen.json"

// note notes it, where there is something to note. The directory is the server's too: what it has put in the note's
// place is removed and not written to, as it may be a link to what only this process can write, or wait for a reader.
func (s *server) note(found map[string]found) {
	if s.where.state == "" {
		return
	}
	at := filepath.Join(s.where.state, seenFile)
	_ = os.RemoveAll(at)
	if len(s.changed) == 0 {
		return
	}
	text, err := json.Marshal(found)
	if err != nil {
		return
	}
	f, err := os.OpenFile(at, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return // without the note, the operator is told less
	}
	_, _ = f.Write(text)
	_ = f.Close()
}

// withdrawn is the error for a tool that is not what was accepted; nil for one that is.
func (s *server) withdrawn(name string) error {
	s.checking.Lock()
	defer s.checking.Unlock()
	why, ok := s.changed[name]
	if !ok {
		return nil
	}
	return sdk.Errorf(sdk.Withdrawn, "the tool %s.%s is not offered: %s", s.id, name, why).
		WithHint("`picoclaw mcp trust %s` shows what is different, and accepts it", s.id)
}

// validator returns what the structured results of a tool have to fit; nil if it has none.
func (s *server) validator(spec pluginpb.Spec) (*jsonschema.Resolved, error) {
	if spec.Output == nil {
		return nil, nil
	}
	s.starting.Lock()
	defer s.starting.Unlock()
	if known := s.outputs[spec.Name]; known != nil {
		return known, nil
	}
	schema, err := spec.Output.Parse()
	if err != nil {
		return nil, err
	}
	resolved, err := schema.Resolve(nil)
	if err != nil {
		return nil, err
	}
	if s.outputs == nil {
		s.outputs = map[string]*jsonschema.Resolved{}
	}
	s.outputs[spec.Name] = resolved
	return resolved, nil
}
