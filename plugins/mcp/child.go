package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
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

// childServer is an MCP server that runs as a child process.
type childServer struct {
	process    *isolation.Process
	stdin      *os.File
	stdout     *os.File
	stderr     *stdio.TailBuffer // tail of standard error
	stderrDone chan struct{}     // closed when standard error is read to its end
	stdoutDone chan struct{}     // closed when no more messages come from the server
}

// startChildServer starts a server as a child process.
func startChildServer(
	l *isolation.Starter, p isolation.Profile, d *serverDefinition, dirs placeholderDirs, dir string, operator []string,
) (*childServer, error) {
	env := exec.BuildEnvironment(append(operator, cacheDirEnvironment(dirs)...), nil, slices.Concat(p.ReadOnly, p.ReadWrite))
	lookup := newEnvLookup(env)
	for _, name := range slices.Sorted(maps.Keys(d.Env)) {
		env = append(env, name+"="+dirs.expandPlaceholders(d.Env[name], lookup))
	}
	var argv []string
	for _, arg := range d.Command {
		argv = append(argv, dirs.expandPlaceholders(arg, lookup))
	}
	if len(argv) == 0 {
		return nil, sdk.Errorf(sdk.InvalidArgument, "the server has no command")
	}
	program, err := findInChildPath(argv[0], lookup("PATH"))
	if err != nil {
		return nil, err
	}
	cmd := &osexec.Cmd{Path: program, Args: argv, Dir: dir, Env: env}
	pipes, err := stdio.AttachPipes(cmd)
	if err != nil {
		return nil, err
	}
	defer pipes.CloseChildEnds()
	c := &childServer{
		stdin: pipes.In, stdout: pipes.Out, stderr: stdio.NewTailBuffer(maxStderrBytes),
		stderrDone: make(chan struct{}), stdoutDone: make(chan struct{}),
	}
	if c.process, err = l.Start(cmd, p); err != nil {
		pipes.Close()
		return nil, fmt.Errorf("start the server: %w", err)
	}
	go func() {
		_, _ = io.Copy(c.stderr, pipes.Err)
		_ = pipes.Err.Close()
		close(c.stderrDone)
	}()
	return c, nil
}

// cacheDirEnvironment returns environment variables that place the caches of language runtimes in the state directory.
func cacheDirEnvironment(dirs placeholderDirs) []string {
	if dirs.state == "" {
		return nil
	}
	cache := filepath.Join(dirs.state, "cache")
	env := []string{"HOME=" + dirs.state, "XDG_CACHE_HOME=" + cache, "npm_config_cache=" + filepath.Join(cache, "npm"),
		"UV_CACHE_DIR=" + filepath.Join(cache, "uv"), "PYTHONDONTWRITEBYTECODE=1"}
	return append(env, "npm_config_offline=true", "UV_OFFLINE=1")
}

// newEnvLookup returns a function that looks up variables in an environment. The last definition of a name wins.
func newEnvLookup(env []string) func(string) string {
	return func(name string) string {
		value := ""
		for _, pair := range env {
			if v, ok := strings.CutPrefix(pair, name+"="); ok {
				value = v // the last definition wins
			}
		}
		return value
	}
}

// findInChildPath returns the path of a program in the child's PATH.
func findInChildPath(name, path string) (string, error) {
	if strings.Contains(name, "/") {
		return name, nil
	}
	for _, dir := range filepath.SplitList(path) {
		candidate := filepath.Join(dir, name)
		if info, err := os.Stat(candidate); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return candidate, nil
		}
	}
	return "", sdk.Errorf(sdk.NotFound, "there is no program %s in the system's directories (%s)", name, path)
}

// maxStderrBytes is the number of bytes kept of the server's standard error.
const maxStderrBytes = 2 << 10

// describeExit returns the limits that the server was ended for, and its last standard error output, to append to an
// error message.
func (c *childServer) describeExit() string {
	select {
	case <-c.stderrDone:
	case <-time.After(exitGrace): // a descendant may hold it open
	}
	suffix := ""
	select {
	case <-c.process.Done():
		if exit, _ := c.process.Wait(context.Background()); exit.Exceeded != "" {
			suffix = "; it was ended: it used " + exit.Exceeded
		}
	default:
	}
	text, _ := c.stderr.Text()
	if text = strings.TrimSpace(strings.ToValidUTF8(text, "\uFFFD")); text != "" {
		suffix += "; its standard error:\n" + text
	}
	return suffix
}

// exitGrace is the time for a server to exit after its input was closed.
const exitGrace = 300 * time.Millisecond

// stopServer closes the server's input, and kills the server if it does not end by itself.
func (c *childServer) stopServer() {
	_ = c.stdin.Close()
	select {
	case <-c.process.Done():
	case <-time.After(exitGrace):
		c.process.Kill()
		_, _ = c.process.Wait(context.Background())
	}
}

// maxMessageBytes limits a message of the server.
const maxMessageBytes = 64 << 20

// newTransport returns the MCP transport to the server. Lines that are not messages, such as a greeting, are dropped.
func (c *childServer) newTransport() mcp.Transport {
	read, write := io.Pipe()
	go func() {
		in := bufio.NewReaderSize(c.stdout, 64<<10)
		for {
			line, err := readLimitedLine(in)
			if text := bytes.TrimSpace(line); isJSONRPC(text) {
				if _, writeErr := write.Write(append(text, '\n')); writeErr != nil {
					close(c.stdoutDone)
					return
				}
			}
			if err != nil {
				close(c.stdoutDone)
				_ = write.CloseWithError(err)
				_ = c.stdout.Close()
				return
			}
		}
	}()
	return &mcp.IOTransport{Reader: read, Writer: c.stdin, MaxLineLength: -1}
}

// isJSONRPC reports whether a line is a JSON-RPC message. A log line may be JSON, too.
func isJSONRPC(line []byte) bool {
	type message struct {
		Version string `json:"jsonrpc"`
	}
	var one message
	var batch []message
	return json.Unmarshal(line, &one) == nil && one.Version == "2.0" ||
		json.Unmarshal(line, &batch) == nil && len(batch) > 0 && batch[0].Version == "2.0"
}

// readLimitedLine reads a line of at most maxMessageBytes.
func readLimitedLine(in *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := in.ReadSlice('\n')
		line = append(line, part...)
		if len(line) > maxMessageBytes {
			return nil, fmt.Errorf("the server sent a message of more than %d bytes", maxMessageBytes)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}
