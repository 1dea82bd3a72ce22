package run

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/picoclaw/picoclaw/host/egress"
)

func TestPresetsAreComplete(t *testing.T) {
	t.Parallel()
	all, err := Presets()
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, p := range all {
		for _, program := range p.Programs {
			if found, err := FindPreset("/x/" + program); err != nil || found.Name != p.Name || seen[program] {
				t.Errorf("%s: found %v, %v", program, found, err)
			}
			seen[program] = true
		}
		if _, err := egress.CompilePolicy(egress.PolicyRules{Allow: p.hostNames()}); err != nil {
			t.Errorf("%s: %v", p.Name, err)
		}
		for _, host := range p.Hosts {
			if !slices.Contains([]string{"api", "login", "update", "telemetry"}, host.Purpose) {
				t.Errorf("%s: %s has the purpose %q", p.Name, host.Name, host.Purpose)
			}
		}
		for _, key := range p.Secrets {
			for _, host := range key.Hosts {
				if !slices.Contains(p.hostNames(), host) {
					t.Errorf("%s: %s is for %s, which is not reached", p.Name, key.Name, host)
				}
			}
			if err := (egress.Secret{Name: key.Name, Hosts: key.Hosts, Header: key.Header, Template: key.Value}).Validate(); err != nil {
				t.Errorf("%s: %v", p.Name, err)
			}
		}
	}
	if p, err := FindPreset("make"); err != nil || p.Name != "generic" {
		t.Errorf("%v, %v", p, err)
	}
}

func TestArgumentsOfPreset(t *testing.T) {
	t.Parallel()
	p := &ProgramPreset{Args: []string{"--settings", "{${project}}"}, Unless: []string{"--settings", "-s"}}
	for _, c := range []struct{ own, want string }{
		{"-p hi", "--settings {/p} -p hi"},
		{"--settings mine.json", "--settings mine.json"},
		{"--settings=mine.json", "--settings=mine.json"},
		{"-c x=-s", "--settings {/p} -c x=-s"},
	} {
		if got := strings.Join(p.programArguments(strings.Fields(c.own), presetVariables{project: "/p"}), " "); got != c.want {
			t.Errorf("%s: %s", c.own, got)
		}
	}
}

// A hook's command survives as a JSON or TOML string, wherever picoclaw is installed.
func TestHookIsQuotedInArguments(t *testing.T) {
	t.Parallel()
	p := &ProgramPreset{Name: "x", Args: []string{`{"command":"${hook}"}`}}
	v := presetVariables{hook: p.hookCommand(`/opt/a "b" c's/pico\claw`)}
	var got struct{ Command string }
	if err := json.Unmarshal([]byte(p.programArguments(nil, v)[0]), &got); err != nil || got.Command != v.hook || got.Command != `'/opt/a "b" c'\''s/pico\claw' hook x` {
		t.Errorf("%q, %v", got.Command, err)
	}
}

func TestProjectIsRepository(t *testing.T) {
	t.Parallel()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	inner := filepath.Join(base, "repo", "a", "b")
	plain := filepath.Join(base, "plain")
	for _, dir := range []string{inner, plain, filepath.Join(base, "repo", ".git")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(inner, filepath.Join(base, "link")); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ named, current, project, dir string }{
		{"", inner, "repo", "repo/a/b"},
		{"", filepath.Join(base, "link"), "repo", "repo/a/b"},
		{"", plain, "plain", "plain"},
		{plain, inner, "plain", "plain"},
		{filepath.Join(base, "repo", "a"), inner, "repo/a", "repo/a/b"},
	} {
		project, dir, err := FindProjectDir(c.named, c.current)
		if err != nil || project != filepath.Join(base, c.project) || dir != filepath.Join(base, c.dir) {
			t.Errorf("%+v: %s, %s, %v", c, project, dir, err)
		}
	}
	if err := CheckProjectDir(filepath.Join(base, "repo"), base, filepath.Join(base, "home")); err != nil {
		t.Error(err)
	}
	for _, project := range []string{"/", base, filepath.Join(base, "plain"), filepath.Join(base, "plain", "below")} {
		if CheckProjectDir(project, base, plain) == nil {
			t.Errorf("%s is accepted", project)
		}
	}
}

func TestSettingsAreMerged(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := &ProgramPreset{Settings: []PresetSettings{{File: ".x/s.json", Values: map[string]any{"trust": map[string]any{"${project}": true}}}}}
	if err := os.MkdirAll(filepath.Join(dir, ".x"), 0o700); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, ".x", "s.json")
	if err := os.WriteFile(file, []byte("\ufeff"+`{"own":1,"trust":{"/other":true}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := prepareProgramHome(dir, presetVariables{project: "/p"}, p); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(file)
	if want := "{\n  \"own\": 1,\n  \"trust\": {\n    \"/other\": true,\n    \"/p\": true\n  }\n}\n"; err != nil || string(got) != want {
		t.Errorf("%s, %v", got, err)
	}
	outside := filepath.Join(t.TempDir(), "outside.json")
	if err := os.WriteFile(outside, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, file); err != nil {
		t.Fatal(err)
	}
	if err := prepareProgramHome(dir, presetVariables{project: "/p"}, p); err == nil {
		t.Error("the program's symlink is followed")
	}
	if text, _ := os.ReadFile(outside); string(text) != "{}" {
		t.Errorf("%s was written to a file outside", text)
	}
}

func TestPlaceholderIsStableAndUseless(t *testing.T) {
	t.Parallel()
	key := []byte("key of a home")
	one := secretPlaceholder(key, "API_KEY", "sk-ant-", 64)
	switch {
	case one != secretPlaceholder(key, "API_KEY", "sk-ant-", 64):
		t.Error("it differs each time")
	case one == secretPlaceholder([]byte("another"), "API_KEY", "sk-ant-", 64), one[7:] == secretPlaceholder(key, "OTHER", "sk-ant-", 64)[7:]:
		t.Error("it does not depend on home and name")
	case len(one) != 64 || !strings.HasPrefix(one, "sk-ant-"), len(secretPlaceholder(key, "API_KEY", "", 8)) != minPlaceholder:
		t.Errorf("%q has the wrong form", one)
	}
}

func TestOldRunsAreDeleted(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	now := time.Now().UTC()
	for id, r := range map[string]RunRecord{
		"20260101T000000-old":  {Started: now.Add(-50 * time.Hour), Ended: now.Add(-49 * time.Hour)},
		"20260102T000000-long": {Started: now.Add(-50 * time.Hour), Ended: now.Add(-time.Hour)},
		"20260103T000000-new":  {Started: now},
	} {
		r.ID, r.Project = id, "/p"
		if err := r.saveRecord(home); err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(UndoStoreDir(home, id), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := pruneRuns(home, 48*time.Hour); err != nil {
		t.Fatal(err)
	}
	left, err := ListRecords(home, "/p")
	if err != nil || len(left) != 2 || left[0].ID != "20260103T000000-new" || left[1].ID != "20260102T000000-long" {
		t.Errorf("%+v, %v", left, err)
	}
	if others, err := ListRecords(home, "/other"); err != nil || len(others) > 0 {
		t.Errorf("%+v, %v", others, err)
	}
	if err := os.WriteFile(recordFilePath(home, left[0].ID), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ListRecords(home, ""); err == nil || !strings.Contains(err.Error(), "delete its directory") {
		t.Errorf("a broken record: %v", err)
	}
}

// A directory without record is a run that starts, or is pruned; with undo history, its record is lost.
func TestRunThatStartsIsNoDamage(t *testing.T) {
	t.Parallel()
	home, id := t.TempDir(), "20260101T000000-new"
	if err := os.MkdirAll(filepath.Dir(recordFilePath(home, id)), 0o700); err != nil {
		t.Fatal(err)
	}
	if all, err := ListRecords(home, ""); err != nil || len(all) > 0 {
		t.Errorf("a run starts: %v, %v", all, err)
	}
	if err := os.Mkdir(UndoStoreDir(home, id), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := ListRecords(home, ""); err == nil || !strings.Contains(err.Error(), id) {
		t.Errorf("a lost record: %v", err)
	}
}
