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

	"github.com/picoclaw/picoclaw/host/halt"
	"github.com/picoclaw/picoclaw/host/pidfile"
)

// socketName is the control socket below the instance root. Whoever may connect to it may tell the gateway what to do:
// its owner.
const socketName = "gateway.sock"

// maxSocketPath is the longest path that a socket can have everywhere.
const maxSocketPath = 100

// listenControl opens the control socket. The pid file's lock is held: one that is there is a dead gateway's.
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

// keyName is the file with what a client of the control socket sends. No wall but a sandbox keeps what runs as the same
// user from the socket; from this file Landlock does, too.
const keyName = "gateway.key"

// makeKey writes a new key.
func makeKey(home string) (string, error) {
	key, path := rand.Text(), filepath.Join(home, keyName)
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("the control socket's key: %w", err)
	}
	if err := os.WriteFile(path, []byte(key), 0o600); err != nil {
		return "", fmt.Errorf("the control socket's key: %w", err)
	}
	return key, nil
}

// keyed answers those who have the key.
func keyed(key string, h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if subtle.ConstantTimeCompare([]byte(r.Header.Get("Authorization")), []byte("Bearer "+key)) != 1 {
			answer(w, http.StatusUnauthorized, map[string]string{"error": "the gateway's key is in " + keyName})
			return
		}
		h.ServeHTTP(w, r)
	})
}

// Status is what a gateway says of itself.
type Status struct {
	PID     int       `json:"pid"`
	Version string    `json:"version"`
	Started time.Time `json:"started"`
	Address string    `json:"address"`
	Ready   bool      `json:"ready"`
	Checks  []Checked `json:"checks"`
	// Configurations are those that are in use, the current one last.
	Configurations []Configuration `json:"configurations"`
	// Reload is why the last reload has failed; empty if it has not.
	Reload string `json:"reload_error,omitempty"`
}

// Configuration is one that is in use.
type Configuration struct {
	Since    time.Time `json:"since"`
	Running  int       `json:"running"`  // calls and turns
	Sessions int       `json:"sessions"` // of MCP clients
}

func (g *Gateway) controlRoutes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /status", func(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusOK, g.status()) })
	mux.HandleFunc("POST /reload", func(w http.ResponseWriter, _ *http.Request) {
		if err := g.Reload(); err != nil {
			answer(w, http.StatusConflict, map[string]string{"error": err.Error()})
			return
		}
		answer(w, http.StatusOK, map[string]string{"status": "reloaded"})
	})
	mux.HandleFunc("POST /console", g.consoleLink)
	mux.HandleFunc("POST /stop", func(w http.ResponseWriter, r *http.Request) {
		halt.Hold(g.options.Home, halt.Stop{Agent: r.FormValue("agent"), Time: time.Now().UTC(), By: r.FormValue("by"),
			Why: r.FormValue("why")})
		answer(w, http.StatusOK, map[string]string{"status": "stopped"})
	})
	mux.HandleFunc("POST /start", func(w http.ResponseWriter, r *http.Request) {
		was := halt.Release(g.options.Home, r.FormValue("agent"))
		answer(w, http.StatusOK, map[string]bool{"was_stopped": was})
	})
	return mux
}

// errNoConsole is the error of who asks for a link to a console that there is not.
const errNoConsole = "the gateway serves no console: set gateway.console to true, and start the gateway again"

func (g *Gateway) consoleLink(w http.ResponseWriter, r *http.Request) {
	if g.options.Console == nil {
		answer(w, http.StatusConflict, map[string]string{"error": errNoConsole})
		return
	}
	path := g.options.Console.Link(r.FormValue("operate") == "true", r.FormValue("by"))
	answer(w, http.StatusOK, map[string]string{"link": g.address + path})
}

func (g *Gateway) status() Status {
	r, ready := g.readiness()
	s := Status{PID: os.Getpid(), Version: g.options.Version, Started: g.started, Address: g.address, Ready: ready,
		Checks: r.Checks}
	g.mu.Lock()
	all, last := g.running, g.last
	g.mu.Unlock()
	if last != nil {
		s.Reload = last.Error()
	}
	for _, one := range all {
		c := Configuration{Since: one.since}
		c.Running, c.Sessions = one.Busy()
		s.Configurations = append(s.Configurations, c)
	}
	return s
}

// ErrNone is the error of a client where no gateway runs.
var ErrNone = errors.New("no gateway runs on this instance root; `picoclaw gateway` starts one")

// SilentError is the error of a client whose gateway runs and does not answer.
type SilentError struct{ PID int }

func (e *SilentError) Error() string {
	process, pid := "the process in "+pidfile.Name, "PID"
	if e.PID > 0 {
		pid = strconv.Itoa(e.PID)
		process = "process " + pid
	}
	return fmt.Sprintf("the gateway (%s) does not answer: it hangs or is paused; let it go on with `kill -CONT %s`, "+
		"or end it with `kill -KILL %s` and start another", process, pid, pid)
}

// How long a client waits for an answer, and for a new configuration to be read by a gateway that does answer.
const (
	answerTimeout = 2 * time.Second
	reloadTimeout = time.Minute
)

// Client talks to the gateway of an instance root.
type Client struct {
	home string
	http http.Client
}

// Dial returns a client. It connects with the first request.
func Dial(home string) *Client {
	path := filepath.Join(home, socketName)
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", path)
	}
	return &Client{home, http.Client{Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true}}}
}

// Status asks the gateway how it is.
func (c *Client) Status(ctx context.Context) (*Status, error) {
	var s Status
	return &s, c.do(ctx, answerTimeout, http.MethodGet, "/status", &s)
}

// Stop stops an agent, or all, in the gateway's process alone, whatever can be written.
func (c *Client) Stop(ctx context.Context, stop halt.Stop) error {
	q := url.Values{"agent": {stop.Agent}, "by": {stop.By}, "why": {stop.Why}}
	return c.do(ctx, answerTimeout, http.MethodPost, "/stop?"+q.Encode(), nil)
}

// Start ends what Stop began, and reports whether there was such a stop.
func (c *Client) Start(ctx context.Context, agent string) (was bool, err error) {
	var started struct {
		Was bool `json:"was_stopped"`
	}
	err = c.do(ctx, answerTimeout, http.MethodPost, "/start?"+url.Values{"agent": {agent}}.Encode(), &started)
	return started.Was, err
}

// Reload has the gateway read its configuration again. The error is the gateway's.
func (c *Client) Reload(ctx context.Context) error {
	if _, err := c.Status(ctx); err != nil {
		return err
	}
	return c.do(ctx, reloadTimeout, http.MethodPost, "/reload", nil)
}

// ConsoleLink returns a link to the console that works once and soon. by is who will have used it.
func (c *Client) ConsoleLink(ctx context.Context, operate bool, by string) (string, error) {
	var made struct {
		Link string `json:"link"`
	}
	q := url.Values{"operate": {strconv.FormatBool(operate)}, "by": {by}}
	err := c.do(ctx, answerTimeout, http.MethodPost, "/console?"+q.Encode(), &made)
	return made.Link, err
}

// maxAnswer bounds what is read of an answer.
const maxAnswer = 1 << 20

func (c *Client) do(ctx context.Context, timeout time.Duration, method, path string, into any) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, "http://gateway"+path, nil)
	if err != nil {
		return err
	}
	key, err := os.ReadFile(filepath.Join(c.home, keyName))
	if errors.Is(err, fs.ErrNotExist) {
		return ErrNone
	}
	if err != nil {
		return fmt.Errorf("ask the gateway: %w", err)
	}
	r.Header.Set("Authorization", "Bearer "+string(key))
	response, err := c.http.Do(r)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED) {
		return ErrNone
	}
	if errors.Is(err, context.DeadlineExceeded) {
		running, _ := pidfile.ReadPidFileWithCheck(c.home) // without one the error has no number
		return &SilentError{running.PID}
	}
	if err != nil {
		return fmt.Errorf("ask the gateway: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err != nil {
		return fmt.Errorf("ask the gateway: %w", err)
	}
	if response.StatusCode != http.StatusOK {
		var failed struct {
			Error string `json:"error"`
		}
		if json.Unmarshal(text, &failed) == nil && failed.Error != "" {
			return errors.New(failed.Error)
		}
		return fmt.Errorf("the gateway answered %s: %s", response.Status, bytes.TrimSpace(text))
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(text, into)
}
