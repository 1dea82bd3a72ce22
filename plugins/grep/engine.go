package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/picoclaw/picoclaw/internal/stdio"
	"github.com/picoclaw/picoclaw/isolation"
	"github.com/picoclaw/picoclaw/sdk"
	"github.com/picoclaw/picoclaw/sdk/workspace"
)

// searchEngine is a program or Go code that finds the files with matches among listed files. It treats every file as
// text.
type searchEngine interface {
	name() string // shown to the agent
	// supports reports whether the engine understands a query.
	supports(q *grepQuery) bool
	// findMatchingFiles calls found for each matching file, in any order and from several goroutines. The names
	// are relative to the directory, and lines is the number of matching lines or 0 if unknown.
	findMatchingFiles(ctx context.Context, w *workspace.Workspace, dir string, files fileList, q *grepQuery,
		found func(name string, lines int)) (searchStats, error)
}

// searchStats are the numbers of files that an engine did not search.
type searchStats struct {
	tooLarge int
	closed   int    // files that may not be read
	failed   string // why the search may have missed some files; "" if it has not
}

// installedEngines returns the search engines on this machine, best first. The last one supports every query.
// Programs are only looked up in system directories, not in PATH.
func installedEngines(l *isolation.Starter) []searchEngine {
	var engines []searchEngine
	if path := findSystemProgram("rg"); path != "" {
		acceptAny := func(*grepQuery) bool { return true }
		engines = append(engines, &programEngine{"ripgrep", path, l, acceptAny, ripgrepArguments, fileList.mergeWholeDirs})
	}
	if path := findSystemProgram("grep"); path != "" {
		engines = append(engines, &programEngine{"grep", path, l, isPortableQuery, gnuGrepArguments, func(files fileList) []string { return files.names }})
	}
	return append(engines, builtinEngine{})
}

func findSystemProgram(name string) string {
	for _, dir := range []string{"/usr/bin", "/bin", "/usr/local/bin"} {
		path := filepath.Join(dir, name)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return path
		}
	}
	return ""
}

// chooseEngine returns the first engine that supports a query.
func chooseEngine(engines []searchEngine, q *grepQuery) searchEngine {
	for _, e := range engines {
		if e.supports(q) {
			return e
		}
	}
	return builtinEngine{}
}

// builtinEngine searches files in this process, without a search program.
type builtinEngine struct{}

func (builtinEngine) name() string             { return "built-in" }
func (builtinEngine) supports(*grepQuery) bool { return true }

func (builtinEngine) findMatchingFiles(ctx context.Context, w *workspace.Workspace, dir string, files fileList, q *grepQuery,
	found func(string, int)) (searchStats, error) {
	var tooLarge, closed atomic.Int64
	var workers errgroup.Group
	workers.SetLimit(runtime.GOMAXPROCS(0))
	for _, name := range files.names {
		if ctx.Err() != nil {
			break
		}
		workers.Go(func() error {
			data, err := readSearchedFile(w, joinPath(dir, name))
			switch {
			case errors.Is(err, errLarge):
				tooLarge.Add(1)
			case errors.Is(err, fs.ErrPermission):
				closed.Add(1)
			case err == nil: // or it is gone
				if n := q.countMatches(data); n > 0 {
					found(name, n)
				}
			}
			return nil
		})
	}
	err := workers.Wait()
	return searchStats{tooLarge: int(tooLarge.Load()), closed: int(closed.Load())}, err
}

// programEngine runs a search program.
type programEngine struct {
	label, path string
	launcher    *isolation.Starter
	accepts     func(*grepQuery) bool
	arguments   func(*grepQuery) []string // without the paths
	paths       func(fileList) []string   // to search
}

func (p *programEngine) name() string               { return p.label }
func (p *programEngine) supports(q *grepQuery) bool { return p.accepts(q) }

// programOptions are the options that ripgrep and grep share. With them, the programs print count records.
var programOptions = []string{"--color=never", "--null", "--with-filename", "--count", "--text"}

// ripgrepArguments returns ripgrep's arguments. A pattern or name can't act as an option, and configuration files are
// ignored.
func ripgrepArguments(q *grepQuery) []string {
	args := append([]string{"--no-config", "--sort=none", "--encoding=none", "--no-ignore", "--max-depth=1"}, programOptions...)
	if q.hidden {
		args = append(args, "--hidden")
	}
	if q.fold {
		args = append(args, "--ignore-case")
	}
	if q.fixed {
		args = append(args, "--fixed-strings")
	}
	if q.multiline {
		args = append(args, "--multiline")
	}
	return append(args, "--regexp="+q.ripgrepPattern(), "--")
}

// isPortableQuery accepts only queries that grep can't misunderstand: fixed strings, and patterns with the syntax that
// all dialects share.
func isPortableQuery(q *grepQuery) bool {
	return !q.multiline && (q.fixed || isPortablePattern(q.pattern))
}

// isPortablePattern reports whether a pattern means the same as a POSIX extended regular expression.
func isPortablePattern(pattern string) bool {
	quantified := true // at the beginning there is nothing to repeat
	for i := 0; i < len(pattern); i++ {
		c := pattern[i]
		switch {
		case c == '\\':
			if i++; i == len(pattern) || !strings.ContainsRune(`.*+?()[]{}|^$\/-`, rune(pattern[i])) {
				return false
			}
			quantified = false
		case strings.IndexByte("*+?", c) >= 0:
			if quantified {
				return false
			}
			quantified = true
		case strings.IndexByte("()|^$", c) >= 0:
			quantified = c != ')'
		case strings.IndexByte("[]{}", c) >= 0 || c >= 0x80:
			return false
		default:
			quantified = false
		}
	}
	return !strings.Contains(pattern, "||") && !strings.Contains(pattern, "(|") && !strings.Contains(pattern, "|)") &&
		!strings.Contains(pattern, "()") && !strings.HasPrefix(pattern, "|") && !strings.HasSuffix(pattern, "|")
}

func gnuGrepArguments(q *grepQuery) []string {
	args := append([]string{"--devices=skip", "--directories=skip"}, programOptions...)
	if q.fold {
		args = append(args, "--ignore-case")
	}
	if q.fixed {
		return append(args, "--fixed-strings", "--regexp="+q.pattern, "--")
	}
	return append(args, "--extended-regexp", "--regexp="+allowPosixCRLF(q.pattern), "--")
}

// maxPathBytes limits the paths in the arguments of one process.
const maxPathBytes = 256 << 10

func (p *programEngine) findMatchingFiles(ctx context.Context, w *workspace.Workspace, dir string, files fileList, q *grepQuery,
	found func(string, int)) (searchStats, error) {
	var t searchStats
	for paths := p.paths(files); len(paths) > 0; {
		args, size := p.arguments(q), 0
		for len(paths) > 0 && size < maxPathBytes {
			args, size = append(args, "./"+paths[0]), size+len(paths[0])
			paths = paths[1:]
		}
		exit, said, err := p.runProgram(ctx, w, dir, args, func(out io.Reader) error {
			return parseCountRecords(out, func(name string, lines int) {
				if lines > 0 {
					found(path.Clean(name), lines)
				}
			})
		})
		if err != nil {
			return t, err
		}
		t.closed += said.closed
		if exit > 1 && strings.Contains(said.first, "regex") {
			return t, sdk.Errorf(sdk.InvalidArgument,
				"the pattern can't be searched for: it is too large, or can match a line break").
				WithHint("shorten the pattern; multiline allows matches across line breaks")
		}
		if exit > 1 && said.first != "" {
			t.failed = said.first
		}
	}
	return t, nil
}

// runProgram runs the program in an open directory and passes its output to parse. The program ends with the context.
func (p *programEngine) runProgram(ctx context.Context, w *workspace.Workspace, path string, args []string,
	parse func(io.Reader) error) (exit int, said programStderr, err error) {
	dir, err := w.OpenDir(path)
	if err != nil {
		return 0, said, err
	}
	defer func() { _ = dir.Close() }()
	cmd := exec.Command(p.path, args...)
	cmd.Dir = "/proc/self/fd/" + strconv.Itoa(int(dir.Fd()))
	cmd.Env = []string{"LC_ALL=C.UTF-8", "PATH=/usr/bin:/bin"}
	pipes, err := stdio.AttachPipes(cmd)
	if err != nil {
		return 0, said, err
	}
	defer pipes.Close()
	_ = pipes.In.Close() // it reads nothing
	process, err := p.launcher.Start(cmd, isolation.Profile{Name: "search", Exec: true})
	pipes.CloseChildEnds()
	if err != nil {
		return 0, said, fmt.Errorf("start %s: %w", p.path, err)
	}
	defer process.Kill()
	defer context.AfterFunc(ctx, process.Kill)()
	words := make(chan programStderr, 1)
	go func() { words <- readStderr(pipes.Err) }()
	err = parse(pipes.Out)
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
	pipes.SetReadDeadlines()
	return ended.Code, <-words, nil
}

// programStderr is the beginning of a program's standard error.
type programStderr struct {
	first  string // the beginning, without lines about deleted and unreadable files
	closed int    // how many files it may not read
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
		if number := strings.LastIndex(text, " (os error "); number >= 0 {
			text = text[:number] // only ripgrep prints it
		}
		switch {
		case strings.HasSuffix(text, "Permission denied") || strings.HasSuffix(text, "Operation not permitted"):
			c.closed++
		case strings.HasSuffix(text, "No such file or directory"): // deleted since it was listed
		case kept.Len()+len(line) <= maxStderrBytes:
			kept.Write(line)
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			c.first = strings.TrimSpace(kept.String())
			return c
		}
	}
}

// errTruncated is the error for output that ends inside a record.
var errTruncated = errors.New("the search program's output ends too early")

// parseCountRecords parses records of name, NUL, number and newline. A file name can't imitate a record.
func parseCountRecords(out io.Reader, found func(name string, lines int)) error {
	r := bufio.NewReaderSize(out, 64<<10)
	for {
		name, nameErr := r.ReadString(0)
		if errors.Is(nameErr, io.EOF) && name == "" {
			return nil
		}
		number, numberErr := r.ReadString('\n')
		n, parseErr := strconv.Atoi(strings.TrimSuffix(number, "\n"))
		if nameErr != nil || numberErr != nil || parseErr != nil || n < 0 {
			return errTruncated
		}
		found(strings.TrimSuffix(name, "\x00"), n)
	}
}
