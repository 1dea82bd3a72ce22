package undo_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/picoclaw/picoclaw/cmd/internal/clitest"
	"github.com/picoclaw/picoclaw/host/hosttest"
)

// long has the test repeat with random commands, and without isolation.
var long bool

// Whatever a command destroys comes back to the byte, with modes, times and links, in one step; and taking that back
// does again what it had done.
func TestUndoRestoresDestroyedFiles(t *testing.T) {
	t.Parallel()
	more, seed := 0, uint64(1)
	if long {
		more = 5
	}
	if text := os.Getenv("PICOCLAW_TEST_DESTROY"); text != "" { // how often, and the seed
		if _, err := fmt.Sscan(text, &more, &seed); err != nil {
			t.Fatal(err)
		}
	}
	for _, how := range []struct{ isolated, protected bool }{{true, false}, {false, false}, {true, true}} {
		if !long && (!how.isolated || how.protected) {
			continue // undo sees the same changes
		}
		t.Run(fmt.Sprintf("%+v", how), func(t *testing.T) {
			a := clitest.NewAgent(t, how.isolated, fmt.Sprintf("PICOCLAW_WORKSPACE_PROTECT_ENABLED=%v", how.protected))
			a.RunBashDirectly(repository)
			random := rand.New(rand.NewPCG(seed, 2))
			rounds := slices.Clone(destroyers)
			for range more { // several one after another, as one command
				var parts []string
				for range 1 + random.IntN(3) {
					parts = append(parts, "("+destroyers[random.IntN(len(destroyers))]+"\n)")
				}
				rounds = append(rounds, strings.Join(parts, "; "))
			}
			call := a.StartBatch()
			for _, text := range rounds {
				if !destroy(a, call, text) {
					a.RunBashDirectly("cd ..; chmod -R u+rwx workspace; rm -rf workspace; mkdir workspace; cd workspace;" + repository)
				}
			}
		})
	}
}

// destroy runs a command, and takes it back, does it again and takes it back once more. It reports whether everything
// was as it should be each time.
func destroy(a *clitest.Agent, call func(clitest.ToolCall) clitest.CallResult, text string) bool {
	a.T.Helper()
	before := a.SnapshotWorkspace()
	ran := call(clitest.NewExecCall(text))
	if len(ran.Structured.NotCovered) > 0 {
		a.T.Errorf("%s: not covered: %q", text, ran.Structured.NotCovered)
	}
	after := a.SnapshotWorkspace()
	if maps.Equal(before, after) {
		return true
	}
	args, want := map[string]any{}, before
	for _, step := range []string{"undone", "again", "back"} {
		r := call(clitest.ToolCall{Tool: "undo", Args: args})
		if diff := clitest.DiffSnapshots(want, a.SnapshotWorkspace()); diff != "" || !r.OK {
			a.T.Errorf("%s, %s: %v\n%s", step, text, r.Error, diff)
			return false
		}
		args = map[string]any{"id": r.Structured.Undo}
		if want = after; step == "again" {
			want = before
		}
	}
	return true
}

// mostHidden is how many paths a storm may hide from undo: most hide none, and one has been seen.
const mostHidden = 3

// Threads that rename the same paths over each other may hide a change of a few of these from undo, and of no other.
func TestConcurrentRenamesHideNoOtherChanges(t *testing.T) {
	t.Parallel()
	for _, storm := range storms {
		a := clitest.NewAgent(t, true)
		a.RunBashDirectly(repository)
		names := regexp.MustCompile(storm.names)
		others := func() map[string]string {
			all := a.SnapshotWorkspace()
			maps.DeleteFunc(all, func(name, _ string) bool { return names.MatchString(name) || name == "" || name == "/src" })
			return all
		}
		before, whole := others(), a.SnapshotWorkspace()
		if len(before) < 20 {
			t.Fatalf("%d paths are left to look at", len(before))
		}
		call := a.StartBatch()
		for range 3 {
			call(clitest.NewExecCall("rm -rf build two; " + storm.command))
			r := call(clitest.ToolCall{Tool: "undo", Args: map[string]any{}})
			if !r.OK {
				t.Errorf("%s: %v", storm.command, r.Error)
			}
			named := func(name string) bool {
				return slices.ContainsFunc(r.Structured.Conflicts, func(c clitest.UndoConflict) bool { return c.Path == a.Workspace+name })
			}
			if diff := clitest.DiffSnapshots(before, others()); diff != "" {
				t.Errorf("%s:\n%s", storm.command, diff)
			}
			hidden, now := 0, a.SnapshotWorkspace()
			for name, was := range whole {
				if names.MatchString(name) && !strings.HasPrefix(name, "/docs/") && now[name] != was && !named(name) {
					hidden++
				}
			}
			if hidden > mostHidden {
				t.Errorf("%s: %d paths are otherwise than before", storm.command, hidden)
			}
			if hidden > 0 {
				break // the next storm would begin elsewhere
			}
		}
	}
}

// Commands that change the same files are taken back one after another, to the beginning.
func TestUndoOfConsecutiveCommands(t *testing.T) {
	t.Parallel()
	a := clitest.NewAgent(t, true)
	var before []map[string]string
	for _, text := range []string{"echo one > f; mkdir d; echo x > d/x; ln -s f l", "echo two > t; mv t f; rm d/x",
		"rm f l; mv d e; echo z > e/z", "echo three > f; echo y > e/y", "mv f g; rm -r e"} {
		before = append(before, a.SnapshotWorkspace())
		if r := a.RunBatch(clitest.NewExecCall(text))[0]; !r.OK {
			t.Fatalf("%s: %v", text, r.Error)
		}
	}
	for i := len(before) - 1; i >= 0; i-- {
		r := a.RunBatch(clitest.ToolCall{Tool: "undo", Args: map[string]any{}})[0]
		if diff := clitest.DiffSnapshots(before[i], a.SnapshotWorkspace()); diff != "" || !r.OK {
			t.Fatalf("%d: %v\n%s", i, r.Error, diff)
		}
	}
}

// What can't be brought back is named in the result and in the history, and the rest comes back.
func TestUndoReportsUncoveredChanges(t *testing.T) {
	t.Parallel()
	a := clitest.NewAgent(t, true, "PICOCLAW_TOOLS_UNDO_MAX_SIZE=8MB")
	a.RunBashDirectly(`head -c 3000000 /dev/zero > data.bin; echo small > small`)
	ran := a.RunBatch(clitest.NewExecCall("rm data.bin small"), clitest.ToolCall{Tool: "history", Args: map[string]any{}})
	if said := strings.Join(ran[0].Structured.NotCovered, " "); !strings.Contains(said, "data.bin (2.9 MB") ||
		!strings.Contains(ran[0].Text, "not covered by undo") || !strings.Contains(ran[1].Text, "not covered: ") {
		t.Errorf("the result says %q and %q, the history %q", said, ran[0].Text, ran[1].Text)
	}
	undone := a.RunBatch(clitest.ToolCall{Tool: "undo", Args: map[string]any{}})[0]
	if data, err := os.ReadFile(filepath.Join(a.Workspace, "small")); string(data) != "small\n" || err != nil || !undone.OK {
		t.Errorf("%q %v: %v", data, err, undone.Error)
	}
}

// Files that somebody changed since the command are named and stay, and the rest is undone; a dry run changes nothing.
func TestUndoKeepsLaterChanges(t *testing.T) {
	t.Parallel()
	for change, conflicts := range map[string][]string{
		"echo mine > a":        {"a"},
		"echo mine > b":        {"b"},
		"echo mine > new/mine": {"new"},
		"echo mine > new/x":    {"new", "new/x"},
		"rm new/x":             nil,
		"mv new other":         {"new", "new/x"},
		"chmod 600 a":          {"a"},
		"mv a d/; mv d/a a":    {"a"},
	} {
		a := clitest.NewAgent(t, true)
		a.RunBashDirectly("echo one > a; echo two > b; mkdir d; echo three > c")
		a.RunBatch(clitest.NewExecCall("echo 1 > a; rm b c; mkdir new; echo x > new/x"))
		a.RunBashDirectly(change)
		changed := a.SnapshotWorkspace()
		dry := a.RunBatch(clitest.ToolCall{Tool: "undo", Args: map[string]any{"dry_run": true}})[0]
		if diff := clitest.DiffSnapshots(changed, a.SnapshotWorkspace()); diff != "" || !dry.OK || !strings.Contains(dry.Text, "Would be undone") {
			t.Errorf("dry run: %v %q\n%s", dry.Error, dry.Text, diff)
		}
		r := a.RunBatch(clitest.ToolCall{Tool: "undo", Args: map[string]any{}})[0]
		var got []string
		for _, c := range r.Structured.Conflicts {
			got = append(got, strings.TrimPrefix(c.Path, a.Workspace+"/"))
		}
		if !r.OK || !slices.Equal(got, conflicts) {
			t.Errorf("after %q the conflicts are %q: %v %s", change, got, r.Error, r.Text)
		}
		if data, err := os.ReadFile(filepath.Join(a.Workspace, "c")); string(data) != "three\n" {
			t.Errorf("after %q c is %q, %v", change, data, err)
		}
		now := a.SnapshotWorkspace()
		for _, path := range conflicts {
			if now["/"+path] != changed["/"+path] && !strings.HasPrefix(now["/"+path], "d") {
				t.Errorf("after %q %s is %q, and was %q", change, path, now["/"+path], changed["/"+path])
			}
		}
	}
}

// Undo with force puts former contents back where somebody changed a file since, and deletes nothing that the command
// did not make.
func TestForcedUndo(t *testing.T) {
	t.Parallel()
	a := clitest.NewAgent(t, true)
	a.RunBashDirectly("echo one > a; echo two > b")
	a.RunBatch(clitest.NewExecCall("echo 1 > a; rm b; mkdir new; echo x > new/x"))
	a.RunBashDirectly("echo mine > a; echo mine > b; echo mine > new/mine")
	r := a.RunBatch(clitest.ToolCall{Tool: "undo", Args: map[string]any{"force": true}})[0]
	if !r.OK {
		t.Error(r.Error)
	}
	for name, want := range map[string]string{"a": "one\n", "b": "two\n", "new/mine": "mine\n"} {
		if data, err := os.ReadFile(filepath.Join(a.Workspace, name)); string(data) != want {
			t.Errorf("%s is %q, %v", name, data, err)
		}
	}
}

// A host that is killed in the middle of a command leaves a store that opens, and what was kept comes back.
func TestUndoAfterKilledHost(t *testing.T) {
	t.Parallel()
	a := clitest.NewAgent(t, true)
	a.RunBashDirectly("for i in $(seq 300); do echo $i > f$i; done")
	before := a.SnapshotWorkspace()
	host := exec.Command(hosttest.ProgramPath("bin/picoclaw"), "batch")
	host.Env = a.Env
	host.Stdin = strings.NewReader(`{"id":1,"tool":"exec","args":{"command":"for f in f*; do rm $f; done; sleep 60"}}` + "\n")
	if err := host.Start(); err != nil {
		t.Fatal(err)
	}
	hosttest.WaitUntil(t, "files are deleted", func() bool {
		left, err := os.ReadDir(a.Workspace)
		return err == nil && len(left) < 200
	})
	_ = host.Process.Kill()
	_ = host.Wait()
	r := a.RunBatch(clitest.ToolCall{Tool: "undo", Args: map[string]any{}})[0]
	if !r.OK { // the plugin was killed before the command, and has not seen its end
		if !strings.Contains(r.Error.Message, "its end was not recorded") {
			t.Errorf("without force: %v", r.Error)
		}
		r = a.RunBatch(clitest.ToolCall{Tool: "undo", Args: map[string]any{"force": true}})[0]
	}
	after := a.SnapshotWorkspace()
	for name := range before { // times have whole seconds then
		if b, a := strings.Fields(before[name]), strings.Fields(after[name]); name != "" && (len(a) < 3 || b[2] != a[2]) {
			t.Errorf("%s: %v; now %v", name, b, a)
		}
	}
	if !r.OK {
		t.Error(r.Error)
	}
}

// Two agents that share a workspace each take back what is theirs, also while both are at work; what the other has
// changed since is a conflict.
func TestUndoOfTwoAgentsIsSeparate(t *testing.T) {
	t.Parallel()
	a := clitest.NewAgent(t, true)
	config := fmt.Sprintf(`{"agents": {"agents": [{"id": "one", "workspace": %q}, {"id": "two", "workspace": %[1]q}]}}`, a.Workspace)
	if err := os.WriteFile(filepath.Join(a.Home, "config.json"), []byte(config), 0o644); err != nil {
		t.Fatal(err)
	}
	a.RunBashDirectly("for i in $(seq 100); do echo $i > one$i; echo $i > two$i; done; echo x > both")
	before := a.SnapshotWorkspace()
	run := func(agent, tool string, args ...string) string {
		cmd := exec.Command(hosttest.ProgramPath("bin/picoclaw"), append([]string{"call", tool, "--agent", agent}, args...)...)
		cmd.Env = a.Env
		out, err := cmd.CombinedOutput()
		if err != nil {
			return "error: " + string(out)
		}
		return string(out)
	}
	var both sync.WaitGroup
	for _, agent := range []string{"one", "two"} {
		both.Go(func() {
			if out := run(agent, "exec", fmt.Sprintf("command=for i in $(seq 90); do mv %[1]s$i tmp-%[1]s; mv tmp-%[1]s gone-%[1]s; "+
				"done; rm -f %[1]s*", agent)); strings.HasPrefix(out, "error") {
				t.Error(out)
			}
		})
	}
	both.Wait()
	_ = run("two", "exec", "command=echo two > both")
	for _, step := range []struct{ agent, says string }{{"one", ""}, {"two", "both"}, {"two", ""}} {
		if out := run(step.agent, "undo", "force=true"); strings.HasPrefix(out, "error") || !strings.Contains(out, step.says) {
			t.Errorf("undo by %s: %s", step.agent, out)
		}
	}
	after := a.SnapshotWorkspace()
	for name := range before {
		if strings.HasPrefix(name, "/") && name != "/both" && strings.Fields(before[name])[2] != strings.Fields(after[name] + " - - -")[2] {
			t.Errorf("%s: %s, now %s", name, before[name], after[name])
		}
	}
}

// History marks changes of code that the user's build tools run, by commands and by file tools.
func TestHistoryMarksCodeRunByTools(t *testing.T) {
	t.Parallel()
	a := clitest.NewAgent(t, true)
	ran := a.RunBatch(clitest.NewExecCall("mkdir -p node_modules/a; echo > node_modules/a/package.json; echo > sub.mk; echo > main.go"),
		clitest.ToolCall{Tool: "write_file", Args: map[string]any{"path": "Makefile", "content": "all:\n"}},
		clitest.ToolCall{Tool: "history", Args: map[string]any{}})
	var marked []string
	for line := range strings.Lines(ran[2].Text) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "your build tools or hooks run: "); ok {
			marked = append(marked, filepath.Base(name))
		}
	}
	if !slices.Equal(marked, []string{"Makefile", "sub.mk"}) {
		t.Errorf("marked %q in\n%s", marked, ran[2].Text)
	}
}

// The undo of an undo restores a tree that is deeper than the number of directories that undo keeps open.
func TestUndoOfUndoRestoresDeepTree(t *testing.T) {
	t.Parallel()
	a := clitest.NewAgent(t, true)
	call := a.StartBatch()
	call(clitest.NewExecCall(`python3 -c 'import os
for i in range(100): os.mkdir("d"); os.chdir("d"); os.setxattr(".", "user.n", b"%d" % i)'`))
	made := a.SnapshotWorkspace()
	args := map[string]any{}
	for _, want := range []map[string]string{{}, made} {
		undone := call(clitest.ToolCall{Tool: "undo", Args: args})
		args["id"] = undone.Structured.Undo
		if now := a.SnapshotWorkspace(); !undone.OK || strings.Contains(undone.Text, "does not restore") || len(now) > len(want)+1 || len(want) > 0 &&
			clitest.DiffSnapshots(want, now) != "" {
			t.Errorf("%v %.2000s", undone.Error, undone.Text)
		}
	}
}
