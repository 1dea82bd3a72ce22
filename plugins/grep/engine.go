package main

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"unicode"

	"github.com/picoclaw/picoclaw/isolation"
	"github.com/picoclaw/picoclaw/sdk"
	"github.com/picoclaw/picoclaw/sdk/workspace"
)

// query is what to look for.
type query struct {
	pattern, include string
	recursive, fold  bool
	limit            int
}

// engine searches. Matches have file names relative to the path that is searched, "" for that path itself, and come
// in the order of the files' paths.
type engine interface {
	search(ctx context.Context, w *workspace.Workspace, path string, q query) (found []match, more bool, err error)
}

// installed is the best engine on this machine. Programs are looked for where the system puts them, not on a PATH.
func installed(l *isolation.Isolation) engine {
	for _, p := range []program{{name: "rg", arguments: ripgrepArguments}, {name: "grep", arguments: grepArguments}} {
		for _, dir := range []string{"/usr/bin", "/bin", "/usr/local/bin"} {
			p.path = filepath.Join(dir, p.name)
			if info, err := os.Stat(p.path); err == nil && info.Mode().IsRegular() {
				p.launcher = l
				return p
			}
		}
	}
	return walker{}
}

// check refuses what not every engine would understand the same way.
func (q query) check() error {
	if q.pattern == "" {
		return sdk.Errorf(sdk.InvalidArgument, "the pattern is empty")
	}
	if strings.ContainsAny(q.pattern, "\n\x00") {
		return sdk.Errorf(sdk.InvalidArgument, "the pattern has a line break or a NUL byte; lines are searched one by one")
	}
	if _, err := regexp.Compile(q.pattern); err != nil {
		return sdk.Errorf(sdk.InvalidArgument, "the pattern is not a regular expression: %v", err).
			WithHint("write a backslash before characters that are meant literally")
	}
	if _, err := filepath.Match(q.include, ""); err != nil || strings.HasPrefix(q.include, "!") {
		return sdk.Errorf(sdk.InvalidArgument, "include is not a glob: %q", q.include)
	}
	return nil
}

// shown is a file name that can't forge a line of output.
func shown(name string) string {
	if strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return strconv.Quote(name)
	}
	return name
}
