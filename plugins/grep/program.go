package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/picoclaw/picoclaw/isolation"
	"github.com/picoclaw/picoclaw/sdk"
	"github.com/picoclaw/picoclaw/sdk/workspace"
)

// program is an engine that is a program of the system's.
type program struct {
	name, path string
	launcher   *isolation.Isolation
	arguments  func(q query, dir bool) []string
}

// ripgrepArguments and grepArguments never let a pattern or a name be taken for an option, and have both programs look
// at the same files: hidden ones too, those in .git and binary ones not, links never followed.
func ripgrepArguments(q query, dir bool) []string {
	args := []string{"--no-config", "--color=never", "--no-heading", "--line-number", "--with-filename", "--null",
		"--no-messages", "--no-ignore", "--hidden", "--glob=!.git", "--sort=path"}
	if q.fold {
		args = append(args, "--ignore-case")
	}
	if q.include != "" {
		args = append(args, "--glob="+q.include)
	}
	if !q.recursive {
		args = append(args, "--max-depth=1")
	}
	args = append(args, "--regexp="+q.pattern, "--")
	if dir {
		return append(args, ".")
	}
	return append(args, "-")
}

func grepArguments(q query, dir bool) []string {
	args := []string{"--color=never", "--line-number", "--with-filename", "--null", "--no-messages", "--binary-files=without-match",
		"--extended-regexp", "--exclude-dir=.git", "--devices=skip"}
	if q.fold {
		args = append(args, "--ignore-case")
	}
	if q.include != "" {
		args = append(args, "--include="+q.include)
	}
	args = append(args, "--directories=recurse", "--regexp="+q.pattern, "--")
	if dir {
		return append(args, ".")
	}
	return append(args, "-")
}

func (p program) search(ctx context.Context, w *workspace.Workspace, path string, q query) ([]match, bool, error) {
	// The program is started in the directory that was opened, or given the file that was opened: names it is not
	// given can't be swapped.
	info, err := w.Stat(path)
	if err != nil {
		return nil, false, fmt.Errorf("search %s: %w", path, err)
	}
	var at *os.File
	if info.IsDir() {
		at, err = w.OpenDir(path)
	} else {
		at, err = w.Open(path)
	}
	if err != nil {
		return nil, false, fmt.Errorf("search %s: %w", path, err)
	}
	defer func() { _ = at.Close() }()

	cmd := exec.Command(p.path, p.arguments(q, info.IsDir())...)
	if info.IsDir() {
		cmd.Dir = "/proc/self/fd/" + strconv.Itoa(int(at.Fd()))
	} else {
		cmd.Stdin = at
	}
	return p.run(ctx, cmd, q)
}

func (p program) run(ctx context.Context, cmd *exec.Cmd, q query) ([]match, bool, error) {
	read, write, err := os.Pipe()
	if err != nil {
		return nil, false, err
	}
	defer func() { _ = read.Close() }()
	errRead, errWrite, err := os.Pipe()
	if err != nil {
		_ = write.Close()
		return nil, false, err
	}
	defer func() { _ = errRead.Close() }()
	cmd.Stdout, cmd.Stderr = write, errWrite
	process, err := p.launcher.Start(cmd, isolation.Profile{Name: p.name, Exec: true})
	_ = write.Close()
	_ = errWrite.Close()
	if err != nil {
		return nil, false, fmt.Errorf("start %s: %w", p.name, err)
	}
	defer process.Kill()
	defer context.AfterFunc(ctx, process.Kill)()

	found, more, err := parse(read, q)
	if err != nil || more {
		return found, more, err
	}
	exit, err := process.Wait(ctx)
	if err != nil {
		return found, false, err
	}
	if exit.Code > 1 { // 1 is for no match
		_ = errRead.SetReadDeadline(time.Now().Add(time.Second))
		words, _ := io.ReadAll(io.LimitReader(errRead, 4<<10))
		return found, false, sdk.Errorf(sdk.Failed, "%s failed (%s): %s", p.name, exit, bytes.TrimSpace(words))
	}
	return found, false, nil
}

// parse reads lines of the form file NUL line ":" text.
func parse(r io.Reader, q query) (found []match, more bool, err error) {
	lines := bufio.NewReaderSize(r, 64<<10)
	for {
		line, err := readLine(lines)
		if errors.Is(err, io.EOF) {
			return found, false, nil
		}
		if err != nil {
			return found, false, err
		}
		file, rest, ok := strings.Cut(line, "\x00")
		number, text, ok2 := strings.Cut(rest, ":")
		n, err := strconv.Atoi(number)
		if !ok || !ok2 || err != nil {
			continue
		}
		if file = filepath.Clean(file); strings.HasPrefix(file, "(") || strings.HasPrefix(file, "<") {
			file = "" // (standard input), <stdin>
		}
		if !q.recursive && strings.ContainsRune(file, filepath.Separator) {
			continue
		}
		if len(found) == q.limit {
			return found, true, nil
		}
		found = append(found, match{File: file, Line: n, Text: text})
	}
}

// readLine reads a line without its line feed, but keeps only its beginning if it is very long.
func readLine(r *bufio.Reader) (string, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		if len(line) < 64<<10 {
			line = append(line, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case err != nil && (!errors.Is(err, io.EOF) || len(line) == 0):
			return "", err
		default:
			return strings.TrimSuffix(string(line), "\n"), nil
		}
	}
}
