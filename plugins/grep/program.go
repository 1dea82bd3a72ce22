package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"time"

	"github.com/picoclaw/picoclaw/isolation"
	"github.com/picoclaw/picoclaw/sdk/workspace"
)

// program is a program of the system's that searches.
type program struct {
	path     string
	launcher *isolation.Isolation
}

// maxComplaints is how much of what a program complains about is read, in bytes.
const maxComplaints = 8 << 10

// run starts the program in a directory and gives its output to parse. The directory is the one that was opened: its name is
// not used again. The program ends with the context. said is what it printed to standard error.
func (p *program) run(ctx context.Context, w *workspace.Workspace, path string, args, env []string, parse func(io.Reader) error) (exit int, said string, err error) {
	dir, err := w.OpenDir(path)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = dir.Close() }()
	out, outWrite, err := os.Pipe()
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = out.Close() }()
	complaints, complaintsWrite, err := os.Pipe()
	if err != nil {
		_ = outWrite.Close()
		return 0, "", err
	}
	defer func() { _ = complaints.Close() }()

	cmd := exec.Command(p.path, args...)
	cmd.Dir = "/proc/self/fd/" + strconv.Itoa(int(dir.Fd()))
	cmd.Env = env
	cmd.Stdout, cmd.Stderr = outWrite, complaintsWrite
	process, err := p.launcher.Start(cmd, isolation.Profile{Name: "search", Exec: true})
	_ = outWrite.Close()
	_ = complaintsWrite.Close()
	if err != nil {
		return 0, "", fmt.Errorf("start %s: %w", p.path, err)
	}
	defer process.Kill()
	defer context.AfterFunc(ctx, process.Kill)()
	words := make(chan string, 1)
	go func() {
		text, _ := io.ReadAll(io.LimitReader(complaints, maxComplaints))
		_, _ = io.Copy(io.Discard, complaints) // more would stop the program
		words <- string(bytes.TrimSpace(text))
	}()
	if err := parse(out); err != nil {
		return 0, "", err
	}
	if err := ctx.Err(); err != nil {
		return 0, "", err
	}
	ended, err := process.Wait(ctx)
	if err != nil {
		return 0, "", err
	}
	_ = complaints.SetReadDeadline(time.Now().Add(time.Second))
	return ended.Code, <-words, nil
}
