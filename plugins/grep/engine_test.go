package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"

	"github.com/picoclaw/picoclaw/isolation"
	"github.com/picoclaw/picoclaw/sdk/sdktest"
)

// engines are all three, from the places where the system has them.
func engines(t *testing.T) map[string]engine {
	t.Helper()
	l, err := isolation.Configure(isolation.Config{}, hclog.NewNullLogger())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	all := map[string]engine{"ours": walker{}}
	for name, arguments := range map[string]func(query, bool) []string{"rg": ripgrepArguments, "grep": grepArguments} {
		path := filepath.Join("/usr/bin", name)
		if _, err := os.Stat(path); err != nil {
			t.Fatalf("%v; .ci/install installs it", err)
		}
		all[name] = program{name: name, path: path, launcher: l, arguments: arguments}
	}
	return all
}

func TestTheEnginesAgree(t *testing.T) {
	files := map[string]string{
		"a.txt": "one\nthe needle\nNeedle\n", "sub/b.go": "func needle() {}\n", "sub/deep/c.txt": "no end needle",
		".hidden/d": "needle\n", ".git/e": "needle\n", ".gitignore": "ignored\n", "ignored": "needle\n",
		"binary": "needle\x00\n", "-rf": "needle\n", "--pre=x": "needle\n", "crlf": "needle\r\nx\r\n", "empty": "",
		"utf8": "ünïcödé needle ß\n", "latin1": "caf\xe9 needle\n", "colon:1:x": "needle\n",
	}
	calls := []map[string]any{
		{"pattern": "needle"}, {"pattern": "needle", "case_sensitive": false}, {"pattern": "^needle$"},
		{"pattern": "needle", "include": "*.go"}, {"pattern": "needle", "recursive": false}, {"pattern": "needle", "max_results": 3},
		{"pattern": "n[e]{2}dle|one"}, {"pattern": "needle", "path": "sub"}, {"pattern": "needle", "path": "a.txt"},
		{"pattern": "needle", "path": "-rf"}, {"pattern": "-e"}, {"pattern": "--pre=sh"}, {"pattern": "ß"}, {"pattern": "nothing"},
	}
	answers := map[string][]string{}
	for name, e := range engines(t) {
		p := sdktest.Start(t, newPlugin(e), sdktest.Options{Files: files})
		if err := os.Symlink("/etc", filepath.Join(p.Dir, "link")); err != nil {
			t.Fatal(err)
		}
		for _, call := range calls {
			r := p.Call("grep", call)
			if r.Err != nil {
				t.Errorf("%s %v: %v", name, call, r.Err)
				continue
			}
			var out grepOutput
			if err := json.Unmarshal(r.Structured, &out); err != nil {
				t.Fatal(err)
			}
			for i := range out.Matches {
				out.Matches[i].File, _ = filepath.Rel(p.Dir, out.Matches[i].File)
			}
			data, err := json.Marshal(out)
			if err != nil {
				t.Fatal(err)
			}
			answers[name] = append(answers[name], string(data))
		}
	}
	for i, call := range calls {
		for _, other := range []string{"grep", "ours"} {
			if call["max_results"] != nil {
				continue // which of the matches come first is each engine's own
			}
			if diff := cmp.Diff(answers["rg"][i], answers[other][i]); diff != "" {
				t.Errorf("%v: ripgrep and %s differ:\n%s", call, other, diff)
			}
		}
	}
}
