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

// ripgrepEngine runs ripgrep.
type ripgrepEngine struct{ engineExecutable }

func (*ripgrepEngine) name() string             { return "ripgrep" }
func (*ripgrepEngine) supports(*grepQuery) bool { return true }

// arguments returns ripgrep's arguments. A pattern or name can't act as an option, and configuration files are ignored.
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
	for _, glob := range includedNameGlobs(q) {
		args = append(args, "--type-add=wanted:"+glob, "--type=wanted")
	}
	return append(args, "--regexp="+q.ripgrepPattern())
}

// includedNameGlobs returns globs that match all included names, and possibly others.
func includedNameGlobs(q *grepQuery) []string {
	if q.include != "" && !strings.Contains(q.include, "/") {
		return []string{q.include}
	}
	return q.globs
}

func (r *ripgrepEngine) findMatchingFiles(ctx context.Context, w *workspace.Workspace, path string, q *grepQuery,
	found func(string, int)) (searchStats, error) {
	var t searchStats
	var left excludedPaths
	var wanted atomic.Int64
	suspects := binaryFileCounter{w: w, path: path, query: q}
	defer suspects.finishCount()
	err := q.walkFiles(ctx, w, path, &t, func(name string) {
		wanted.Add(1)
		suspects.queueMaybeBinary(name)
	}, left.addPath)
	if err != nil {
		return t, err
	}
	t.searched = int(wanted.Load())
	args := append(append(r.arguments(q), left.ripgrepGlobs()...), "--", "./")
	exit, said, err := r.runProgram(ctx, w, path, args, searchEnvironment(), func(out io.Reader) error {
		return parseCountRecords(out, func(name string, lines int) {
			if name = strings.TrimPrefix(name, "./"); lines == 0 || !q.includesFile(name) || left.excludes(name) {
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
	t.binary, t.moreBinary = suspects.finishCount(), true
	t.closed = said.closed
	t.searched = max(0, t.searched-t.binary-t.closed)
	if exit > 1 && strings.Contains(said.first, "regex") {
		return t, sdk.Errorf(sdk.InvalidArgument,
			"the pattern can't be searched for: it is too large, or can match a line break").
			WithHint("shorten the pattern; multiline allows matches across line breaks")
	}
	if exit > 1 && said.first != "" {
		t.failed = said.first
	}
	return t, nil
}

// searchEnvironment returns a search program's environment: locale, PATH, and variables that locate git's global ignore
// file.
func searchEnvironment() []string {
	env := []string{"LC_ALL=C.UTF-8", "PATH=/usr/bin:/bin"}
	for _, name := range []string{"HOME", "XDG_CONFIG_HOME"} {
		if value := os.Getenv(name); value != "" {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// errTruncated is the error for output that ends inside a record.
var errTruncated = errors.New("the search program's output ends too early")

// parseCountRecords parses records of name, NUL, number and newline. A file name can't imitate a record.
func parseCountRecords(out io.Reader, found func(name string, lines int)) error {
	r := bufio.NewReaderSize(out, 64<<10)
	for {
		name, err := readField(r, 0)
		if errors.Is(err, io.EOF) && name == "" {
			return nil
		}
		if err != nil {
			return errTruncated
		}
		number, err := readField(r, '\n')
		n, wrong := strconv.Atoi(number)
		if err != nil || wrong != nil || n < 0 {
			return errTruncated
		}
		found(name, n)
	}
}

// maxFieldBytes limits the name or number in a record.
const maxFieldBytes = 64 << 10

// readField returns the data before the next byte end.
func readField(r *bufio.Reader, end byte) (string, error) {
	var whole []byte
	for {
		part, err := r.ReadSlice(end)
		whole = append(whole, part...)
		if len(whole) > maxFieldBytes {
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
