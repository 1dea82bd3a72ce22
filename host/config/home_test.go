package config

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

func TestHome(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	for _, test := range []struct {
		environ  []string
		path     string
		origin   string
		fallback bool
	}{
		{[]string{"HOME=/home/user"}, "/home/user/.picoclaw", "default", false},
		{[]string{"HOME=/home/user", "PICOCLAW_HOME="}, "/home/user/.picoclaw", "default", false},
		{[]string{"HOME=/home/user", "PICOCLAW_HOME=/srv/x/"}, "/srv/x", "PICOCLAW_HOME", false},
		{[]string{"HOME=/home/user", "PICOCLAW_HOME=~/x"}, "/home/user/x", "PICOCLAW_HOME", false},
		{[]string{"PICOCLAW_HOME=x"}, filepath.Join(dir, "x"), "PICOCLAW_HOME", false},
		{[]string{}, ".", "default", true},
		{[]string{"HOME=relative"}, ".", "default", true},
	} {
		c, err := Load(LoadOptions{Environ: test.environ})
		if err != nil {
			t.Fatal(err)
		}
		if h := c.Home(); h.Path != test.path || h.Origin.String() != test.origin || h.Fallback != test.fallback {
			t.Errorf("%v: the home is %+v", test.environ, h)
		}
		if w := mustAgent(t, c, "").Workspace; !filepath.IsAbs(w) {
			t.Errorf("%v: the workspace is %s", test.environ, w)
		}
	}
	for _, environ := range [][]string{{"PICOCLAW_HOME=~/x"}, {"HOME=/h", "PICOCLAW_HOME=~other/x"}} {
		if _, err := Load(LoadOptions{Environ: environ}); err == nil || !strings.HasPrefix(err.Error(), "PICOCLAW_HOME: ") {
			t.Errorf("%v: %v", environ, err)
		}
	}
}

func TestConfigFileSelection(t *testing.T) {
	i := newInstance(t)
	i.write("named.json", `{"tools": {"set": "all"}}`)
	i.write("config.yml", `{tools: {set: module}}`)
	for _, test := range []struct {
		options LoadOptions
		file    string
		set     string
	}{
		{LoadOptions{}, "config.yml", "module"},
		{LoadOptions{Environ: []string{"PICOCLAW_CONFIG=" + i.path("named.json")}}, "named.json", "all"},
		{LoadOptions{File: i.path("named.json"), Environ: []string{"PICOCLAW_CONFIG=/nowhere"}}, "named.json", "all"},
	} {
		test.options.Environ = i.environ(test.options.Environ...)
		c, err := Load(test.options)
		if err != nil {
			t.Fatal(err)
		}
		if c.FilePath() != i.path(test.file) || mustAgent(t, c, "").Tools.Set != test.set {
			t.Errorf("%+v: the file is %s", test.options, c.FilePath())
		}
	}

	_, err := Load(LoadOptions{Environ: i.environ(), File: i.path("missing.json")})
	if !errors.Is(err, fs.ErrNotExist) || !strings.HasPrefix(err.Error(),
		"--config: the configuration file can't be read: ") {
		t.Errorf("a missing file that was named: %v", err)
	}
	_, err = i.load("PICOCLAW_CONFIG=" + i.path("missing.json"))
	if !errors.Is(err, fs.ErrNotExist) || !strings.HasPrefix(err.Error(), "PICOCLAW_CONFIG: ") {
		t.Errorf("a missing file that was named: %v", err)
	}
	_, err = Load(LoadOptions{Environ: i.environ(), File: i.home})
	if err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("a directory: %v", err)
	}
	i.write("config.json", "{}")
	_, err = i.load()
	if err == nil || err.Error() != "both "+i.path("config.json")+" and "+i.path("config.yml")+
		" exist; keep one of them, or name one with --config" {
		t.Errorf("two files: %v", err)
	}
}

func TestByteOrderMarkIsSkipped(t *testing.T) {
	if c := mustLoad(t, "\ufeff{\"tools\": {\"set\": \"all\"}}"); mustAgent(t, c, "").Tools.Set != "all" {
		t.Error("the file was not read")
	}
}
