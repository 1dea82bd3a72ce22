package main

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"strconv"
	"strings"

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
		"--no-config", "--color=never", "--no-messages", "--null", "--with-filename", "--stats", "--no-follow",
		"--no-ignore-dot", "--no-require-git", "--glob=!" + gitDir + "/", "--sort=none",
	}
	add := func(yes bool, arg string) {
		if yes {
			args = append(args, arg)
		}
	}
	add(!q.ignore, "--no-ignore")
	add(q.hidden, "--hidden")
	add(!q.recursive, "--max-depth=1")
	add(q.fold, "--ignore-case")
	add(!q.fold, "--case-sensitive")
	add(q.fixed, "--fixed-strings")
	add(q.text, "--text")
	if q.multiline {
		args = append(args, "--multiline", "--files-with-matches")
	} else {
		args = append(args, "--count")
	}
	// By types, not by --glob: a glob would bring back what .gitignore names.
	for _, glob := range narrowing(q) {
		args = append(args, "--type-add=wanted:"+glob, "--type=wanted")
	}
	return append(args, "--regexp="+q.plain(), "--", "./")
}

// narrowing returns globs of file names that let through all that the query wants, and perhaps more.
func narrowing(q *query) []string {
	if q.include != "" && !strings.Contains(q.include, "/") {
		return []string{q.include}
	}
	return q.globs
}

func (r *ripgrep) files(ctx context.Context, w *workspace.Workspace, path string, q *query, found func(string, int)) (tally, error) {
	var t tally
	var statistics string
	exit, said, err := r.run(ctx, w, path, r.arguments(q), environment(), func(out io.Reader) (err error) {
		statistics, err = counted(out, q.multiline, func(name string, lines int) {
			if name = strings.TrimPrefix(name, "./"); q.wants(name) {
				found(name, lines)
			}
		})
		return err
	})
	if err != nil {
		return t, err
	}
	t.searched = searched(statistics)
	if exit > 1 && strings.Contains(said, "regex") {
		return t, sdk.Errorf(sdk.InvalidArgument, "ripgrep does not understand the pattern: %s", said)
	}
	if exit > 1 && said != "" {
		t.failed = said
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

// counted reads records: a name, NUL, and unless only names are listed a number and a newline. A name can have any
// character but NUL, so nothing in it can pass for another record. What comes behind the last NUL is returned.
func counted(out io.Reader, namesOnly bool, found func(name string, lines int)) (rest string, err error) {
	r := bufio.NewReaderSize(out, 64<<10)
	for {
		name, err := readUntil(r, 0)
		if errors.Is(err, io.EOF) {
			return name, nil
		}
		if err != nil {
			return "", err
		}
		if namesOnly {
			found(name, 0)
			continue
		}
		number, err := readUntil(r, '\n')
		n, wrong := strconv.Atoi(number)
		if err != nil || wrong != nil || n < 0 {
			return "", errTorn
		}
		if n > 0 {
			found(name, n)
		}
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

// searched finds in ripgrep's statistics how many files it has searched.
func searched(statistics string) int {
	for line := range strings.SplitSeq(statistics, "\n") {
		if number, ok := strings.CutSuffix(line, " files searched"); ok {
			n, err := strconv.Atoi(number)
			if err == nil {
				return n
			}
		}
	}
	return 0
}
