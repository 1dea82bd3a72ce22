package host

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/picoclaw/picoclaw/host/config"
	"github.com/picoclaw/picoclaw/host/mcp"
	"github.com/picoclaw/picoclaw/host/policy"
	"github.com/picoclaw/picoclaw/host/session"
	"github.com/picoclaw/picoclaw/internal/filelock"
)

// mcpEndpoints serves MCP over HTTP. Each agent has a path and a token, and the first request opens its session.
type mcpEndpoints struct {
	version      string
	allowedHosts []string // that requests may be addressed to
	defaultAgent string   // the agent that is served where none is named
	home         config.Home
	token        func(agent string) (string, error)
	open         func(ctx context.Context, agent string) (*agentMCPSession, error)
	log          hclog.Logger

	mu        sync.Mutex
	endpoints map[string]*mcpEndpoint // by agent, or agent, "/" and directory
}

// maxDirEndpoints limits the endpoints for directories of workspaces.
const maxDirEndpoints = 64

// agentMCPSession is an agent's session that MCP clients use.
type agentMCPSession struct {
	session interface {
		Tools() []session.Tool
		Call(ctx context.Context, tool string, arguments json.RawMessage, events func(session.CallEvent)) *session.Result
	}
	instructions string
	changes      func(context.Context) <-chan struct{}
}

// spawnDirectorySession returns a session that is restricted to a directory of the workspace of d.
func spawnDirectorySession(d *agentMCPSession, dir string) (*agentMCPSession, error) {
	local, ok := d.session.(*session.Session)
	if !ok {
		return nil, errUnknownAgent // on another machine
	}
	narrowed, err := local.SpawnSession(session.MCP, policy.PathRestriction{Workspace: dir, Paths: []string{dir}})
	if err != nil {
		return nil, errors.Join(errUnknownAgent, err)
	}
	return &agentMCPSession{narrowed, mcp.ModelInstructions(narrowed.Policy()), d.changes}, nil
}

// errUnknownAgent means that the gateway does not serve an agent.
var errUnknownAgent = errors.New("no agent of this name is served here")

// mcpEndpoint serves MCP for one agent, or for a directory of its workspace.
type mcpEndpoint struct {
	server *mcp.Server
	http.Handler
	cancel context.CancelFunc
}

// endpointForAgent returns the endpoint of an agent, or of a directory of its workspace. The first call creates it.
func (d *mcpEndpoints) endpointForAgent(ctx context.Context, agent, dir string) (*mcpEndpoint, error) {
	key := agent
	if dir != "" {
		key += "/" + dir
	}
	d.mu.Lock()
	known, full := d.endpoints[key], dir != "" && len(d.endpoints) >= maxDirEndpoints
	d.mu.Unlock()
	if known != nil {
		return known, nil
	}
	if full {
		return nil, errTooManyPaths
	}
	opened, err := d.open(ctx, agent)
	if err == nil && dir != "" {
		opened, err = spawnDirectorySession(opened, dir)
	}
	if err != nil {
		return nil, err
	}
	token, err := d.token(agent)
	if err != nil {
		return nil, err
	}
	server := mcp.NewServer(opened.session, d.version, opened.instructions)
	if !d.home.Fallback {
		if err = server.PersistQuestionStates(d.home.Path, key); err != nil {
			return nil, err
		}
	}
	handler, err := server.NewHTTPHandler(mcp.HTTPOptions{Token: token, Hosts: d.allowedHosts,
		ReadToken: func() (string, error) { return d.token(agent) }})
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if known := d.endpoints[key]; known != nil { // created concurrently
		return known, nil
	}
	life, end := context.WithCancel(context.Background())
	go server.FollowToolChanges(life, opened.changes(life))
	d.endpoints[key] = &mcpEndpoint{server, handler, end}
	return d.endpoints[key], nil
}

// countSessions returns the number of open MCP sessions.
func (d *mcpEndpoints) countSessions() (sessions int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, s := range d.endpoints {
		sessions += s.server.CountHTTPSessions()
	}
	return sessions
}

// closeEndpoints ends all sessions.
func (d *mcpEndpoints) closeEndpoints(ctx context.Context) {
	d.mu.Lock()
	all := d.endpoints
	d.mu.Unlock()
	for _, s := range all {
		s.cancel()
		s.server.EndAllSessions(ctx)
	}
}

// HasSession reports whether these endpoints serve an MCP session.
func (d *mcpEndpoints) HasSession(sess string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, s := range d.endpoints {
		if s.server.HasHTTPSession(sess) {
			return true
		}
	}
	return false
}

// errTooManyPaths means that maxDirEndpoints is reached.
var errTooManyPaths = fmt.Errorf("the clients of this gateway use %d directories in URLs; reload it to forget them", maxDirEndpoints)

// ServeHTTP serves MCP for the agent in the path, such as /mcp/main, or for the first agent at /mcp. At /mcp/main/docs
// it restricts the session to the directory docs of the agent's workspace.
func (d *mcpEndpoints) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	agent, dir := d.defaultAgent, ""
	if below, named := strings.CutPrefix(strings.TrimSuffix(r.URL.Path, "/"), mcp.Path+"/"); named {
		agent, dir, _ = strings.Cut(below, "/")
		r = r.Clone(r.Context())
		r.URL.Path = mcp.Path
	}
	s, err := d.endpointForAgent(r.Context(), agent, "")
	if err == nil && dir != "" {
		if token, tokenErr := d.token(agent); tokenErr == nil && mcp.HasBearerToken(r, token) {
			s, err = d.endpointForAgent(r.Context(), agent, dir)
		}
	}
	if errors.Is(err, errUnknownAgent) || errors.Is(err, errTooManyPaths) {
		http.Error(w, err.Error(), http.StatusNotFound)
		return
	}
	if err != nil {
		d.log.Error("an agent can't be served", "agent", agent, "error", err)
		http.Error(w, "the agent can't be served; the gateway's log has the reason", http.StatusInternalServerError)
		return
	}
	s.ServeHTTP(w, r)
}

// SocketTokenFile is the name of a file next to a socket. It has the token that clients send as their first line.
// Landlock can hide files from sandboxes even where it can't hide sockets.
const SocketTokenFile = "token"

// tokenTimeout limits how long a client may take to send the token.
const tokenTimeout = 10 * time.Second

// serveMCPSocket serves a session over MCP on a socket in a private directory, for a program whose only tools are the
// session's. end closes the socket and removes the directory.
func (a *Runtime) serveMCPSocket(s *session.Session) (socket string, end func(), err error) {
	runs := filepath.Join(s.Policy().HomePath(), "run")
	if err = os.MkdirAll(runs, 0o700); err != nil {
		return "", nil, err
	}
	dir, err := os.MkdirTemp(runs, "mcp-*")
	if err != nil {
		return "", nil, err
	}
	hold, err := lockRunDir(dir)
	if err != nil {
		return "", nil, errors.Join(fmt.Errorf("serve a session: %w", err), os.RemoveAll(dir))
	}
	socket = filepath.Join(dir, "s")
	token := rand.Text()
	err = os.WriteFile(filepath.Join(dir, SocketTokenFile), []byte(token), 0o600)
	var listener net.Listener
	if err == nil {
		listener, err = net.Listen("unix", socket)
	}
	if err != nil {
		return "", nil, errors.Join(fmt.Errorf("serve a session: %w", err), hold.Close(), os.RemoveAll(dir))
	}
	ctx, cancel := context.WithCancel(a.ctx)
	server := mcp.NewServer(s, a.options.Version, mcp.ModelInstructions(s.Policy()))
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			serving.Go(func() {
				defer func() { _ = conn.Close() }()
				if receivesToken(conn, token) {
					_ = server.ServeStreams(ctx, mcp.Streams{Reader: conn, Writer: conn}) // its end is the program's
				}
			})
		}
	})
	return socket, func() {
		cancel()
		_ = listener.Close()
		serving.Wait()
		_ = hold.Close()
		_ = os.RemoveAll(dir)
	}, nil
}

// receivesToken reads the first line of a connection, and reports whether it is the token.
func receivesToken(conn net.Conn, token string) bool {
	got := make([]byte, len(token)+1)
	_ = conn.SetReadDeadline(time.Now().Add(tokenTimeout))
	if _, err := io.ReadFull(conn, got); err != nil {
		return false
	}
	return conn.SetReadDeadline(time.Time{}) == nil && subtle.ConstantTimeCompare(got, []byte(token+"\n")) == 1
}

// lockRunDir locks a directory below run, so that no other host removes it. It creates and locks the lock file in one
// step.
func lockRunDir(dir string) (*os.File, error) {
	held, err := os.OpenFile(filepath.Join(dir, "lock.new"), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	err = filelock.Lock(held)
	if err == nil {
		err = os.Rename(held.Name(), filepath.Join(dir, "lock"))
	}
	if err != nil {
		return nil, errors.Join(err, held.Close())
	}
	return held, nil
}
