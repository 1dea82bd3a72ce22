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

// childServer is a server that runs as a child process.
type childServer struct {
	process    *isolation.Process
	stdin      *os.File
	stdout     *os.File
	stderr     *stdio.Tail   // tail of standard error
	stderrDone chan struct{} // closed when standard error is read to its end
	stdoutDone chan struct{} // closed when no more messages come from the server
}

// startChildServer starts a server as a child process.
func startChildServer(
	l *isolation.Isolation, p isolation.Profile, d *serverDefinition, dirs serverDirs, dir string, operator []string,
) (*childServer, error) {
	env := exec.Environment(append(operator, cacheEnvironment(dirs)...), nil, slices.Concat(p.ReadOnly, p.ReadWrite))
	lookup := envLookup(env)
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
	program, err := findProgram(argv[0], lookup("PATH"))
	if err != nil {
		return nil, err
	}
	cmd := &osexec.Cmd{Path: program, Args: argv, Dir: dir, Env: env}
	pipes, err := stdio.Of(cmd)
	if err != nil {
		return nil, err
	}
	defer pipes.Started()
	c := &childServer{
		stdin: pipes.In, stdout: pipes.Out, stderr: stdio.NewTail(maxStderr),
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

// cacheEnvironment returns variables that direct the caches of language runtimes to the state directory.
func cacheEnvironment(dirs serverDirs) []string {
	if dirs.state == "" {
		return nil
	}
	cache := filepath.Join(dirs.state, "cache")
	env := []string{"HOME=" + dirs.state, "XDG_CACHE_HOME=" + cache, "npm_config_cache=" + filepath.Join(cache, "npm"),
		"UV_CACHE_DIR=" + filepath.Join(cache, "uv"), "PYTHONDONTWRITEBYTECODE=1"}
	return append(env, "npm_config_offline=true", "UV_OFFLINE=1")
}

// envLookup returns a function that looks up variables in an environment; the last definition of a name wins.
func envLookup(env []string) func(string) string {
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

// findProgram looks up a program in the child's PATH.
func findProgram(name, path string) (string, error) {
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

// maxStderr is the number of bytes of the server's standard error that are kept.
const maxStderr = 2 << 10

// stderrSuffix returns the end of the server's standard error for an error message.
func (c *childServer) stderrSuffix() string {
	select {
	case <-c.stderrDone:
	case <-time.After(endGrace): // a descendant may hold it open
	}
	text, _ := c.stderr.Text()
	if text = strings.TrimSpace(strings.ToValidUTF8(text, "\uFFFD")); text != "" {
		return "; its standard error:\n" + text
	}
	return ""
}

// endGrace is the time for a server to end after its input was closed.
const endGrace = 300 * time.Millisecond

// stopServer closes the server's input, and kills the server if it does not end by itself.
func (c *childServer) stopServer() {
	_ = c.stdin.Close()
	select {
	case <-c.process.Done():
	case <-time.After(endGrace):
		c.process.Kill()
		_, _ = c.process.Wait(context.Background())
	}
}

// maxMessage is the maximum size of a server's message in bytes.
const maxMessage = 64 << 20

// newTransport returns the MCP transport to the server. It drops lines that are not messages, because many servers
// print a greeting.
func (c *childServer) newTransport() mcp.Transport {
	read, write := io.Pipe()
	go func() {
		in := bufio.NewReaderSize(c.stdout, 64<<10)
		for {
			line, err := readLimitedLine(in)
			if text := bytes.TrimSpace(line); isMessage(text) {
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

// isMessage reports whether a line is a JSON-RPC message. A log line may be JSON, too.
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

// readLimitedLine reads a line of at most maxMessage bytes.
func readLimitedLine(in *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := in.ReadSlice('\n')
		line = append(line, part...)
		if len(line) > maxMessage {
			return nil, fmt.Errorf("the server sent a message of more than %d bytes", maxMessage)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}
