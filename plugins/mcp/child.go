package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	osexec "os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/picoclaw/picoclaw/internal/stdio"
	"github.com/picoclaw/picoclaw/isolation"
	"github.com/picoclaw/picoclaw/sdk"
	"github.com/picoclaw/picoclaw/sdk/exec"
)

// child is a server that runs as a child of this process.
type child struct {
	process *isolation.Process
	stdin   *os.File
	stdout  *os.File
	said    *stdio.Tail   // the end of what it has written to its standard error
	heard   chan struct{} // closed when that has been read
	silent  chan struct{} // closed when nothing more comes from it
}

// startChild starts a server.
func startChild(
	l *isolation.Isolation, p isolation.Profile, d *definition, where places, dir string, operator []string,
) (*child, error) {
	env := exec.Environment(append(operator, ownEnvironment(where)...), nil, slices.Concat(p.ReadOnly, p.ReadWrite))
	lookup := lookupIn(env)
	for _, name := range slices.Sorted(maps.Keys(d.Env)) {
		env = append(env, name+"="+where.fill(d.Env[name], lookup))
	}
	var argv []string
	for _, arg := range d.Command {
		argv = append(argv, where.fill(arg, lookup))
	}
	if len(argv) == 0 {
		return nil, sdk.Errorf(sdk.InvalidArgument, "the server has no command")
	}
	program, err := find(argv[0], lookup("PATH"))
	if err != nil {
		return nil, err
	}
	cmd := &osexec.Cmd{Path: program, Args: argv, Dir: dir, Env: env}
	pipes, err := stdio.Of(cmd)
	if err != nil {
		return nil, err
	}
	defer pipes.Started()
	c := &child{
		stdin: pipes.In, stdout: pipes.Out, said: stdio.NewTail(mostSaid),
		heard: make(chan struct{}), silent: make(chan struct{}),
	}
	if c.process, err = l.Start(cmd, p); err != nil {
		pipes.Close()
		return nil, fmt.Errorf("start the server: %w", err)
	}
	go func() {
		_, _ = io.Copy(c.said, pipes.Err)
		_ = pipes.Err.Close()
		close(c.heard)
	}()
	return c, nil
}

// ownEnvironment has runtimes keep what they cache where the server may write.
func ownEnvironment(where places) []string {
	if where.state == "" {
		return nil
	}
	cache := filepath.Join(where.state, "cache")
	env := []string{"HOME=" + where.state, "XDG_CACHE_HOME=" + cache, "npm_config_cache=" + filepath.Join(cache, "npm"),
		"UV_CACHE_DIR=" + filepath.Join(cache, "uv"), "PYTHONDONTWRITEBYTECODE=1"}
	return append(env, "npm_config_offline=true", "UV_OFFLINE=1")
}

func lookupIn(env []string) func(string) string {
	return func(name string) string {
		value := ""
		for _, pair := range env {
			if v, ok := strings.CutPrefix(pair, name+"="); ok {
				value = v // the last one counts
			}
		}
		return value
	}
}

// find looks a program up in the child's PATH and not in this process's.
func find(name, path string) (string, error) {
	if strings.Contains(name, "/") {
		return name, nil
	}
	for _, dir := range filepath.SplitList(path) {
		at := filepath.Join(dir, name)
		if info, err := os.Stat(at); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return at, nil
		}
	}
	return "", sdk.Errorf(sdk.NotFound, "there is no program %s in the system's directories (%s)", name, path)
}

// mostSaid is how much of a server's standard error is kept, in bytes.
const mostSaid = 2 << 10

// lastWords are what the server has said at the end, to be put behind a message.
func (c *child) lastWords() string {
	select {
	case <-c.heard:
	case <-time.After(endGrace): // something that it has started may still have it open
	}
	text, _ := c.said.Text()
	if text = strings.TrimSpace(strings.ToValidUTF8(text, "\uFFFD")); text != "" {
		return "; it said:\n" + text
	}
	return ""
}

// endGrace is how long a server has to end when its input has ended.
const endGrace = 300 * time.Millisecond

// end ends the server.
func (c *child) end() {
	_ = c.stdin.Close()
	select {
	case <-c.process.Done():
	case <-time.After(endGrace):
		c.process.Kill()
		_, _ = c.process.Wait(context.Background())
	}
}

// maxLine is the longest message of a server, in bytes.
const maxLine = 64 << 20

// transport connects the SDK with the server. What the server prints besides messages is no reason to end: many say
// hello.
func (c *child) transport() mcp.Transport {
	read, write := io.Pipe()
	go func() {
		in := bufio.NewReaderSize(c.stdout, 64<<10)
		for {
			line, err := readLine(in)
			if text := bytes.TrimSpace(line); isMessage(text) {
				if _, err := write.Write(append(text, '\n')); err != nil {
					close(c.silent)
					return
				}
			}
			if err != nil {
				close(c.silent)
				_ = write.CloseWithError(err)
				_ = c.stdout.Close()
				return
			}
		}
	}()
	return &mcp.IOTransport{Reader: read, Writer: c.stdin, MaxLineLength: -1}
}

// isMessage reports whether a line is one of the protocol's: a line of a log may be JSON as well, or begin as JSON
// does.
func isMessage(line []byte) bool {
	type message struct {
		Version string `json:"jsonrpc"`
	}
	if len(line) == 0 || line[0] != '{' && line[0] != '[' {
		return false
	}
	all := make([]message, 1)
	var err error
	if line[0] == '{' {
		err = json.Unmarshal(line, &all[0])
	} else {
		err = json.Unmarshal(line, &all)
	}
	return err == nil && len(all) > 0 && all[0].Version == "2.0"
}

// readLine reads a line that is not too long.
func readLine(in *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := in.ReadSlice('\n')
		line = append(line, part...)
		if len(line) > maxLine {
			return nil, fmt.Errorf("the server has sent a message of more than %d bytes", maxLine)
		}
		if err != bufio.ErrBufferFull {
			return line, err
		}
	}
}
