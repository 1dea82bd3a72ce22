package host

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
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
	access       *accessTokens // nil without an authorization server
	open         func(ctx context.Context, agent string) (*agentMCPSession, error)
	log          hclog.Logger

	mu        sync.Mutex
	endpoints map[string]*mcpEndpoint // by agent, and "/" with a directory, and "#" with a token's id
}

// newMCPEndpoints returns endpoints that open sessions once their field open is set.
func newMCPEndpoints(c *config.Config, version string, token func(string) (string, error), log hclog.Logger) (*mcpEndpoints, error) {
	access, err := newAccessTokens(c)
	return &mcpEndpoints{version: version, allowedHosts: c.Gateway().AllowHosts, defaultAgent: c.AgentIDs()[0], home: c.Home(),
		token: token, access: access, log: log, endpoints: map[string]*mcpEndpoint{}}, err
}

// maxRestrictedEndpoints limits the endpoints for directories of workspaces and for restricted tokens.
const maxRestrictedEndpoints = 64

// agentMCPSession is an agent's session that MCP clients use.
type agentMCPSession struct {
	session interface {
		Tools() []session.Tool
		Call(ctx context.Context, tool string, arguments json.RawMessage, events func(session.CallEvent)) *session.Result
	}
	instructions string
	changes      func(context.Context) <-chan struct{}
}

// restrictSession returns the session of d with the restriction of a token, if not nil, and restricted to a directory of
// the agent's workspace, if not empty.
func restrictSession(d *agentMCPSession, token *ClientToken, dir string) (_ *agentMCPSession, err error) {
	s, ok := d.session.(*session.Session)
	if !ok {
		return nil, errUnknownAgent // on another machine
	}
	workspace := s.Policy().WorkspacePath()
	if token != nil {
		s, err = s.RestoreSession(session.MCP, token.Within)
	}
	if err == nil && dir != "" {
		s, err = s.SpawnSession(session.MCP, policy.NewRestriction(filepath.Join(workspace, dir), nil))
	}
	if err != nil {
		return nil, errors.Join(errUnknownAgent, err)
	}
	return &agentMCPSession{s, mcp.ModelInstructions(s.Policy()), d.changes}, nil
}

// errUnknownAgent means that the gateway does not serve an agent.
var errUnknownAgent = errors.New("no agent of this name is served here")

// mcpEndpoint serves MCP for one agent, or for a directory of its workspace or a restricted token.
type mcpEndpoint struct {
	server *mcp.Server
	http.Handler
	cancel context.CancelFunc
}

// close ends all sessions.
func (e *mcpEndpoint) close(ctx context.Context) {
	e.cancel()
	e.server.EndAllSessions(ctx)
}

// endpointForAgent returns the endpoint of an agent, for a directory of its workspace, if not empty, and for a restricted
// token, if not nil. The first call creates it. A restricted token has the text sent.
func (d *mcpEndpoints) endpointForAgent(ctx context.Context, agent, dir string, token *ClientToken, sent string) (*mcpEndpoint, error) {
	key, readToken := agent, func() (string, error) { return d.token(agent) }
	if dir != "" {
		key += "/" + dir
	}
	if token != nil {
		key += "#" + token.ID
		readToken = func() (string, error) {
			if findClientToken(d.home.Path, agent, sent) == nil {
				return "", fs.ErrNotExist
			}
			return sent, nil
		}
	}
	d.mu.Lock()
	known, full := d.endpoints[key], key != agent && len(d.endpoints) >= maxRestrictedEndpoints
	d.mu.Unlock()
	if known != nil {
		return known, nil
	}
	if full {
		return nil, errTooManyPaths
	}
	opened, err := d.open(ctx, agent)
	if err == nil && key != agent {
		opened, err = restrictSession(opened, token, dir)
	}
	if err != nil {
		return nil, err
	}
	text, err := readToken()
	if err != nil {
		return nil, err
	}
	server := mcp.NewServer(opened.session, d.version, opened.instructions)
	if !d.home.Fallback {
		if err = server.PersistQuestionStates(d.home.Path, key); err != nil {
			return nil, err
		}
	}
	handler, err := server.NewHTTPHandler(mcp.HTTPOptions{Token: text, Hosts: d.allowedHosts, ReadToken: readToken,
		ResourceMetadata: d.access.metadataURL(mcp.Path + "/" + agent)})
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
	created := &mcpEndpoint{server, handler, end}
	d.endpoints[key] = created
	if token != nil {
		go d.closeWithToken(life, key, created, readToken)
	}
	return created, nil
}

// tokenInterval is the interval of checks whether a restricted token is still valid.
const tokenInterval = time.Second

// closeWithToken closes an endpoint when its restricted token has expired or is revoked.
func (d *mcpEndpoints) closeWithToken(life context.Context, key string, e *mcpEndpoint, readToken func() (string, error)) {
	tick := time.NewTicker(tokenInterval)
	defer tick.Stop()
	for _, err := readToken(); err == nil; _, err = readToken() {
		select {
		case <-tick.C:
		case <-life.Done():
			return
		}
	}
	d.mu.Lock()
	delete(d.endpoints, key)
	d.mu.Unlock()
	e.close(context.Background())
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
	all := slices.Collect(maps.Values(d.endpoints))
	d.mu.Unlock()
	for _, e := range all {
		e.close(ctx)
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

// errTooManyPaths means that maxRestrictedEndpoints is reached.
var errTooManyPaths = fmt.Errorf("the clients of this gateway use %d directories in URLs and restricted tokens; reload it to forget them",
	maxRestrictedEndpoints)

// ServeHTTP serves MCP for the agent in the path, such as /mcp/main, or for the first agent at /mcp. At /mcp/main/docs
// it restricts the session to the directory docs of the agent's workspace.
func (d *mcpEndpoints) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if path, ok := strings.CutPrefix(r.URL.Path, ResourceMetadataPath); ok {
		if d.access == nil {
			http.NotFound(w, r)
			return
		}
		d.access.serveMetadata(w, path)
		return
	}
	agent, dir := d.defaultAgent, ""
	if below, named := strings.CutPrefix(strings.TrimSuffix(r.URL.Path, "/"), mcp.Path+"/"); named {
		agent, dir, _ = strings.Cut(below, "/")
		r = r.Clone(r.Context())
		r.URL.Path = mcp.Path
	}
	s, err := d.endpointForAgent(r.Context(), agent, "", nil, "") // refuses invalid tokens
	if err == nil {
		sent := mcp.BearerToken(r)
		if own, tokenErr := d.token(agent); tokenErr == nil && d.access.acceptsToken(r.Context(), agent, sent) {
			r = r.Clone(r.Context())
			r.Header.Set("Authorization", "Bearer "+own)
			sent = own
		}
		restricted := findClientToken(d.home.Path, agent, sent)
		if own, tokenErr := d.token(agent); restricted != nil || dir != "" && tokenErr == nil && mcp.HasBearerToken(r, own) {
			s, err = d.endpointForAgent(r.Context(), agent, dir, restricted, sent)
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
