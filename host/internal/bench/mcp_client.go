package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
)

// client is a client of an MCP server that it has started.
type client struct {
	pid    int // of the server
	in     io.Writer
	out    *bufio.Reader
	answer []byte // the last one; its room is used again
	calls  int
}

// withClient starts a server, gives f a client that is connected to it, and ends the server.
func withClient(s *server, f func(*client) error) (err error) {
	cmd := exec.Command(s.argv[0], s.argv[1:]...)
	cmd.Env, cmd.Stderr = s.env, s.stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, in.Close(), cmd.Wait()) }()
	c := &client{pid: cmd.Process.Pid, in: in, out: bufio.NewReaderSize(out, 64<<10)}
	if _, err := io.WriteString(in, initialize); err != nil {
		return err
	}
	if err := c.line(); err != nil {
		return err
	}
	if _, err := io.WriteString(in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n"); err != nil {
		return err
	}
	return f(c)
}

// call makes a request and reads its answer, which has to be a success of at least size bytes.
func (c *client) call(method, params string, size int) error {
	c.calls++
	_, err := fmt.Fprintf(c.in, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`+"\n", c.calls, method, params)
	if err != nil {
		return err
	}
	if err := c.line(); err != nil {
		return err
	}
	end := string(c.answer[max(0, len(c.answer)-400):])
	if len(c.answer) < size || strings.Contains(end, `"error"`) || strings.Contains(end, `"isError":true`) {
		return fmt.Errorf("%s %s was answered with %d bytes that end in %s", method, params, len(c.answer), end)
	}
	return nil
}

// read has a file read, of at least size bytes.
func (c *client) read(tool, path string, size int) error {
	return c.call("tools/call", fmt.Sprintf(`{"name":%q,"arguments":{"path":%q}}`, tool, path), size)
}

// line reads a line.
func (c *client) line() error {
	c.answer = c.answer[:0]
	for {
		part, err := c.out.ReadSlice('\n')
		c.answer = append(c.answer, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return err
		}
	}
}
