package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/picoclaw/picoclaw/host/hosttest"
	"github.com/picoclaw/picoclaw/sdk/workspace"
)

// undoAgent is an agent whose commands are confined and kept track of.
type undoAgent struct {
	t    *testing.T
	home string
	dir  string // the workspace
	env  []string
}

// newUndoAgent makes a home outside /tmp: a sandbox has one of its own.
func newUndoAgent(t *testing.T, isolated bool, settings ...string) *undoAgent {
	t.Helper()
	home, err := os.MkdirTemp("/var/tmp", "p")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(home) })
	a := &undoAgent{t: t, home: home, dir: filepath.Join(home, "workspace")}
	a.env = append([]string{"PICOCLAW_HOME=" + home, "PATH=" + os.Getenv("PATH"), "HOME=" + home,
		"PICOCLAW_TOOLS_EXEC_ENABLE_DENY_PATTERNS=false", "PICOCLAW_WORKSPACE_PROTECT_ENABLED=false", fmt.Sprintf("PICOCLAW_ISOLATION_ENABLED=%v", isolated)}, settings...)
	if err := os.Mkdir(a.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return a
}

// shell runs a script in the workspace, with no tool in between.
func (a *undoAgent) shell(script string) {
	a.t.Helper()
	cmd := exec.Command("bash", "-ec", script)
	cmd.Dir = a.dir
	cmd.Env = append(a.env, "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b")
	if out, err := cmd.CombinedOutput(); err != nil {
		a.t.Fatalf("%s: %v\n%s", script, err, out)
	}
}

type undoCall struct {
	Tool string         `json:"tool"`
	Args map[string]any `json:"args"`
}

type undoAnswer struct {
	OK         bool   `json:"ok"`
	Text       string `json:"text"`
	Structured struct {
		NotCovered []string `json:"not_covered"`
		Changes    struct {
			Undo string `json:"undo"`
		} `json:"changes"`
		Undo      string   `json:"undo"`
		Protected []string `json:"protected"`
		PutAside  []string `json:"put_aside"`
	} `json:"structured"`
	Error struct {
		Code    string `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
}

// calls makes calls one after another.
func (a *undoAgent) calls(calls ...undoCall) []undoAnswer {
	a.t.Helper()
	var in bytes.Buffer
	for i, c := range calls {
		line, err := json.Marshal(map[string]any{"id": fmt.Sprint(i), "tool": c.Tool, "args": c.Args})
		if err != nil {
			a.t.Fatal(err)
		}
		fmt.Fprintf(&in, "%s\n", line)
	}
	cmd := exec.Command(hosttest.Program("bin/picoclaw"), "batch", "--jobs", "1")
	cmd.Env, cmd.Stdin, cmd.Stderr = a.env, &in, os.Stderr
	out, _ := cmd.Output() // a call that fails makes it exit with 1
	var answers []undoAnswer
	for line := range strings.Lines(string(out)) {
		var r undoAnswer
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			a.t.Fatalf("%v: %s", err, line)
		}
		answers = append(answers, r)
	}
	if len(answers) != len(calls) {
		a.t.Fatalf("%d answers to %d calls: %s", len(answers), len(calls), out)
	}
	return answers
}

func command(text string) undoCall { return undoCall{"exec", map[string]any{"command": text}} }

// snapshot describes everything in the workspace: kind, mode, contents, time, links, and which names are one file.
func (a *undoAgent) snapshot() map[string]string {
	a.t.Helper()
	all, first := map[string]string{}, map[uint64]string{}
	err := filepath.WalkDir(a.dir, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrPermission) && d != nil {
			return fs.SkipDir // it was described already; what is in it is looked at once it is open again
		}
		if err != nil {
			return err
		}
		name := strings.TrimPrefix(path, a.dir)
		if strings.HasPrefix(name, "/.picoclaw") {
			return filepath.SkipDir
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		line := fmt.Sprint(info.Mode(), " ")
		switch {
		case info.Mode()&fs.ModeSymlink != 0:
			to, err := os.Readlink(path)
			all[name] = fmt.Sprint(line, to, info.ModTime().UnixNano())
			return err
		case info.Mode().IsRegular():
			data, err := os.ReadFile(path)
			if errors.Is(err, fs.ErrPermission) {
				data, err = []byte("closed to everybody"), nil
			}
			if err != nil {
				return err
			}
			line += fmt.Sprintf("%d %.40q %x ", len(data), data, cheapSum(data))
			stat := info.Sys().(*syscall.Stat_t)
			if stat.Nlink > 1 {
				if first[stat.Ino] == "" {
					first[stat.Ino] = name
				}
				line += "same as " + first[stat.Ino]
			}
		}
		if info.Mode().IsRegular() || info.IsDir() {
			line += attributes(a.t, path)
		}
		all[name] = line + fmt.Sprint(info.ModTime().UnixNano())
		return nil
	})
	if err != nil {
		a.t.Fatal(err)
	}
	return all
}

// attributes describes the extended attributes of a file that programs may set.
func attributes(t *testing.T, path string) string {
	t.Helper()
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrPermission) {
		return ""
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	all, err := workspace.Attributes(f)
	if err != nil {
		t.Fatal(err)
	}
	text := ""
	for _, name := range slices.Sorted(maps.Keys(all)) {
		text += fmt.Sprintf("%s=%q ", name, all[name])
	}
	return text
}

// differences names some paths that two snapshots differ in.
func differences(a, b map[string]string) string {
	var lines []string
	for name := range a {
		if a[name] != b[name] {
			lines = append(lines, fmt.Sprintf("%q: %s; now %s", name, a[name], b[name]))
		}
	}
	for name := range b {
		if _, ok := a[name]; !ok {
			lines = append(lines, fmt.Sprintf("%q: now %s", name, b[name]))
		}
	}
	slices.Sort(lines)
	return strings.Join(lines[:min(len(lines), 12)], "\n")
}

func cheapSum(data []byte) (sum uint64) {
	for _, b := range data {
		sum = sum*1099511628211 + uint64(b)
	}
	return sum
}

// Whatever a command destroys comes back to the byte, with modes, times and links, in one step; and taking that back
// does again what it had done.
func TestWhatCommandsDestroyComesBack(t *testing.T) {
	more, seed := 0, uint64(1)
	if !testing.Short() {
		more = 5
	}
	if text := os.Getenv("PICOCLAW_TEST_DESTROY"); text != "" { // how often, and the seed
		if _, err := fmt.Sscan(text, &more, &seed); err != nil {
			t.Fatal(err)
		}
	}
	for _, how := range []struct{ isolated, protected bool }{{true, false}, {false, false}, {true, true}} {
		if testing.Short() && (!how.isolated || how.protected) {
			continue // the way to the changes is the same; test-long has it
		}
		t.Run(fmt.Sprintf("%+v", how), func(t *testing.T) {
			a := newUndoAgent(t, how.isolated, fmt.Sprintf("PICOCLAW_WORKSPACE_PROTECT_ENABLED=%v", how.protected))
			a.shell(repository)
			random := rand.New(rand.NewPCG(seed, 2))
			rounds := slices.Clone(destroyers)
			for range more { // several one after another, as one command
				var parts []string
				for range 1 + random.IntN(3) {
					parts = append(parts, "("+destroyers[random.IntN(len(destroyers))]+"\n)")
				}
				rounds = append(rounds, strings.Join(parts, "; "))
			}
			for _, text := range rounds {
				if !a.destroy(text) {
					a.shell("cd ..; chmod -R u+rwx workspace; rm -rf workspace; mkdir workspace; cd workspace;" + repository)
				}
			}
		})
	}
}

// destroy runs a command, and takes it back, does it again and takes it back once more. It reports whether everything
// was as it should be each time.
func (a *undoAgent) destroy(text string) bool {
	a.t.Helper()
	before := a.snapshot()
	ran := a.calls(command(text))[0]
	if len(ran.Structured.NotCovered) > 0 {
		a.t.Errorf("%s: not covered: %q", text, ran.Structured.NotCovered)
	}
	after := a.snapshot()
	if maps.Equal(before, after) {
		return true
	}
	args, want := map[string]any{}, before
	for _, step := range []string{"undone", "again", "back"} {
		r := a.calls(undoCall{"undo", args})[0]
		if diff := differences(want, a.snapshot()); diff != "" || !r.OK {
			a.t.Errorf("%s, %s: %v\n%s", step, text, r.Error, diff)
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
func TestStormsOfRenamesHideNothingElse(t *testing.T) {
	for _, storm := range storms {
		a := newUndoAgent(t, true)
		a.shell(repository)
		names := regexp.MustCompile(storm.names)
		others := func() map[string]string {
			all := a.snapshot()
			maps.DeleteFunc(all, func(name, _ string) bool { return names.MatchString(name) || name == "/" || name == "/src" })
			return all
		}
		before, whole := others(), a.snapshot()
		if len(before) < 20 {
			t.Fatalf("%d paths are left to look at", len(before))
		}
		for range 3 {
			a.calls(command("rm -rf build two; " + storm.command))
			if r := a.calls(undoCall{"undo", map[string]any{}})[0]; !r.OK {
				t.Errorf("%s: %v", storm.command, r.Error)
			}
			if diff := differences(before, others()); diff != "" {
				t.Errorf("%s:\n%s", storm.command, diff)
			}
			hidden, now := 0, a.snapshot()
			for name, was := range whole {
				if names.MatchString(name) && !strings.HasPrefix(name, "/docs/") && now[name] != was {
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
func TestCommandsAreTakenBackOneAfterAnother(t *testing.T) {
	a := newUndoAgent(t, true)
	var before []map[string]string
	for _, text := range []string{"echo one > f; mkdir d; echo x > d/x; ln -s f l", "echo two > t; mv t f; rm d/x",
		"rm f l; mv d e; echo z > e/z", "echo three > f; echo y > e/y", "mv f g; rm -r e"} {
		before = append(before, a.snapshot())
		if r := a.calls(command(text))[0]; !r.OK {
			t.Fatalf("%s: %v", text, r.Error)
		}
	}
	for i := len(before) - 1; i >= 0; i-- {
		r := a.calls(undoCall{"undo", map[string]any{}})[0]
		if diff := differences(before[i], a.snapshot()); diff != "" || !r.OK {
			t.Fatalf("%d: %v\n%s", i, r.Error, diff)
		}
	}
}

// What can't be brought back is named in the result and in the history, and the rest comes back.
func TestWhatUndoDoesNotCoverIsSaid(t *testing.T) {
	a := newUndoAgent(t, true, "PICOCLAW_TOOLS_UNDO_MAX_SIZE=8MB")
	a.shell(`head -c 3000000 /dev/zero > data.bin; echo small > small`)
	ran := a.calls(command("rm data.bin small"), undoCall{"history", map[string]any{}})
	if said := strings.Join(ran[0].Structured.NotCovered, " "); !strings.Contains(said, "data.bin (2.9 MB") ||
		!strings.Contains(ran[0].Text, "not covered by undo") || !strings.Contains(ran[1].Text, "not covered: ") {
		t.Errorf("the result says %q and %q, the history %q", said, ran[0].Text, ran[1].Text)
	}
	undone := a.calls(undoCall{"undo", map[string]any{}})[0]
	if data, err := os.ReadFile(filepath.Join(a.dir, "small")); string(data) != "small\n" || err != nil || !undone.OK {
		t.Errorf("%q %v: %v", data, err, undone.Error)
	}
}

// Nothing is undone where one of the files has changed since, unless that is asked for; a dry run changes nothing.
func TestUndoOfACommandRefusesWhatHasChangedSince(t *testing.T) {
	a := newUndoAgent(t, true)
	a.shell("echo one > a; echo two > b; mkdir d")
	a.calls(command("echo 1 > a; rm b; mkdir new; echo x > new/x"))
	before := a.snapshot()
	if r := a.calls(undoCall{"undo", map[string]any{"dry_run": true}})[0]; !r.OK || !strings.Contains(r.Text, "Would be undone") {
		t.Errorf("dry run: %v %q", r.Error, r.Text)
	}
	for _, change := range []string{"echo mine > a", "echo mine > b", "echo mine > new/mine", "echo mine > new/x"} {
		a.shell(change)
		changed := a.snapshot()
		r := a.calls(undoCall{"undo", map[string]any{}})[0]
		if diff := differences(changed, a.snapshot()); r.OK || r.Error.Code != "conflict" || diff != "" {
			t.Errorf("after %q: %v\n%s", change, r.Error, diff)
		}
		if change == "echo mine > b" {
			a.shell("rm b")
		}
	}
	if maps.Equal(before, a.snapshot()) {
		t.Fatal("nothing had changed")
	}
	r := a.calls(undoCall{"undo", map[string]any{"force": true}})[0]
	if data, err := os.ReadFile(filepath.Join(a.dir, "b")); string(data) != "two\n" || err != nil || !r.OK {
		t.Errorf("forced: %q %v: %v", data, err, r.Error)
	}
	if _, err := os.Stat(filepath.Join(a.dir, "new", "mine")); err != nil {
		t.Errorf("what the command did not make was deleted: %v", err)
	}
}

// A host that is killed in the middle of a command leaves a store that opens, and what was kept comes back.
func TestWhatAKilledCommandDestroyedComesBack(t *testing.T) {
	a := newUndoAgent(t, true)
	a.shell("for i in $(seq 300); do echo $i > f$i; done")
	before := a.snapshot()
	host := exec.Command(hosttest.Program("bin/picoclaw"), "batch")
	host.Env = a.env
	host.Stdin = strings.NewReader(`{"id":1,"tool":"exec","args":{"command":"for f in f*; do rm $f; done; sleep 60"}}` + "\n")
	if err := host.Start(); err != nil {
		t.Fatal(err)
	}
	hosttest.Eventually(t, "files are deleted", func() bool {
		left, err := os.ReadDir(a.dir)
		return err == nil && len(left) < 200
	})
	_ = host.Process.Kill()
	_ = host.Wait()
	r := a.calls(undoCall{"undo", map[string]any{}})[0]
	if !r.OK { // the plugin was killed before the command, and has not seen its end
		if !strings.Contains(r.Error.Message, "its end was not seen") {
			t.Errorf("without force: %v", r.Error)
		}
		r = a.calls(undoCall{"undo", map[string]any{"force": true}})[0]
	}
	after := a.snapshot()
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
func TestTwoAgentsTakeBackTheirOwn(t *testing.T) {
	a := newUndoAgent(t, true)
	config := fmt.Sprintf(`{"agents": {"agents": [{"id": "one", "workspace": %q}, {"id": "two", "workspace": %[1]q}]}}`, a.dir)
	if err := os.WriteFile(filepath.Join(a.home, "config.json"), []byte(config), 0o644); err != nil {
		t.Fatal(err)
	}
	a.shell("for i in $(seq 100); do echo $i > one$i; echo $i > two$i; done; echo x > both")
	before := a.snapshot()
	run := func(agent, tool string, args ...string) string {
		cmd := exec.Command(hosttest.Program("bin/picoclaw"), append([]string{"call", tool, "--agent", agent}, args...)...)
		cmd.Env = a.env
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
	after := a.snapshot()
	for name := range before {
		if strings.HasPrefix(name, "/") && name != "/both" && strings.Fields(before[name])[2] != strings.Fields(after[name] + " - - -")[2] {
			t.Errorf("%s: %s, now %s", name, before[name], after[name])
		}
	}
}
