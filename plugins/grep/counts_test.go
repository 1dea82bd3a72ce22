package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/picoclaw/picoclaw/sdk/guard"
	"github.com/picoclaw/picoclaw/sdk/sdktest"
	"github.com/picoclaw/picoclaw/sdk/workspace"
)

func ask(t *testing.T, p *sdktest.Plugin, call args) (grepOutput, string) {
	t.Helper()
	r := p.Call("grep", call)
	var out grepOutput
	if r.Err != nil {
		t.Fatalf("%v: %v", call, r.Err)
	}
	if err := json.Unmarshal(r.Structured, &out); err != nil {
		t.Fatal(err)
	}
	return out, r.Text
}

// What is left out is counted though there are matches elsewhere, whatever searches.
func TestSkippedFilesAreCounted(t *testing.T) {
	for name, e := range engines(t) {
		p := sdktest.Start(t, newPlugin(e), sdktest.Options{})
		write(t, p.Dir, map[string]string{
			"a.go": "needle\n", "b.go": "x\n", ".gitignore": "node_modules/\n*.log\ndeep/\\[x]*\ndeep/x*\n",
			"node_modules/a/b.go": "needle\n", "x.log": "needle\n",
			"sub/y.log": "x\n", "sub/node_modules/z.go": "needle\n", "deep/[x]1/f.go": "needle\n", "deep/x y /f.go": "needle\n",
			"deep/xé\n/f.go": "needle\n",
			"logo.png":       "\x89PNG\x00needle", "tool": "\x7fELF\x00",
		})
		for _, c := range []struct {
			call                     args
			total, ignored, searched int
			binary                   int
		}{
			{args{"pattern": "needle"}, 1, 7, 5, 1},
			{args{"pattern": "needle", "include": "*.go"}, 1, 5, 2, 0},
			{args{"pattern": "needle", "include": "**/*.go", "output": "count"}, 1, 5, 2, 0},
			{args{"pattern": "needle", "gitignore": false}, 7, 0, 12, 1},
			{args{"pattern": "need(le)", "include": "*.png", "gitignore": false}, 0, 0, 1, 1},
		} {
			out, text := ask(t, p, c.call)
			if out.Total != c.total || out.Ignored != c.ignored || out.FilesSearched != c.searched || out.Binary != c.binary {
				t.Errorf("%s %v: %s", name, c.call, text)
			}
			if c.ignored > 0 && !strings.Contains(text, fmt.Sprintf("%d files or directories that .gitignore names",
				c.ignored)) {
				t.Errorf("%s %v does not say it: %s", name, c.call, text)
			}
		}
	}
}

// A list of what to ignore that nobody can read to its end stops no engine, wherever it is.
func TestUnreadableIgnoreFileStopsNoEngine(t *testing.T) {
	for name, e := range engines(t) {
		p := sdktest.Start(t, newPlugin(e), sdktest.Options{})
		write(t, p.Dir, map[string]string{"a/b/c/f": "needle\n", "a/g": "needle\n", "a/.git/config": ""})
		for _, list := range []string{"a/b/.gitignore", "a/b/c/.ignore", "a/b/c/.rgignore", "a/.git/info/exclude"} {
			path := filepath.Join(p.Dir, filepath.FromSlash(list))
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := mkfifo(path); err != nil {
				t.Fatal(err)
			}
		}
		began := time.Now()
		out, text := ask(t, p, args{"pattern": "needle", "timeout": 20})
		if out.Total != 2 || out.Incomplete != "" {
			t.Errorf("%s, after %s: %s", name, time.Since(began), text)
		}
		if !strings.Contains(text, "a/b/.gitignore is not a regular file and was ignored") {
			t.Errorf("%s does not say it: %s", name, text)
		}
		if r := p.Call("find", args{"pattern": "g"}); !strings.Contains(r.Text,
			"a/b/.gitignore is not a regular file and was ignored") {
			t.Errorf("find does not say it: %s", r.Text)
		}
	}
}

// What can't be in a line is refused in the tool's own words, before any engine sees it.
func TestPatternsThatNoLineCanHave(t *testing.T) {
	for name, e := range engines(t) {
		p := sdktest.Start(t, newPlugin(e), sdktest.Options{Files: map[string]string{"a": "one\ntwo\n"}})
		for pattern, want := range map[string]string{
			`one\ntwo`:  "the pattern contains a line break, but lines are searched separately",
			`(a|b\x0a)`: "the pattern contains a line break, but lines are searched separately",
			`one[\n]`:   "the pattern contains a line break, but lines are searched separately",
			`a\x00`:     "the pattern contains a NUL byte, which no text has",
		} {
			r := p.Call("grep", args{"pattern": pattern})
			if r.Err.GetMessage() != want {
				t.Errorf("%s, %s: %q, %v", name, pattern, r.Text, r.Err)
			}
			if strings.Contains(r.Err.String(), "ripgrep") || strings.Contains(r.Err.String(), "--") {
				t.Errorf("%s, %s: a program's words: %v", name, pattern, r.Err)
			}
		}
	}
}

// Who asks for more results than one answer has gets as many as it has, where to go on, and is told.
func TestResultLimit(t *testing.T) {
	p := sdktest.Start(t, newPlugin(engines(t)["built-in"]), sdktest.Options{})
	write(t, p.Dir, map[string]string{"a": strings.Repeat("x\n", maxResults+5)})
	const note = " exceeds the maximum of 10000"
	for asked, said := range map[int]bool{maxResults: false, maxResults + 1: true, 1 << 40: true} {
		for tool, pattern := range map[string]string{"grep": "x", "find": "*"} {
			r := p.Call(tool, args{"pattern": pattern, "max_results": asked})
			if r.Err != nil {
				t.Errorf("%s of %d: %v", tool, asked, r.Err)
				continue
			}
			last := r.Text[strings.LastIndexByte(r.Text, '\n')+1:]
			if strings.Contains(last, note) != said {
				t.Errorf("%s of %d says %q", tool, asked, last)
			}
			var out grepOutput
			if err := json.Unmarshal(r.Structured, &out); err != nil {
				t.Fatal(err)
			}
			if tool == "grep" && (out.Count != maxResults || out.Next == "") {
				t.Errorf("%d of %d matches, next %q", out.Count, asked, out.Next)
			}
		}
	}
}

// slowEngine searches until its time is over, and does not say that it was.
type slowEngine struct{ builtinEngine }

func (slowEngine) findMatchingFiles(ctx context.Context, _ *workspace.Workspace, _ string, _ fileList, _ *grepQuery, _ func(string, int)) (searchStats,
	error) {
	<-ctx.Done()
	return searchStats{}, nil
}

func TestTimedOutSearchIsIncomplete(t *testing.T) {
	p := sdktest.Start(t, newPlugin([]searchEngine{slowEngine{}}), sdktest.Options{})
	write(t, p.Dir, map[string]string{"a": "x\n"})
	for _, output := range []string{"content", "count", "files"} {
		r := p.Call("grep", args{"pattern": "x", "timeout": 1, "output": output})
		if r.Err != nil || !strings.Contains(r.Text, "the search ended after 1s") {
			t.Errorf("%s: %q, %v", output, r.Text, r.Err)
		}
	}
}

// An ignore file outside the constraint of paths is none that leads out of the workspace.
func TestConstraintIsNotTakenForALink(t *testing.T) {
	p := sdktest.Start(t, newPlugin(nil), sdktest.Options{Files: map[string]string{"sub/f": "needle\n"},
		Policy: func(p *guard.Policy) { p.Paths = []string{filepath.Join(p.Workspace, "sub")} }})
	if out, text := ask(t, p, args{"pattern": "needle", "path": "sub"}); out.Total != 1 || strings.Contains(text, "honoured") {
		t.Errorf("%+v: %s", out, text)
	}
}
