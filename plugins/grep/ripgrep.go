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

// ripgrepEngine uses ripgrep.
type ripgrepEngine struct{ searchProgram }

func (*ripgrepEngine) name() string          { return "ripgrep" }
func (*ripgrepEngine) takes(*grepQuery) bool { return true }

// arguments never let a pattern or a name be taken for an option, nor a configuration file have a say.
func (*ripgrepEngine) arguments(q *grepQuery) []string {
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
	for _, glob := range nameGlobs(q) {
		args = append(args, "--type-add=wanted:"+glob, "--type=wanted")
	}
	return append(args, "--regexp="+q.ripgrepPattern())
}

// nameGlobs returns globs that match all names the query wants, and perhaps more.
func nameGlobs(q *grepQuery) []string {
	if q.include != "" && !strings.Contains(q.include, "/") {
		return []string{q.include}
	}
	return q.globs
}

func (r *ripgrepEngine) files(ctx context.Context, w *workspace.Workspace, path string, q *grepQuery,
	found func(string, int)) (engineStats, error) {
	var t engineStats
	var left excludedPaths
	var wanted atomic.Int64
	suspects := binaryScanner{w: w, path: path, query: q}
	defer suspects.stopScan()
	err := q.walkFiles(ctx, w, path, &t, func(name string) {
		wanted.Add(1)
		suspects.addFile(name)
	}, left.addPath)
	if err != nil {
		return t, err
	}
	t.searched = int(wanted.Load())
	args := append(append(r.arguments(q), left.ripgrepGlobs()...), "--", "./")
	exit, said, err := r.runProgram(ctx, w, path, args, programEnvironment(), func(out io.Reader) error {
		return parseCounts(out, func(name string, lines int) {
			if name = strings.TrimPrefix(name, "./"); lines == 0 || !q.matchesFile(name) || left.containsPath(name) {
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
	t.binary, t.moreBinary = suspects.stopScan(), true
	t.closed = said.closed
	t.searched = max(0, t.searched-t.binary-t.closed)
	if exit > 1 && strings.Contains(said.first, "regex") {
		return t, sdk.Errorf(sdk.InvalidArgument,
			"the pattern can't be searched for: it is too large, or can match a line break").
			WithHint("search for less at once; multiline allows matches across line breaks")
	}
	if exit > 1 && said.first != "" {
		t.failed = said.first
	}
	return t, nil
}

// programEnvironment returns a search program's environment: only the location of git's global ignore file.
func programEnvironment() []string {
	env := []string{"LC_ALL=C.UTF-8", "PATH=/usr/bin:/bin"}
	for _, name := range []string{"HOME", "XDG_CONFIG_HOME"} {
		if value := os.Getenv(name); value != "" {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// errTruncated is the error of output that ends inside a record.
var errTruncated = errors.New("the search program's output ends too early")

// parseCounts parses records of name, NUL, number and newline, which names can't imitate.
func parseCounts(out io.Reader, found func(name string, lines int)) error {
	r := bufio.NewReaderSize(out, 64<<10)
	for {
		name, err := readUntil(r, 0)
		if errors.Is(err, io.EOF) && name == "" {
			return nil
		}
		if err != nil {
			return errTruncated
		}
		number, err := readUntil(r, '\n')
		n, wrong := strconv.Atoi(number)
		if err != nil || wrong != nil || n < 0 {
			return errTruncated
		}
		found(name, n)
	}
}

// maxRecordBytes limits a part of a record.
const maxRecordBytes = 64 << 10

// readUntil reads up to a byte, without it.
func readUntil(r *bufio.Reader, end byte) (string, error) {
	var whole []byte
	for {
		part, err := r.ReadSlice(end)
		whole = append(whole, part...)
		if len(whole) > maxRecordBytes {
			return "", errTruncated
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
