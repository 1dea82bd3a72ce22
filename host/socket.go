package host

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/picoclaw/picoclaw/host/mcp"
	"github.com/picoclaw/picoclaw/host/session"
	"github.com/picoclaw/picoclaw/internal/filelock"
)

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
