package mcp_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/picoclaw/picoclaw/cmd/internal/clitest/mcptest"
	"github.com/picoclaw/picoclaw/host/hosttest"
	"github.com/picoclaw/picoclaw/isolation"
	"github.com/picoclaw/picoclaw/isolation/selftest"
)

// secretText is in all that a server must not read.
const secretText = "nobody-may-know-this"

// A server withstands no less than a command does: the attacks of the isolation's own suite come to nothing, from the
// server and from what it starts.
func TestServerIsConfinedLikeCommand(t *testing.T) {
	t.Parallel()
	h := mcptest.NewHome(t)
	h.AddMaliciousServer("")
	for _, what := range []string{"selftest", "selftest as a child"} {
		t.Run(what, func(t *testing.T) {
			a := h.RunAttack(what, aim(t, filepath.Join(h.Home, "outside")), "")
			report := selftest.Report{}
			for line := range strings.Lines(a.Text) {
				var r selftest.AttackResult
				if err := json.Unmarshal([]byte(line), &r); err != nil {
					t.Fatalf("%v: %s", err, a.FullText())
				}
				report.Results = append(report.Results, r)
			}
			if len(report.Results) != len(selftest.Protections) {
				t.Fatalf("the attacks did not come to their end: %s", a.FullText())
			}
			for _, r := range report.BrokenProtections(selftest.ConfinementMode{Sandboxed: true}, isolation.DetectFeatures()) {
				t.Errorf("%s: %s", r.Protection, r.Got)
			}
		})
	}
}

// aim is what the attacks aim at, with this process for the host.
func aim(t *testing.T, outside string) string {
	t.Helper()
	if err := os.MkdirAll(outside, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(outside, "canary"), []byte("canary"), 0o600); err != nil {
		t.Fatal(err)
	}
	name := "@picoclaw-servers-" + filepath.Base(filepath.Dir(outside)) + fmt.Sprint(os.Getpid())
	var at [2]string
	for i, where := range [][2]string{{"tcp", "127.0.0.1:0"}, {"unix", name}} {
		l, err := net.Listen(where[0], where[1])
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = l.Close() })
		at[i] = l.Addr().String()
	}
	text, err := json.Marshal(map[string]any{"outside": outside, "host": os.Getpid(), "started": 0, "tcp": at[0],
		"abstract": at[1]})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// A server sees nothing of the operator's, of picoclaw's and of other agents', and changes nothing of it.
func TestServerCannotReadForeignFiles(t *testing.T) {
	t.Parallel()
	h := mcptest.NewHome(t)
	config := `{"agents": {"list": [{"id": "main"}, {"id": "other", "workspace": "` + filepath.Join(h.Home, "others") + `"}]}}`
	h.WriteFile("config.json", config)
	h.AddMaliciousServer("")
	h.AddServer("good", "--", hosttest.ProgramPath("servers/memory"), "-memory", "{{state}}/kb.json")
	for _, name := range []string{".ssh/id_ed25519", ".aws/credentials", "notes", "workspace/file", "others/file",
		"state/good/main/kb.json", "state/evil/other/file", "logs/other"} {
		h.WriteFile(name, secretText)
	}
	try := h.NewAttackRunner()
	for _, name := range []string{".ssh/id_ed25519", ".aws/credentials", "notes", "workspace/file", "others/file",
		"state/good/main/kb.json", "state/evil/other/file", "logs/other", "logs/audit.jsonl", "config.json", "plugins/lock.json",
		"mcp-token", "../../../root/.bashrc"} {
		at := filepath.Join(h.Home, name)
		before, _ := os.ReadFile(at)
		for _, what := range []string{"read", "write", "append", "remove"} {
			if a := try(what, at, "evil"); strings.HasPrefix(a.Text, "read") || strings.Contains(a.FullText(), secretText) {
				t.Errorf("%s: %s", name, a.FullText())
			}
		}
		after, _ := os.ReadFile(at)
		if string(before) != string(after) && name != "logs/audit.jsonl" || strings.Contains(string(after), "evil\n") {
			t.Errorf("%s was %q and is %q", name, before, after)
		}
	}
	if a := try("find", "id_ed25519", ""); !strings.HasPrefix(a.Text, "no:") {
		t.Errorf("a key is found: %s", a.FullText())
	}
	for _, dir := range []string{h.Home, filepath.Join(h.Home, "state"), filepath.Join(h.Home, "workspace"), filepath.Join(h.Home, "plugins")} {
		a := try("list", dir, "")
		if got, listed := strings.CutPrefix(a.Text, "listed"); listed && (strings.Contains(got, "good") ||
			strings.Contains(got, "file") || strings.Contains(got, "notes") || strings.Contains(got, "lock")) {
			t.Errorf("%s: %s", dir, a.FullText())
		}
	}
}

// What the host finds in its environment is nothing that a server finds.
func TestServerSeesNoHostSecrets(t *testing.T) {
	t.Parallel()
	h := mcptest.NewHome(t, "SECRET="+secretText, "ANTHROPIC_API_KEY="+secretText, "AWS_SECRET_ACCESS_KEY="+secretText)
	h.AddMaliciousServer("", "--env", "GIVEN=this is given")
	a := h.RunAttack("environments", "", "")
	if !a.OK || strings.Contains(a.Text, secretText) || !strings.Contains(a.Text, "GIVEN=this is given") {
		t.Errorf("%s", a.FullText())
	}
}

// Without --network a server reaches nobody; with it, those that it names alone.
func TestServerHasNoNetworkByDefault(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	for name, flags := range map[string][]string{"none": nil, "another": {"--network", "example.com"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := mcptest.NewHome(t)
			h.AddMaliciousServer("", flags...)
			try := h.NewAttackRunner()
			for _, at := range []string{l.Addr().String(), "192.0.2.1:443", "1.1.1.1:53", "[::1]:22", "169.254.169.254:80", "example.org:443"} {
				refused := "[network: " + strings.Split(at, ":")[0] + "/32 not granted;" // the proxy accepts, and connects to nothing
				if a := try("dial", at, ""); !strings.HasPrefix(a.Text, "no:") && !strings.Contains(a.FullText(), refused) {
					t.Errorf("%s: %s", at, a.FullText())
				}
			}
		})
	}
}

// What a server may do with the workspace is what it was granted.
func TestServerWorkspaceGrant(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		grant       string
		read, write bool
	}{{"none", false, false}, {"ro", true, false}, {"rw", true, true}} {
		t.Run(c.grant, func(t *testing.T) {
			t.Parallel()
			h := mcptest.NewHome(t)
			h.AddMaliciousServer("", "--workspace", c.grant, "--claim", "try.at=none")
			h.WriteFile("workspace/file", "before")
			try := h.NewAttackRunner()
			at := filepath.Join(h.Workspace, "file")
			if a := try("read", at, ""); strings.HasPrefix(a.Text, "read before") != c.read {
				t.Errorf("read: %s", a.FullText())
			}
			a := try("write", at, "after")
			try("write", filepath.Join(h.Workspace, "new"), "after")
			text, err := os.ReadFile(at)
			_, newErr := os.Lstat(filepath.Join(h.Workspace, "new"))
			if err != nil || (string(text) == "after") != c.write || (newErr == nil) != c.write {
				t.Errorf("write: %q %v %v %s", text, err, newErr, a.FullText())
			}
			log, err := os.ReadFile(filepath.Join(h.Home, "logs", "audit.jsonl"))
			if err != nil || strings.Contains(string(log), `"undo":"`) != c.write {
				t.Errorf("the audit log has an undo id only of changes: %v\n%s", err, log)
			}
			if a := try("read", filepath.Join(h.Home, "config.json"), ""); strings.HasPrefix(a.Text, "read") {
				t.Errorf("outside: %s", a.FullText())
			}
		})
	}
}

// A repository that a server makes after its call, whose settings run a program, does not stay.
func TestServerLeavesNoRepositoryBetweenCalls(t *testing.T) {
	t.Parallel()
	h := mcptest.NewHome(t, "PICOCLAW_WORKSPACE_PROTECT_ENABLED=true")
	h.AddMaliciousServer("", "--workspace", "rw", "--claim", "try.at=none")
	try := h.NewAttackRunner()
	late := filepath.Join(h.Workspace, "late")
	a := try("run", "(sleep 1; mkdir -p "+late+"/.git/objects "+late+"/.git/refs; echo 'ref: refs/heads/main' > "+late+"/.git/HEAD; "+
		"echo '[core] fsmonitor = x' > "+late+"/.git/config; echo > "+late+"/done) >/dev/null 2>&1 &", "")
	hosttest.WaitUntil(t, "the repository is made: "+a.FullText(), func() bool {
		_, err := os.Stat(filepath.Join(late, "done"))
		return err == nil
	})
	hosttest.WaitUntil(t, "its settings are gone", func() bool {
		text, err := os.ReadFile(filepath.Join(late, ".git", "config"))
		return errors.Is(err, fs.ErrNotExist) || err == nil && !strings.Contains(string(text), "fsmonitor")
	})
}

// A server can't become another program than the one that was looked at.
func TestServerCannotReplaceItself(t *testing.T) {
	t.Parallel()
	h := mcptest.NewHome(t)
	h.AddMaliciousServer("")
	programs, err := filepath.Glob(filepath.Join(h.Home, "plugins", "*", "*", "data", "own", "malicious"))
	if err != nil || len(programs) != 1 {
		t.Fatalf("%v %v", programs, err)
	}
	try := h.NewAttackRunner()
	pkg := filepath.Dir(filepath.Dir(filepath.Dir(programs[0])))
	for _, at := range []string{programs[0], filepath.Join(pkg, "server.json"), filepath.Join(pkg, "plugin.json")} {
		before, err := os.ReadFile(at)
		if err != nil {
			t.Fatal(err)
		}
		for _, what := range []string{"write", "append", "remove", "link", "fifo"} {
			if a := try(what, at, "/bin/sh"); !strings.HasPrefix(a.Text, "no:") && what != "remove" {
				t.Errorf("%s %s: %s", what, at, a.FullText())
			}
		}
		if after, err := os.ReadFile(at); err != nil || string(after) != string(before) {
			t.Errorf("%s is changed: %v", at, err)
		}
	}
}

// A server neither signals nor traces the plugin whose child it is.
func TestServerCannotSignalOrTracePlugin(t *testing.T) {
	t.Parallel()
	h := mcptest.NewHome(t)
	h.AddMaliciousServer("")
	for _, what := range []string{"kill", "trace"} {
		if what == "kill" && isolation.DetectFeatures().Landlock < isolation.LandlockScope {
			continue // what keeps signals inside is that version of the kernel's
		}
		if a := h.RunAttack(what, "", ""); !strings.HasPrefix(a.Text, "no:") {
			t.Errorf("%s: %s", what, a.FullText())
		}
	}
}

// A server's home for settings and temporary files is its own: what it leaves there would be run by commands, and what
// commands leave there by it.
func TestServerHomeIsSeparate(t *testing.T) {
	t.Parallel()
	h := mcptest.NewHome(t)
	h.AddMaliciousServer("")
	if a := h.CallTool("exec", map[string]any{"command": "mkdir -p $XDG_CONFIG_HOME/git; echo theirs > $XDG_CONFIG_HOME/git/config; echo theirs > $TMPDIR/x; echo $XDG_CONFIG_HOME $TMPDIR"}); !a.OK {
		t.Fatal(a.FullText())
	} else {
		for i, dir := range strings.Fields(a.Text) {
			at := filepath.Join(dir, []string{"git/config", "x"}[i])
			if text, err := os.ReadFile(at); err != nil || string(text) != "theirs\n" {
				t.Fatalf("%q %v", text, err)
			}
			for _, what := range []string{"read", "write"} {
				if a := h.RunAttack(what, at, ""); !strings.HasPrefix(a.Text, "no:") {
					t.Errorf("%s %s: %s", what, at, a.FullText())
				}
			}
		}
	}
}

// A server starts its own program, and of the system's only those that were named.
func TestServerStartsOnlyGrantedPrograms(t *testing.T) {
	t.Parallel()
	for flag, want := range map[string]string{"": "no:", "sh,dash": "started"} {
		h := mcptest.NewHome(t)
		h.AddServer("evil", "--program", flag, "--", hosttest.ProgramPath("servers/malicious"), "{{state}}", "")
		if a := h.RunAttack("daemon", "", ""); !strings.HasPrefix(a.Text, want) {
			t.Errorf("with --program %q: %s", flag, a.FullText())
		}
	}
}

// Nothing of a server stays when the host ends, however it ends.
func TestHostEndLeavesNoServerProcesses(t *testing.T) {
	t.Parallel()
	for _, killed := range []bool{false, true} {
		t.Run(fmt.Sprintf("killed=%v", killed), func(t *testing.T) {
			h := mcptest.NewHome(t)
			h.AddMaliciousServer("")
			c, host, end := h.ConnectClient(nil)
			said := mcptest.ResultText(mcptest.MustCallTool(t, c, "evil_try", map[string]any{"what": "daemon"}))
			if !strings.Contains(said, "started") {
				t.Fatal(said)
			}
			hosttest.WaitUntil(t, "the daemon runs", func() bool { return mcptest.IsProcessRunning(h.Home, "evil-daemon") })
			if killed {
				if err := host.Process.Kill(); err != nil {
					t.Fatal(err)
				}
			}
			end()
			hosttest.WaitUntil(t, "nothing of the server runs", func() bool { return !mcptest.IsProcessRunning(h.Home, "") })
		})
	}
}

// A server that takes all that it can gets what commands get, and no more; the next call works.
func TestServerResourceLimits(t *testing.T) {
	t.Parallel()
	h := mcptest.NewHome(t, "PICOCLAW_TOOLS_EXEC_LIMITS_PROCESSES=100", "PICOCLAW_TOOLS_EXEC_LIMITS_MEMORY=512MB")
	h.AddMaliciousServer("")
	for _, what := range []string{"fork", "memory"} {
		a := h.RunAttack(what, "", "")
		if a.OK && !strings.HasPrefix(a.Text, "no:") || !a.OK && !strings.Contains(a.FullText(), "(tools.exec.limits.") {
			t.Errorf("%s: %s", what, a.FullText())
		}
		if a := h.CallTool("evil.steady", map[string]any{}); a.Text != "steady" {
			t.Errorf("after %s: %s", what, a.FullText())
		}
	}
}
