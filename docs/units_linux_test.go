package docs_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// unitFiles are the units of the packages.
func unitFiles(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob("../.ci/package/picoclaw*.s[eo]*")
	if err != nil {
		t.Fatal(err)
	}
	units := map[string]string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		units[filepath.Base(file)] = string(text)
	}
	delete(units, "picoclaw.sysusers")
	if len(units) != 4 {
		t.Fatalf("the units are in %q", files)
	}
	return units
}

// systemd takes the units, with nothing to complain of.
func TestUnitsAreValid(t *testing.T) {
	systemd, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Fatalf("%v; install what the tests need with `.ci/install tests`", err)
	}
	dir := t.TempDir()
	args := []string{"verify", "--man=no"}
	for name, text := range unitFiles(t) {
		text = strings.ReplaceAll(text, "/usr/bin/picoclaw", filepath.Join(programs, "picoclaw"))
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		args = append(args, filepath.Join(dir, strings.Replace(name, "@.", "@x.", 1)))
	}
	if out, err := exec.Command(systemd, args...).CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("%v: %v\n%s", args, err, out)
	}
}

// All services hold their host in the same way, and what they start is a command that there is.
func TestServicesHoldTheirHostAlike(t *testing.T) {
	units := unitFiles(t)
	held := map[string]string{}
	for _, name := range []string{"picoclaw@.service", "picoclaw-http.service", "picoclaw-gateway.service"} {
		_, after, found := strings.Cut(units[name], "Environment=PICOCLAW_HOME")
		if !found {
			t.Fatalf("%s has no home", name)
		}
		held[name], _, _ = strings.Cut(after, "\n\n[Install]")
		held[name] = strings.TrimSpace(held[name])
		_, command, _ := strings.Cut(units[name], "ExecStart=/usr/bin/picoclaw ")
		command, _, _ = strings.Cut(command, "\n")
		help := exec.Command(filepath.Join(programs, "picoclaw"), append(strings.Fields(command), "--help")...)
		if out, err := help.CombinedOutput(); err != nil || !strings.Contains(string(out), "picoclaw "+strings.Fields(command + " mcp")[0]+" [flags]") {
			t.Errorf("%s starts picoclaw %s: %v\n%s", name, command, err, out)
		}
	}
	for _, name := range []string{"picoclaw-http.service", "picoclaw-gateway.service"} {
		if diff := cmp.Diff(held["picoclaw@.service"], held[name]); diff != "" {
			t.Errorf("the services differ in how they hold their host:\n%s", diff)
		}
	}
}

// A local client reaches stdio through a socket file of one group, and through nothing else.
func TestSocketIsForOneGroup(t *testing.T) {
	text := unitFiles(t)["picoclaw.socket"]
	for _, want := range []string{"ListenStream=/run/picoclaw/mcp.sock\n", "SocketGroup=picoclaw\n", "SocketMode=0660\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("picoclaw.socket lacks %s", want)
		}
	}
	if listens := strings.Count(text, "Listen"); listens != 1 {
		t.Errorf("picoclaw.socket listens at %d places", listens)
	}
}
