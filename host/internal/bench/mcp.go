package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// measureMCP times what an agent's client waits for: a request's line on the server's standard input, a tool call in the
// sandbox, and the whole answer's line on its standard output. A ping beside it is the protocol alone.
func measureMCP(bin string) error {
	return withHome(func(home string) error {
		workspace := filepath.Join(home, "workspace")
		if err := os.MkdirAll(workspace, 0o700); err != nil {
			return err
		}
		for name, lines := range map[string]int{"1k": 64, "1m": 64 << 10} {
			if err := os.WriteFile(filepath.Join(workspace, name), []byte(strings.Repeat("0123456789abcde\n", lines)), 0o600); err != nil {
				return err
			}
		}
		env := []string{"HOME=" + home, "PICOCLAW_HOME=" + home, "PICOCLAW_ISOLATION_ENABLED=true"}
		return withClient(env, filepath.Join(bin, "picoclaw"), func(c *client) error {
			var ping, small, large sample
			for _, step := range []struct {
				into             *sample
				rounds, size     int
				method, argument string
			}{
				{&ping, 2000, 0, "ping", `{}`},
				{&small, 2000, 1 << 10, "tools/call", `{"name":"read_file","arguments":{"path":"1k"}}`},
				{&large, 100, 1 << 20, "tools/call", `{"name":"read_file","arguments":{"path":"1m"}}`},
			} {
				warmup := step.rounds / 10
				for i := range step.rounds + warmup {
					if err := step.into.timed(func() error { return c.call(step.method, step.argument, step.size) }); err != nil {
						return err
					}
					if i == warmup-1 {
						*step.into = nil
					}
				}
			}
			fmt.Println("MCP on standard input and output, isolation on")
			fmt.Println("  ping                 ", ping)
			fmt.Printf("  read_file of 1 KB      %v   (median at most 0.30)\n", small)
			fmt.Printf("  read_file of 1 MB      %v   (median at most 15)\n", large)
			return nil
		})
	})
}

// client is a client of an MCP server that it has started.
type client struct {
	in     io.Writer
	out    *bufio.Reader
	answer []byte // the last one; its room is used again
	calls  int
}

// withClient starts a server, gives f a client that is connected to it, and ends the server.
func withClient(env []string, program string, f func(*client) error) (err error) {
	cmd := exec.Command(program, "mcp")
	cmd.Env, cmd.Stderr = env, os.Stderr
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
	c := &client{in: in, out: bufio.NewReaderSize(out, 64<<10)}
	if _, err := io.WriteString(in, initialize); err != nil {
		return err
	}
	if err := c.read(); err != nil {
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
	if err := c.read(); err != nil {
		return err
	}
	end := string(c.answer[max(0, len(c.answer)-400):])
	if len(c.answer) < size || strings.Contains(end, `"error"`) || strings.Contains(end, `"isError":true`) {
		return fmt.Errorf("%s %s was answered with %d bytes that end in %s", method, params, len(c.answer), end)
	}
	return nil
}

// read reads a line.
func (c *client) read() error {
	c.answer = c.answer[:0]
	for {
		part, err := c.out.ReadSlice('\n')
		c.answer = append(c.answer, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return err
		}
	}
}
