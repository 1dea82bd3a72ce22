package isolation

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestExposedPaths(t *testing.T) {
	base := realTemp(t)
	tool := filepath.Join(base, "tool")
	put(t, filepath.Join(tool, "f"), "tool")
	shared := filepath.Join(base, "shared")
	put(t, filepath.Join(shared, "f"), "shared")
	file := put(t, filepath.Join(base, "file"), "file")
	i := configured(t, Config{Enabled: true, ExposePaths: []ExposedPath{
		{Source: tool, Mode: "ro"},
		{Source: tool, Target: "/exposed/shared", Mode: "ro"},
		{Source: shared, Target: "/exposed/shared", Mode: "rw"},
		{Source: file, Target: "/exposed/deep/file", Mode: "ro"},
	}})
	for _, test := range []struct {
		args []string
		out  string
		fine bool
	}{
		{[]string{"read", tool + "/f"}, "tool", true},
		{[]string{"write", tool + "/f", "x"}, "", false},
		{[]string{"read", "/exposed/shared/f"}, "shared", true},
		{[]string{"write", "/exposed/shared/g", "x"}, "", true},
		{[]string{"read", "/exposed/deep/file"}, "file", true},
		{[]string{"write", "/exposed/deep/file", "x"}, "", false},
	} {
		if r := outcome(t, i, child(test.args...), Profile{}); r.exit.Success() != test.fine || r.stdout != test.out {
			t.Errorf("%q: %v %q %q", test.args, r.exit, r.stdout, r.stderr)
		}
	}
	if _, err := os.Stat(filepath.Join(shared, "g")); err != nil {
		t.Error(err)
	}
}

func TestConfigureRefusesExposedPaths(t *testing.T) {
	base := realTemp(t)
	link := filepath.Join(base, "link")
	if err := os.Symlink(base, link); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		rule ExposedPath
		says string
	}{
		{ExposedPath{Source: filepath.Join(base, "none"), Mode: "ro"}, "does not exist"},
		{ExposedPath{Source: link, Mode: "ro"}, "leads through a symbolic link"},
		{ExposedPath{Source: base, Target: "/", Mode: "ro"}, "reserved"},
		{ExposedPath{Source: base, Target: "/proc/x", Mode: "ro"}, "reserved"},
		{ExposedPath{Source: base, Mode: "wr"}, "is not a mode"},
	} {
		_, err := NewStarter(Config{Enabled: true, Home: filepath.Join(base, "home"), ExposePaths: []ExposedPath{test.rule}},
			nil)
		var wrong *ConfigError
		if !errors.As(err, &wrong) || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%+v: got %v", test.rule, err)
		}
	}
}

func TestExposedPathsInWritablePaths(t *testing.T) {
	base := realTemp(t)
	work := filepath.Join(base, "work")
	put(t, filepath.Join(work, "assets", "f"), "")
	data := filepath.Join(base, "data")
	put(t, filepath.Join(data, "f"), "")
	home := filepath.Join(base, "home")
	for _, test := range []struct {
		rule ExposedPath
		says string
	}{
		{ExposedPath{Source: data, Target: filepath.Join(work, "assets"), Mode: "rw"}, "can write"},
		{ExposedPath{Source: data, Target: filepath.Join(work, "assets", "new"), Mode: "ro"}, "can write"},
		{ExposedPath{Source: data, Target: work, Mode: "ro"}, "can write"},
		{ExposedPath{Source: filepath.Join(work, "assets"), Target: "/exposed", Mode: "ro"}, "can write"},
		{ExposedPath{Source: filepath.Join(home, "logs"), Target: "/exposed", Mode: "ro"}, "no sandbox may see"},
		{ExposedPath{Source: home, Mode: "ro"}, "no sandbox may see"},
	} {
		i := configured(t, Config{Enabled: true, Home: home, ExposePaths: []ExposedPath{test.rule}})
		_, err := i.Start(child("env"), Profile{Name: "fs", ReadWrite: []string{work}})
		var wrong *ConfigError
		if !errors.As(err, &wrong) || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%+v: got %v", test.rule, err)
		}
	}
	if entries, _ := os.ReadDir(filepath.Join(work, "assets")); len(entries) != 1 {
		t.Errorf("the workspace was changed: %v", entries)
	}
}

func TestExposedPathReplacesReadOnlyPath(t *testing.T) {
	base := realTemp(t)
	outer, inner := filepath.Join(base, "outer"), filepath.Join(base, "inner")
	put(t, filepath.Join(outer, "place", "f"), "outer")
	put(t, filepath.Join(inner, "f"), "inner")
	i := configured(t, Config{Enabled: true, ExposePaths: []ExposedPath{{Source: inner, Target: filepath.Join(outer,
		"place"), Mode: "ro"}}})
	r := outcome(t, i, child("read", filepath.Join(outer, "place", "f")), Profile{ReadOnly: []string{outer}})
	if r.stdout != "inner" {
		t.Errorf("got %q %q", r.stdout, r.stderr)
	}
	i = configured(t, Config{Enabled: true, ExposePaths: []ExposedPath{{Source: inner, Target: filepath.Join(outer, "none"),
		Mode: "ro"}}})
	if _, err := i.Start(child("env"), Profile{ReadOnly: []string{outer}}); err == nil || !strings.Contains(err.Error(),
		"does not exist there") {
		t.Errorf("got %v", err)
	}
}
