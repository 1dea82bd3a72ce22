package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"

	"github.com/picoclaw/picoclaw/isolation"
	"github.com/picoclaw/picoclaw/sdk/sdktest"
)

type args = map[string]any

// engines are all three, from the places where the system has them.
func engines(t testing.TB) map[string][]searchEngine {
	t.Helper()
	l, err := isolation.NewStarter(isolation.Config{}, hclog.NewNullLogger())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	all := installedEngines(l)
	if len(all) != 3 {
		t.Fatal("ripgrep or grep is missing; .ci/install installs them")
	}
	return map[string][]searchEngine{"ripgrep": all[:1], "grep": all[1:], "built-in": all[2:]}
}

func write(t testing.TB, dir string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// awkward is a tree with everything that engines could disagree on.
func awkward(t testing.TB, dir string) {
	t.Helper()
	write(t, dir, map[string]string{
		"a.txt": "one\nthe needle\nNeedle\n", "sub/b.go": "func needle() {}\n", "sub/deep/c.txt": "no end needle",
		".hidden/d": "needle\n", ".git/e": "needle\n", ".git/info/exclude": "excluded\n", "excluded": "needle\n",
		".gitignore": "# comment\nignored\n*.log\n!kept.log\n/build/\n", "ignored": "needle\n", "x.log": "needle\n",
		"kept.log": "needle\n",
		"build/o":  "needle\n", "sub/build/o": "needle\n", "sub/.gitignore": "!x.log\n/deeper\n", "sub/x.log": "needle\n",
		"sub/deeper/f": "needle\n",
		"binary":       "needle\x00\n", "-rf": "needle\n", "--pre=x": "needle\n", "crlf": "needle\r\nx\r\n", "empty": "",
		"utf8": "ünïcödé needle ß\nÄ\n", "latin1": "caf\xe9 needle\n", "colon:1:x": "needle\n", "new\nline": "needle\n",
		"a.b/f": "needle\n", "a-b": "needle\n", "a/f": "needle\nneedle\n", "a/\x1b[31m": "needle\n", ".ignore": "a.txt\n",
		".rgignore": "a.txt\n",
		"dup":       "needle needle\n", "long": strings.Repeat("x", 3000) + "needle" + strings.Repeat("y", 3000) + "\n",
		"under_score":      "aneedle needle_ needle1\n",
		"repo/.git/config": "", "repo/x.log": "needle\n", "late": "needle\n" + strings.Repeat("x\n", 100_000) + "\x00",
		"digits": "٣ needle 3\n", "blank": "\n\nneedle\n\n",
	})
	for _, link := range []string{"link", "sub/out"} {
		if err := os.Symlink("/etc", filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("a.txt", filepath.Join(dir, "alias")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(".", filepath.Join(dir, "loop")); err != nil {
		t.Fatal(err)
	}
	if err := mkfifo(filepath.Join(dir, "fifo")); err != nil {
		t.Fatal(err)
	}
}

func TestEnginesAgree(t *testing.T) {
	calls := []args{
		{"pattern": "needle"}, {"pattern": "needle", "case_sensitive": false}, {"pattern": "^needle$"},
		{"pattern": "needle$"},
		{"pattern": "needle", "include": "*.go"}, {"pattern": "needle", "include": "sub/**"},
		{"pattern": "needle", "include": "*.{go,txt}"},
		{"pattern": "needle", "include": "*.log"}, {"pattern": "needle", "recursive": false},
		{"pattern": "needle", "max_results": 3},
		{"pattern": "n[e]{2}dle|one"}, {"pattern": "needle|one"}, {"pattern": "(need)(le)+"},
		{"pattern": "needle", "path": "sub"},
		{"pattern": "needle", "path": "a.txt"}, {"pattern": "needle", "path": "-rf"},
		{"pattern": "needle", "path": "./--pre=x"},
		{"pattern": "-e"}, {"pattern": "--pre=sh"}, {"pattern": "ß"}, {"pattern": "ä", "case_sensitive": false},
		{"pattern": `\bneedle\b`},
		{"pattern": `\w+ needle`}, {"pattern": `\d needle \d`}, {"pattern": `[[:alpha:]]+le`}, {"pattern": `\Aneedle\z`},
		{"pattern": `(?i)NEEDLE`},
		{"pattern": "a.c", "fixed_strings": true}, {"pattern": "needle()", "fixed_strings": true},
		{"pattern": "needle", "gitignore": false},
		{"pattern": "needle", "hidden": false}, {"pattern": "needle", "type": "go"},
		{"pattern": "needle", "type": "txt", "include": "sub/**"},
		{"pattern": "needle", "output": "files"}, {"pattern": "needle", "output": "count", "max_results": 5},
		{"pattern": "needle", "context": 1},
		{"pattern": "(?s)one.the", "multiline": true}, {"pattern": "needle\\nneedle", "multiline": true},
		{"pattern": "^needle$", "multiline": true},
		{"pattern": "x*"}, {"pattern": "$"}, {"pattern": "needle", "cursor": "1:a/f"},
		{"pattern": "needle", "cursor": "0:a/f", "output": "files"},
		{"pattern": "nothing at all"}, {"pattern": `\.`}, {"pattern": "{"}, {"pattern": "a{"},
	}
	answers := map[string][]string{}
	for name, e := range engines(t) {
		p := sdktest.Start(t, newPlugin(e), sdktest.Options{})
		awkward(t, p.Dir)
		for _, call := range calls {
			r := p.Call("grep", call)
			if r.Err != nil {
				answers[name] = append(answers[name], fmt.Sprintf("%v: %v", call, r.Err.GetMessage()))
				continue
			}
			var out grepOutput
			if err := json.Unmarshal(r.Structured, &out); err != nil {
				t.Fatal(err)
			}
			out.Engine = "" // which differs
			data, err := json.MarshalIndent(out, "", " ")
			if err != nil {
				t.Fatal(err)
			}
			answers[name] = append(answers[name], fmt.Sprintf("%v: %s", call, strings.ReplaceAll(string(data), p.Dir, "")))
		}
	}
	for _, name := range []string{"grep", "built-in"} {
		for i := range calls {
			if diff := cmp.Diff(answers["ripgrep"][i], answers[name][i]); diff != "" {
				t.Errorf("%v: ripgrep and %s disagree:\n%s", calls[i], name, diff)
			}
		}
	}
}

// What git leaves alone, and nothing else, is left alone.
func TestGitIgnoresTheSame(t *testing.T) {
	p := sdktest.Start(t, newPlugin(engines(t)["built-in"]), sdktest.Options{})
	rules := []string{
		"*.log", "!keep.log", "/top", "dir/", "a/b", "a/**/z", "**/deep", "x/**", "!x/y", "[ab]c", "q?", `\#hash`, `\!bang`,
		"sp ", `sp\ `, "{br}", "*.tmp", "!imp/*.tmp",
		"**/foo/bar", "only/*/this", "we[!x]rd", "trail/", "!trail/back", "ünï",
	}
	names := []string{
		"a.log", "keep.log", "sub/keep.log", "top", "sub/top", "dir/f", "sub/dir/f", "dirfile", "a/b", "sub/a/b", "a/z",
		"a/1/2/z", "deep", "s/deep", "x/y", "x/z/w", "ac", "bc", "cc",
		"q1", "q12", "#hash", "!bang", "sp", "sp ", "{br}", "br", "n.tmp", "imp/n.tmp", "foo/bar", "p/foo/bar", "only/1/this",
		"only/1/2/this", "weird", "wexrd", "trail/f", "trail/back",
		"ünï", "unï",
	}
	files := map[string]string{".gitignore": strings.Join(rules, "\n") + "\n", "sub/.gitignore": "!top\nlocal\n",
		"sub/local": "", "local": ""}
	for _, name := range names {
		files[name] = ""
	}
	delete(files, "dirfile")
	write(t, p.Dir, files)
	git := func(stdin string, a ...string) string {
		cmd := exec.Command("git", a...)
		cmd.Dir = p.Dir
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
		cmd.Stdin = strings.NewReader(stdin)
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("git %v: %v", a, err)
		}
		return string(out)
	}
	git("", "init", "-q")
	want := map[string]bool{}
	for _, name := range strings.Split(strings.TrimSuffix(git("", "ls-files", "-z", "--others", "--exclude-standard"),
		"\x00"), "\x00") {
		want[name] = true
	}
	var out findOutput
	r := p.Call("find", args{"pattern": "*", "type": "file", "max_results": 1000})
	if err := json.Unmarshal(r.Structured, &out); r.Err != nil || err != nil {
		t.Fatal(r.Err, err)
	}
	got := map[string]bool{}
	for _, f := range out.Files {
		got[strings.TrimPrefix(f.Path, p.Dir+"/")] = true
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("git (-) and we (+) disagree:\n%s", diff)
	}
}

// Page by page every match comes once, in order, however many each page has.
func TestPagesContainEachMatchOnce(t *testing.T) {
	for name, e := range engines(t) {
		for _, call := range []args{{"pattern": "needle"}, {"pattern": "needle", "output": "files"},
			{"pattern": "e", "context": 1}, {"pattern": "needle", "path": "a/f"}} {
			p := sdktest.Start(t, newPlugin(e), sdktest.Options{})
			awkward(t, p.Dir)
			all := pages(t, p, call, 10_000)
			for _, size := range []int{1, 3, 7} {
				if diff := cmp.Diff(all, pages(t, p, call, size)); diff != "" {
					t.Errorf("%s %v in pages of %d:\n%s", name, call, size, diff)
				}
			}
		}
	}
}

func pages(t *testing.T, p *sdktest.Plugin, call args, size int) (all []string) {
	t.Helper()
	call["max_results"] = size
	delete(call, "cursor")
	for range 1000 {
		r := p.Call("grep", call)
		var out grepOutput
		if err := json.Unmarshal(r.Structured, &out); r.Err != nil || err != nil {
			t.Fatal(r.Err, err)
		}
		for _, m := range out.Matches {
			all = append(all, fmt.Sprintf("%s:%d:%d", m.File, m.Line, m.Column))
		}
		for _, f := range out.Files {
			all = append(all, f.File)
		}
		if out.Count > size {
			t.Fatalf("a page of %d has %d", size, out.Count)
		}
		if out.Next == "" {
			return all
		}
		call["cursor"] = out.Next
	}
	t.Fatal("the pages don't end")
	return nil
}

func TestGrepText(t *testing.T) {
	p := sdktest.Start(t, newPlugin(engines(t)["ripgrep"]), sdktest.Options{Files: map[string]string{
		"main.py": "a\nraise ValueError('invalid')\nb\n", "x.log": "hidden treasure\n", ".gitignore": "*.log\n",
		"bin":        "\x00treasure",
		"evil\nname": "ValueError\n", "esc": "\x1b[2J ValueError\n",
	}})
	r := p.Call("grep", args{"pattern": "ValueError", "path": ".", "include": "*.py", "context": 1})
	want := p.Dir + "/main.py-1- a\n" + p.Dir + "/main.py:2: raise ValueError('invalid')\n" + p.Dir + "/main.py-3- b\n" +
		"[1 match in 1 file, 1 file searched]"
	if r.Err != nil || r.Text != want {
		t.Errorf("%q, %v; want %q", r.Text, r.Err, want)
	}
	r = p.Call("grep", args{"pattern": "treasure"})
	if !strings.HasPrefix(r.Text, "[no matches, ") || !strings.Contains(r.Text,
		"of those, 2 have matches: "+p.Dir+"/bin (binary), "+p.Dir+"/x.log (ignored)]") {
		t.Errorf("%q, %v", r.Text, r.Err)
	}
	r = p.Call("grep", args{"pattern": "ValueError"})
	if lines := strings.Split(r.Text, "\n"); len(lines) != 4 || strings.ContainsRune(r.Text, '\x1b') {
		t.Errorf("a name or a text forges lines, or commands the terminal: %q", r.Text)
	}
	for pattern, want := range map[string]string{
		"a(b":     "the pattern is not a regular expression: missing closing ) at position 4, its end",
		"ab[z-a]": `the pattern is not a regular expression: invalid character class range at position 4: "z-a"`,
		"x(?=y)":  `the pattern is not a regular expression: invalid or unsupported Perl syntax at position 2: "(?="`,
		"":        "the pattern is empty",
		"a\nb":    "the pattern has a line break; lines are searched one by one",
	} {
		if r := p.Call("grep", args{"pattern": pattern}); r.Err.GetMessage() != want {
			t.Errorf("%q: %q, want %q", pattern, r.Err.GetMessage(), want)
		}
	}
	for _, call := range []args{{"pattern": "a", "type": "klingon"}, {"pattern": "a", "cursor": "x"},
		{"pattern": "a", "include": "[a"}, {"pattern": "a", "path": "missing"},
		{"pattern": "a", "path": "/etc"}, {"pattern": "a", "path": "../.."}, {"pattern": strings.Repeat("a", 5000)}} {
		if r := p.Call("grep", call); r.Err == nil {
			t.Errorf("%v: %s", call, r.Text)
		}
	}
}

func TestSpecialFilesAndLinksAreNotFollowed(t *testing.T) {
	for name, e := range engines(t) {
		p := sdktest.Start(t, newPlugin(e), sdktest.Options{Files: map[string]string{"f": "needle\n"}})
		for i := range 8 {
			if err := mkfifo(filepath.Join(p.Dir, fmt.Sprint("fifo", i))); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Symlink("/proc/self/root/etc", filepath.Join(p.Dir, "out")); err != nil {
			t.Fatal(err)
		}
		if r := p.Call("grep", args{"pattern": "needle|root"}); r.Err != nil || strings.Count(r.Text, "\n") != 1 {
			t.Errorf("%s: %q, %v", name, r.Text, r.Err)
		}
		if r := p.Call("grep", args{"pattern": "x", "path": "fifo1"}); r.Err.GetCode() != "invalid_argument" {
			t.Errorf("%s, a FIFO by name: %v", name, r.Err)
		}
		if r := p.Call("grep", args{"pattern": "root", "path": "out"}); r.Err.GetCode() != "access_denied" {
			t.Errorf("%s, a way out: %q, %v", name, r.Text, r.Err)
		}
	}
}
