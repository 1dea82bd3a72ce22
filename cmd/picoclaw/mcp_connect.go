package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"

	"github.com/picoclaw/picoclaw/host"
)

// connect joins standard input and output with the socket at a path, where a session of a running picoclaw is served:
// whoever starts this has that session's tools, and no others. It decides nothing, and needs no configuration.
func (a *app) connect(ctx context.Context, path string) error {
	token, err := os.ReadFile(filepath.Join(filepath.Dir(path), host.SocketToken))
	if err != nil {
		return cantStart(fmt.Errorf("connect to the session that is served at %s: %w", path, err))
	}
	conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: path, Net: "unix"})
	if err == nil {
		_, err = fmt.Fprintf(conn, "%s\n", token)
	}
	if err != nil {
		return cantStart(fmt.Errorf("connect to the session that is served at %s: %w", path, err))
	}
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	go func() {
		_, _ = io.Copy(conn, a.stdin) // what is lost there, the other end misses
		_ = conn.CloseWrite()         // it answers what it was asked, and ends
	}()
	_, err = io.Copy(a.stdout, conn)
	_ = conn.Close()
	if err != nil && ctx.Err() == nil && !errors.Is(err, net.ErrClosed) {
		return failed(fmt.Errorf("the session that is served at %s: %w", path, err))
	}
	return nil
}
