package main

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/picoclaw/picoclaw/sdk"
	"github.com/picoclaw/picoclaw/sdk/workspace"
)

// ripgrep is the engine for machines that have it.
type ripgrep struct{ program }

func (*ripgrep) name() string      { return "ripgrep" }
func (*ripgrep) takes(*query) bool { return true }

// arguments never let a pattern or a name be taken for an option, nor a configuration file have a say.
func (*ripgrep) arguments(q *query) []string {
	args := []string{
		"--no-config", "--color=never", "--no-ignore", "--null", "--with-filename", "--no-follow", "--sort=none", "--count",
		"--encoding=none",
	}
	add := func(yes bool, arg string) {
		if yes {
			args = append(args, arg)
		}
	}
	add(q.hidden, "--hidden")
	add(!q.recursive, "--max-depth=1")
	add(q.fold, "--ignore-case")
	add(!q.fold, "--case-sensitive")
	add(q.fixed, "--fixed-strings")
	add(q.text, "--text")
	add(q.multiline, "--multiline")
	// By types, not by --glob: a glob would bring back what is hidden.
	for _, glob := range narrowing(q) {
		args = append(args, "--type-add=wanted:"+glob, "--type=wanted")
	}
	return append(args, "--regexp="+q.plain())
}

// narrowing returns globs of file names that let through all that the query wants, and perhaps more.
func narrowing(q *query) []string {
	if q.include != "" && !strings.Contains(q.include, "/") {
		return []string{q.include}
	}
	return q.globs
}

func (r *ripgrep) files(ctx context.Context, w *workspace.Workspace, path string, q *query,
	found func(string, int)) (tally, error) {
	var t tally
	var left pruned
	var wanted atomic.Int64
	suspects := suspects{w: w, path: path, query: q}
	defer suspects.stop()
	err := q.walk(ctx, w, path, &t, func(name string) {
		wanted.Add(1)
		suspects.add(name)
	}, left.add)
	if err != nil {
		return t, err
	}
	t.searched = int(wanted.Load())
	args := append(append(r.arguments(q), left.globs()...), "--", "./")
	exit, said, err := r.run(ctx, w, path, args, environment(), func(out io.Reader) error {
		return counted(out, func(name string, lines int) {
			if name = strings.TrimPrefix(name, "./"); lines == 0 || !q.wants(name) || left.has(name) {
				return
			}
			if q.multiline {
				lines = 0 // they are not lines
			}
			found(name, lines)
		})
	})
	if err != nil {
		return t, err
	}
	t.binary, t.moreBinary = suspects.stop(), true
	t.closed = said.closed
	t.searched = max(0, t.searched-t.binary-t.closed)
	if exit > 1 && strings.Contains(said.first, "regex") {
		return t, sdk.Errorf(sdk.InvalidArgument,
			"the pattern can't be searched for: it is too large, or can match a line break").
			WithHint("search for less at once; multiline lets a match go over a line break")
	}
	if exit > 1 && said.first != "" {
		t.failed = said.first
	}
	return t, nil
}

// environment is what a search program gets: nothing that could change what it does, but where git's own list is.
func environment() []string {
	env := []string{"LC_ALL=C.UTF-8", "PATH=/usr/bin:/bin"}
	for _, name := range []string{"HOME", "XDG_CONFIG_HOME"} {
		if value := os.Getenv(name); value != "" {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// errTorn is the error of output that ends in the middle of a record.
var errTorn = errors.New("the search program's output ends too early")

// counted reads records: a name, NUL, a number and a newline. A name can have any
// character but NUL, so nothing in it can pass for another record.
func counted(out io.Reader, found func(name string, lines int)) error {
	r := bufio.NewReaderSize(out, 64<<10)
	for {
		name, err := readUntil(r, 0)
		if errors.Is(err, io.EOF) && name == "" {
			return nil
		}
		if err != nil {
			return errTorn
		}
		number, err := readUntil(r, '\n')
		n, wrong := strconv.Atoi(number)
		if err != nil || wrong != nil || n < 0 {
			return errTorn
		}
		found(name, n)
	}
}

// maxRecord bounds one piece of a record: names are not longer than the kernel's paths.
const maxRecord = 64 << 10

// readUntil reads up to a byte, which it leaves out.
func readUntil(r *bufio.Reader, end byte) (string, error) {
	var whole []byte
	for {
		part, err := r.ReadSlice(end)
		whole = append(whole, part...)
		if len(whole) > maxRecord {
			return "", errTorn
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if err != nil {
			return string(whole), err
		}
		return string(whole[:len(whole)-1]), nil
	}
}
