package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/picoclaw/picoclaw/sdk/sdktest"
)

// Odd contents and odd patterns have the same answer from every engine, and none of it is a program's own words.
func TestUnusualContentsAndPatterns(t *testing.T) {
	files := map[string]string{
		"utf16": "\xff\xfen\x00e\x00e\x00d\x00l\x00e\x00\n\x00", "utf16text": "\xff\xfe\x41\x42\n",
		"bom": "\xef\xbb\xbfneedle bom\n", "crlf": "needle\r\nend\r\n", "cr": "a\rneedle\rb\n",
		"bad\xff": "needle \xff\xfe\n", "kelvin": "K k \u212a \u017f s S ß ẞ İ i ı\n", "-e": "needle\n",
		"ctx": strings.Repeat("needle\nx\n", 5), "nonl": "needle",
		"sub/{a,b}.go": "needle\n", "sub/[x].go": "needle\n", "tabs": "\tneedle\v\f\n", "wide": "日本語 needle 日本\n",
	}
	calls := []args{}
	for _, pattern := range []string{
		"^needle", "needle$", "^\xef\xbb\xbf", "\\x{FEFF}", "needle\\r$", "needle.$", "\\r", "[^a]needle", "e{2}", "(n)(e)",
		"k", "\\x{212a}", "s", "[a-z]+$", "\\p{Han}+", "\\p{Lu}", "\\pL",
		"[[:upper:]]", "\\w+", "\\d*", "\\S+", "\\s+$", "\\v", "\\f", "\\Qa.b\\E", "(?s).needle", "(?m)^needle$", "(?U)n.*e",
		"(?i:N)eedle", "(?P<a>n)eedle", "(?-i)needle", "--", "-e", "-f/etc/passwd", "--pre=id",
		"needle|", "|", "()", "x*", "^$", "$^", ".", "\\B", "\\bneedle\\b", "\\Aneedle", "needle\\z", "[\\s\\S]", "[^\\n]+x",
		"ß", "\\x{1F600}", "n{1,1000}", "(?:n{10}){20}", "日", "[日-本]", "\\xff", "\\xc3",
	} {
		calls = append(calls, args{"pattern": pattern}, args{"pattern": pattern, "case_sensitive": false},
			args{"pattern": pattern, "multiline": true}, args{"pattern": pattern, "fixed_strings": true})
	}
	for _, more := range []args{
		{"context": 2}, {"context": 1, "max_results": 2}, {"include": "{crlf,bom}"}, {"include": "\\{a,b\\}.go"},
		{"include": "**/*.go"}, {"include": "sub/*"}, {"include": "/sub/*"}, {"include": "-e"},
		{"multiline": true, "output": "count"},
		{"output": "count", "context": 3}, {"max_results": 1}, {"max_results": 10000}, {"cursor": "99:zzz"},
		{"cursor": "0:../../etc"}, {"cursor": "1:ctx"}, {"path": "sub/"}, {"path": "./sub/../sub"}, {"path": "crlf"},
		{"path": "utf16"},
		{"path": "bad\xff"}, {"type": "go"}, {"type": "go", "include": "[[]*"}, {"hidden": false},
		{"recursive": false, "include": "sub/*"}, {"timeout": 600},
	} {
		more["pattern"] = "needle"
		calls = append(calls, more)
	}
	answers := map[string][]string{}
	for name, e := range engines(t) {
		p := sdktest.Start(t, newPlugin(e), sdktest.Options{})
		write(t, p.Dir, files)
		for _, call := range calls {
			r := p.Call("grep", call)
			said := ""
			if r.Err != nil {
				said = r.Err.GetMessage() + " " + r.Err.GetHint()
			} else {
				var out grepOutput
				if err := json.Unmarshal(r.Structured, &out); err != nil {
					t.Fatal(err)
				}
				out.Engine, out.Binary = "", 0 // of binary files, other parts may match
				data, err := json.Marshal(out)
				if err != nil {
					t.Fatal(err)
				}
				said = string(data)
			}
			if out := strings.ToLower(said); strings.Contains(out, "ripgrep") || strings.Contains(out, "rg:") ||
				strings.Contains(out, "--multiline") {
				t.Errorf("%s %v: a program's words: %s", name, call, said)
			}
			answers[name] = append(answers[name], strings.ReplaceAll(said, p.Dir, ""))
		}
	}
	for _, name := range []string{"grep", "built-in"} {
		for i, call := range calls {
			if answers["ripgrep"][i] != answers[name][i] {
				t.Errorf("%v:\nripgrep  %.600s\n%s %.600s", call, answers["ripgrep"][i], name, answers[name][i])
			}
		}
	}
}

// Files are told of while the program that found them still runs.
func TestResultsComeBeforeTheEnd(t *testing.T) {
	out, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = out.Close() }()
	seen, ended := make(chan string, 2), make(chan error, 1)
	go func() { ended <- parseCountRecords(out, func(name string, _ int) { seen <- name }) }()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	for _, name := range []string{"a", "b"} {
		if _, err := in.WriteString(name + "\x001\n"); err != nil {
			t.Fatal(err)
		}
		select {
		case got := <-seen:
			if got != name {
				t.Errorf("%q came, not %q", got, name)
			}
		case <-ctx.Done():
			t.Fatalf("%q did not come while the program ran", name)
		}
	}
	_ = in.Close()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// A workspace's directories are never left through a link that is put in a directory's place.
func TestWalkFollowsNoLinks(t *testing.T) {
	p := sdktest.Start(t, newPlugin(engines(t)["built-in"]), sdktest.Options{Files: map[string]string{"in/f": "needle\n"}})
	outside := t.TempDir()
	write(t, outside, map[string]string{"secret": "needle\n"})
	for _, link := range []string{"out", "in/out"} {
		if err := os.Symlink(outside, filepath.Join(p.Dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	if r := p.Call("find", args{"pattern": "**"}); r.Err != nil || strings.Contains(r.Text, "secret") {
		t.Errorf("%s, %v", r.Text, r.Err)
	}
}
