package docs_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// A release has manifests that were made on one machine for all processors. That is right as long as no source that a
// manifest could come from is for one of them only.
func TestManifestsHoldForEveryProcessor(t *testing.T) {
	name := regexp.MustCompile(`_(amd64|arm64|386|arm|riscv64)(_test)?\.go$`)
	constraint := regexp.MustCompile(`(?m)^//go:build .*\b(amd64|arm64|386|arm|riscv64)\b|runtime\.GOARCH`)
	for _, room := range []string{"plugins", "sdk"} {
		err := filepath.WalkDir(filepath.Join("..", room), func(path string, _ fs.DirEntry, err error) error {
			if err != nil || filepath.Ext(path) != ".go" {
				return err
			}
			text, err := os.ReadFile(path)
			if name.MatchString(path) || constraint.Match(text) {
				t.Errorf("%s is for one processor; manifests that a release makes on another could be wrong", path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// What a release is said to consist of is there, and every plugin is part of it.
func TestAReleaseIsComplete(t *testing.T) {
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join("..", name))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	config, files := read(".ci/goreleaser.yaml"), read(".ci/release-files")
	sources := regexp.MustCompile(`src: ([^,}\s]+)|post(?:install|remove): (\S+)`).FindAllStringSubmatch(config, -1)
	if len(sources) < 10 {
		t.Fatalf("only %d files were found", len(sources))
	}
	for _, found := range sources {
		source := found[1] + found[2]
		if strings.HasPrefix(source, "bin/release/") || strings.HasPrefix(source, "/") {
			continue // made for the release, or a place on the user's machine
		}
		if matches, err := filepath.Glob(filepath.Join("..", source)); err != nil || len(matches) == 0 {
			t.Errorf("the release has %s, which is not there", source)
		}
	}
	plugins, err := os.ReadDir(filepath.Join("..", "plugins"))
	if err != nil {
		t.Fatal(err)
	}
	for _, plugin := range plugins {
		id := plugin.Name()
		parts := []string{"main: ./plugins/" + id, "binary: plugins/" + id + "/" + id}
		if id != "mcp" { // which becomes a plugin for each server, with a manifest of its tools
			parts = append(parts, "dst: /usr/lib/picoclaw/plugins/"+id+"/plugin.json")
		}
		for _, part := range parts {
			if !strings.Contains(config, part) {
				t.Errorf("the release does not have plugin %s: no %q", id, part)
			}
		}
		if id != "mcp" && !regexp.MustCompile(`for id in [a-z ]*\b`+id+`\b`).MatchString(files) {
			t.Errorf("no manifest of plugin %s is made for the release", id)
		}
	}
}
