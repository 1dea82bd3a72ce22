package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/picoclaw/picoclaw/sdk/sdktest"
)

// Whoever made the workspace can't have a search wait, or read without end, by a list of what to ignore.
func TestUnusualIgnoreFiles(t *testing.T) {
	for name, make := range map[string]func(path string) error{
		"a FIFO":             mkfifo,
		"a link to a device": func(path string) error { return os.Symlink("/dev/zero", path) },
		"a huge file": func(path string) error {
			return os.WriteFile(path,
				[]byte(strings.Repeat("x\n", maxIgnoreBytes)), 0o600)
		},
		"a directory":           func(path string) error { return os.Mkdir(path, 0o700) },
		"a link that is broken": func(path string) error { return os.Symlink("nothing", path) },
	} {
		for _, list := range []string{".gitignore", ".git/info/exclude"} {
			t.Run(name+" for "+list, func(t *testing.T) {
				p := sdktest.Start(t, newPlugin(engines(t)["ripgrep"]), sdktest.Options{})
				write(t, p.Dir, map[string]string{"sub/a": "needle\n", ".git/config": ""})
				path := filepath.Join(p.Dir, filepath.FromSlash(list))
				if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := make(path); err != nil {
					t.Fatal(err)
				}
				for _, dir := range []string{".", "sub"} {
					r := p.Call("grep", args{"pattern": "needle", "path": dir, "timeout": 5})
					var out grepOutput
					if err := json.Unmarshal(r.Structured, &out); err != nil || r.Err != nil {
						t.Fatal(err, r.Err)
					}
					if out.Total != 1 || out.Incomplete != "" {
						t.Errorf("in %s: %s", dir, r.Text)
					}
					if strings.Contains(name, "directory") || strings.Contains(name, "broken") {
						continue // git takes no notice of these, and nobody is led astray
					}
					if !strings.Contains(r.Text, "was ignored") {
						t.Errorf("in %s it is not said: %s", dir, r.Text)
					}
				}
			})
		}
	}
}

// However a name is written, the search goes on behind it.
func TestCursorsOfUnusualNames(t *testing.T) {
	p := sdktest.Start(t, newPlugin(engines(t)["ripgrep"]), sdktest.Options{})
	names := map[string]string{}
	for _, name := range []string{"a", "b\xff\xfd", "c\x1b[2J", "d e", "f%2Fg", "h\ni", "j:1", "z"} {
		names["dir/"+name] = "needle\nneedle\n"
	}
	write(t, p.Dir, names)
	call, seen := args{"pattern": "needle", "max_results": 3}, 0
	for range names {
		r := p.Call("grep", call)
		var out grepOutput
		if err := json.Unmarshal(r.Structured, &out); err != nil || r.Err != nil {
			t.Fatal(err, r.Err)
		}
		seen += len(out.Matches)
		if out.Next == "" {
			break
		}
		if !strings.Contains(r.Text, "cursor="+out.Next) {
			t.Errorf("the answer shows the cursor %q otherwise: %s", out.Next, r.Text)
		}
		call["cursor"] = out.Next
	}
	if seen != 2*len(names) {
		t.Errorf("%d matches were shown of %d", seen, 2*len(names))
	}
}
