package assembly

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"

	"github.com/picoclaw/picoclaw/host"
	"github.com/picoclaw/picoclaw/host/mcp"
)

// serveSocket serves a session over MCP at a socket in a directory of its own, for a program that is started with it and
// has no other way to a tool. end ends what is served, and takes the directory away.
func (a *Assembly) serveSocket(s *host.Session) (socket string, end func(), err error) {
	runs := filepath.Join(s.Policy().Home(), "run")
	if err := os.MkdirAll(runs, 0o700); err != nil {
		return "", nil, err
	}
	dir, err := os.MkdirTemp(runs, "mcp-*")
	if err != nil {
		return "", nil, err
	}
	socket = filepath.Join(dir, "s")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		return "", nil, errors.Join(fmt.Errorf("serve a session: %w", err), os.RemoveAll(dir))
	}
	ctx, cancel := context.WithCancel(a.life)
	server := mcp.NewServer(s, a.options.Version, mcp.Instructions(s.Policy()))
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			serving.Go(func() {
				_ = server.Run(ctx, mcp.Lines{Reader: conn, Writer: conn}) // its end is the program's
				_ = conn.Close()
			})
		}
	})
	return socket, func() {
		cancel()
		_ = listener.Close()
		serving.Wait()
		_ = os.RemoveAll(dir)
	}, nil
}
