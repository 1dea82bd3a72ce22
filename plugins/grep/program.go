package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/picoclaw/picoclaw/isolation"
	"github.com/picoclaw/picoclaw/sdk/workspace"
)

// program is a program of the system's that searches.
type program struct {
	path     string
	launcher *isolation.Isolation
}

// run starts the program in a directory and gives its output to parse, while it comes. The directory is the one that
// was opened: its name is not used again. The program ends with the context.
func (p *program) run(ctx context.Context, w *workspace.Workspace, path string, args, env []string,
	parse func(io.Reader) error) (exit int, said complaints, err error) {
	dir, err := w.OpenDir(path)
	if err != nil {
		return 0, said, err
	}
	defer func() { _ = dir.Close() }()
	out, outWrite, err := os.Pipe()
	if err != nil {
		return 0, said, err
	}
	defer func() { _ = out.Close() }()
	errors, errorsWrite, err := os.Pipe()
	if err != nil {
		_ = outWrite.Close()
		return 0, said, err
	}
	defer func() { _ = errors.Close() }()

	cmd := exec.Command(p.path, args...)
	cmd.Dir = "/proc/self/fd/" + strconv.Itoa(int(dir.Fd()))
	cmd.Env = env
	cmd.Stdout, cmd.Stderr = outWrite, errorsWrite
	process, err := p.launcher.Start(cmd, isolation.Profile{Name: "search", Exec: true})
	_ = outWrite.Close()
	_ = errorsWrite.Close()
	if err != nil {
		return 0, said, fmt.Errorf("start %s: %w", p.path, err)
	}
	defer process.Kill()
	defer context.AfterFunc(ctx, process.Kill)()
	words := make(chan complaints, 1)
	go func() { words <- listen(errors) }()
	err = parse(out)
	if ctx.Err() != nil {
		return 0, said, ctx.Err() // its output ends anywhere then
	}
	if err != nil {
		return 0, said, err
	}
	ended, err := process.Wait(ctx)
	if err != nil {
		return 0, said, err
	}
	_ = errors.SetReadDeadline(time.Now().Add(time.Second))
	return ended.Code, <-words, nil
}

// complaints is what a program printed to standard error.
type complaints struct {
	first  string // the beginning, without those that are counted
	closed int    // how many files and directories it may not read
}

// maxComplaints is how much of them is kept, in bytes.
const maxComplaints = 8 << 10

// listen reads all of it: a program whose complaints nobody reads would stop.
func listen(r io.Reader) complaints {
	var c complaints
	var kept strings.Builder
	lines := bufio.NewReaderSize(r, maxComplaints)
	for {
		line, err := lines.ReadSlice('\n')
		text := strings.TrimSuffix(string(line), "\n")
		switch {
		case strings.HasSuffix(text, "(os error 13)") || strings.HasSuffix(text, "(os error 1)"): // EACCES, EPERM
			c.closed++
		case kept.Len()+len(line) <= maxComplaints:
			kept.Write(line)
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			c.first = strings.TrimSpace(kept.String())
			return c
		}
	}
}
