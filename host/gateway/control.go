package gateway

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/picoclaw/picoclaw/host/killswitch"
	"github.com/picoclaw/picoclaw/host/pidfile"
	"github.com/picoclaw/picoclaw/internal/smallfile"
)

// socketName is the control socket in PICOCLAW_HOME. Only its owner may connect, and can control the gateway.
const socketName = "gateway.sock"

// maxSocketPath is a length of socket paths that all operating systems support.
const maxSocketPath = 100

// listenControl opens the control socket and replaces an existing one. The caller holds the lock of the pid file, so
// an existing socket belongs to a gateway that has ended.
func listenControl(home string) (net.Listener, error) {
	path := filepath.Join(home, socketName)
	if len(path) > maxSocketPath {
		return nil, fmt.Errorf("the control socket's path %s is longer than %d bytes; set PICOCLAW_HOME to a shorter one", path,
			maxSocketPath)
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("the control socket: %w", err)
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, fmt.Errorf("the control socket: %w", err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(fmt.Errorf("the control socket: %w", err), l.Close())
	}
	return l, nil
}

// keyName is the file with the key that clients of the control socket send. Without a sandbox, any process of the user
// can reach the socket. Landlock protects this file even where it can't protect the socket.
const keyName = "gateway.key"

// writeControlKey writes a new random key to the key file.
func writeControlKey(home string) (string, error) {
	key, path := rand.Text(), filepath.Join(home, keyName)
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("the control socket's key: %w", err)
	}
	if err := os.WriteFile(path, []byte(key), 0o600); err != nil {
		return "", fmt.Errorf("the control socket's key: %w", err)
	}
	return key, nil
}

// requireControlKey returns a handler that rejects requests without the key.
func requireControlKey(key string, h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if subtle.ConstantTimeCompare([]byte(r.Header.Get("Authorization")), []byte("Bearer "+key)) != 1 {
			writeJSON(w, http.StatusUnauthorized, map[string]string{"error": "the gateway's key is in " + keyName})
			return
		}
		h.ServeHTTP(w, r)
	})
}

// Status describes a running gateway.
type Status struct {
	PID     int           `json:"pid"`
	Version string        `json:"version"`
	Started time.Time     `json:"started"`
	Address string        `json:"address"`
	Ready   bool          `json:"ready"`
	Checks  []CheckResult `json:"checks"`
	// Configurations are those in use, the current one last.
	Configurations []ActiveConfiguration `json:"configurations"`
	// ReloadError is the error of the last reload; empty if it succeeded.
	ReloadError string `json:"reload_error,omitempty"`
}

// ActiveConfiguration is a configuration that requests or sessions still use.
type ActiveConfiguration struct {
	Since    time.Time `json:"since"`
	Running  int       `json:"running"`         // calls and agent turns in progress
	Sessions int       `json:"sessions"`        // sessions of MCP clients
	Ports    []string  `json:"ports,omitempty"` // agents and addresses of servers in sandboxes
}

// controlRoutes returns the handler of the control socket.
func (g *Gateway) controlRoutes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /status", func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, http.StatusOK, g.currentStatus()) })
	mux.HandleFunc("POST /reload", func(w http.ResponseWriter, _ *http.Request) {
		if err := g.Reload(); err != nil {
			writeJSON(w, http.StatusConflict, map[string]string{"error": err.Error()})
			return
		}
		writeJSON(w, http.StatusOK, map[string]string{"status": "reloaded"})
	})
	mux.HandleFunc("POST /console", g.serveConsoleLink)
	mux.HandleFunc("POST /stop", func(w http.ResponseWriter, r *http.Request) {
		killswitch.StopInProcess(g.options.Home, killswitch.Stop{Agent: r.FormValue("agent"), Time: time.Now().UTC(), By: r.FormValue("by"),
			Why: r.FormValue("why")})
		writeJSON(w, http.StatusOK, map[string]string{"status": "stopped"})
	})
	mux.HandleFunc("POST /start", func(w http.ResponseWriter, r *http.Request) {
		was := killswitch.ResumeInProcess(g.options.Home, r.FormValue("agent"))
		writeJSON(w, http.StatusOK, map[string]bool{"was_stopped": was})
	})
	return mux
}

// consoleDisabledText is the error for a link to a disabled console.
const consoleDisabledText = "the gateway serves no console: set gateway.console to true, and start the gateway again"

// serveConsoleLink responds with a new login link to the console.
func (g *Gateway) serveConsoleLink(w http.ResponseWriter, r *http.Request) {
	if g.options.Console == nil {
		writeJSON(w, http.StatusConflict, map[string]string{"error": consoleDisabledText})
		return
	}
	path := g.options.Console.NewLoginLink(r.FormValue("operate") == "true", r.FormValue("by"))
	writeJSON(w, http.StatusOK, map[string]string{"link": g.address + path})
}

func (g *Gateway) currentStatus() Status {
	health, ready := g.checkReadiness()
	s := Status{PID: os.Getpid(), Version: g.options.Version, Started: g.started, Address: g.address, Ready: ready,
		Checks: health.Checks}
	g.mu.Lock()
	all, reloadErr := g.generations, g.reloadErr
	g.mu.Unlock()
	if reloadErr != nil {
		s.ReloadError = reloadErr.Error()
	}
	for _, gen := range all {
		c := ActiveConfiguration{Since: gen.since}
		c.Running, c.Sessions = gen.ActivityCounts()
		c.Ports = gen.PublishedPorts()
		s.Configurations = append(s.Configurations, c)
	}
	return s
}

// ErrNotRunning means that no gateway runs with this PICOCLAW_HOME.
var ErrNotRunning = errors.New("no gateway runs on this home; `picoclaw gateway` starts one")

// lostSocketError means that another process is the daemon of the home and has no control socket. It is an
// ErrNotRunning.
type lostSocketError struct {
	pid    int
	socket string
}

func (e *lostSocketError) Error() string {
	return fmt.Sprintf("process %d is the daemon of this home, but its control socket %s is missing: it is starting, was removed, or "+
		"`picoclaw mcp --http` runs; end the process with `kill %d` to start a gateway", e.pid, e.socket, e.pid)
}

func (e *lostSocketError) Is(target error) bool { return target == ErrNotRunning }

// newNotRunningError returns the error for a missing key or socket.
func (c *ControlClient) newNotRunningError() error {
	if running, err := pidfile.ReadPidFileWithCheck(c.home); err == nil {
		return &lostSocketError{running.PID, filepath.Join(c.home, socketName)}
	}
	return ErrNotRunning
}

// UnresponsiveError means that the gateway runs but does not respond.
type UnresponsiveError struct{ PID int }

func (e *UnresponsiveError) Error() string {
	process, pid := "the process in "+pidfile.FileName, "PID"
	if e.PID > 0 {
		pid = strconv.Itoa(e.PID)
		process = "process " + pid
	}
	return fmt.Sprintf("the gateway (%s) does not answer: it hangs or is paused; resume it with `kill -CONT %s`, "+
		"or end it with `kill -KILL %s` and start another", process, pid, pid)
}

// Timeouts of a client's requests, and of a reload by a responsive gateway.
const (
	requestTimeout = 2 * time.Second
	reloadTimeout  = time.Minute
)

// ControlClient sends requests to the control socket of a gateway.
type ControlClient struct {
	home string
	http http.Client
}

// NewClient returns a client, which connects for each request.
func NewClient(home string) *ControlClient {
	path := filepath.Join(home, socketName)
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", path)
	}
	return &ControlClient{home, http.Client{Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true}}}
}

// FetchStatus returns the status of the gateway.
func (c *ControlClient) FetchStatus(ctx context.Context) (*Status, error) {
	var s Status
	return &s, c.sendRequest(ctx, requestTimeout, http.MethodGet, "/status", &s)
}

// StopAgent stops an agent, or all agents, in the gateway's process. It works even if the disk is full.
func (c *ControlClient) StopAgent(ctx context.Context, stop killswitch.Stop) error {
	q := url.Values{"agent": {stop.Agent}, "by": {stop.By}, "why": {stop.Why}}
	return c.sendRequest(ctx, requestTimeout, http.MethodPost, "/stop?"+q.Encode(), nil)
}

// ResumeAgent resumes a stopped agent, or all agents, and reports whether it was stopped.
func (c *ControlClient) ResumeAgent(ctx context.Context, agent string) (was bool, err error) {
	var result struct {
		Was bool `json:"was_stopped"`
	}
	err = c.sendRequest(ctx, requestTimeout, http.MethodPost, "/start?"+url.Values{"agent": {agent}}.Encode(), &result)
	return result.Was, err
}

// ReloadConfig makes the gateway reload its configuration, and returns the gateway's error.
func (c *ControlClient) ReloadConfig(ctx context.Context) error {
	if _, err := c.FetchStatus(ctx); err != nil {
		return err
	}
	return c.sendRequest(ctx, reloadTimeout, http.MethodPost, "/reload", nil)
}

// RequestConsoleLink returns a one-time link to the console. by names the user, and operate permits actions.
func (c *ControlClient) RequestConsoleLink(ctx context.Context, operate bool, by string) (string, error) {
	var result struct {
		Link string `json:"link"`
	}
	q := url.Values{"operate": {strconv.FormatBool(operate)}, "by": {by}}
	err := c.sendRequest(ctx, requestTimeout, http.MethodPost, "/console?"+q.Encode(), &result)
	return result.Link, err
}

// maxResponseBytes limits the size of a response.
const maxResponseBytes = 1 << 20

// sendRequest sends a request to the control socket and decodes the JSON response.
func (c *ControlClient) sendRequest(ctx context.Context, timeout time.Duration, method, path string, result any) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, "http://gateway"+path, nil)
	if err != nil {
		return err
	}
	key, err := smallfile.Read(filepath.Join(c.home, keyName), 1<<10)
	if errors.Is(err, fs.ErrNotExist) {
		return c.newNotRunningError()
	}
	if err != nil {
		return fmt.Errorf("ask the gateway: %w", err)
	}
	r.Header.Set("Authorization", "Bearer "+string(key))
	response, err := c.http.Do(r)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED) {
		return c.newNotRunningError()
	}
	if errors.Is(err, context.DeadlineExceeded) {
		running, _ := pidfile.ReadPidFileWithCheck(c.home) // the PID is 0 without a pid file
		return &UnresponsiveError{running.PID}
	}
	if err != nil {
		return fmt.Errorf("ask the gateway: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxResponseBytes))
	if err != nil {
		return fmt.Errorf("ask the gateway: %w", err)
	}
	if response.StatusCode != http.StatusOK {
		var failure struct {
			Error string `json:"error"`
		}
		if json.Unmarshal(body, &failure) == nil && failure.Error != "" {
			return errors.New(failure.Error)
		}
		return fmt.Errorf("the gateway answered %s: %s", response.Status, bytes.TrimSpace(body))
	}
	if result == nil {
		return nil
	}
	return json.Unmarshal(body, result)
}
