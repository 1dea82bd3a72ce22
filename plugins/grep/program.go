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

// engineExecutable is the program of a search engine.
type engineExecutable struct {
	path     string
	launcher *isolation.Starter
}

// runProgram runs the program in an open directory and passes its output to parse. The program ends with the context.
func (p *engineExecutable) runProgram(ctx context.Context, w *workspace.Workspace, path string, args, env []string,
	parse func(io.Reader) error) (exit int, said programStderr, err error) {
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
	words := make(chan programStderr, 1)
	go func() { words <- readStderr(errors) }()
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

// programStderr is the beginning of a program's standard error.
type programStderr struct {
	first  string // the beginning, without those that are counted
	closed int    // how many files and directories it may not read
}

// maxStderrBytes limits the kept standard error of a program.
const maxStderrBytes = 8 << 10

// readStderr reads standard error to its end, so that the program never blocks, and keeps the beginning.
func readStderr(r io.Reader) programStderr {
	var c programStderr
	var kept strings.Builder
	lines := bufio.NewReaderSize(r, maxStderrBytes)
	for {
		line, err := lines.ReadSlice('\n')
		text := strings.TrimSuffix(string(line), "\n")
		switch {
		case strings.HasSuffix(text, "(os error 13)") || strings.HasSuffix(text, "(os error 1)"): // EACCES, EPERM
			c.closed++
		case kept.Len()+len(line) <= maxStderrBytes:
			kept.Write(line)
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			c.first = strings.TrimSpace(kept.String())
			return c
		}
	}
}
