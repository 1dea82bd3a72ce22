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

// repository is a repository with nested ones, and much that no version control has.
const repository = `
git init -q . ; git config gc.auto 0
mkdir -p src/deep/deeper build/obj node_modules/a/node_modules/b 'with space' docs
for i in $(seq 40); do echo "file $i" > src/f$i.txt; seq $i > src/deep/g$i; done
seq 5000 > build/big.o; head -c 300000 /dev/urandom > build/random.bin; : > build/empty
printf 'build/\nnode_modules/\n' > .gitignore
git add -A; git commit -qm one; git branch side; echo more >> src/f1.txt; git commit -qam two
ln src/f1.txt build/hard1; ln src/f1.txt build/hard2; ln -s ../src build/link; ln -s nowhere dangling
mkfifo build/pipe; chmod 755 src/f2.txt; chmod 640 src/f3.txt; chmod 700 src/deep/deeper
echo secret > .env; echo x > 'with space/a b'; echo ünï > docs/ünï; printf 'a\nb' > "docs/new
line"
for n in nested nested/inner; do mkdir -p $n; (cd $n; git init -q .; git config gc.auto 0; seq 30 > h; git add h; git commit -qm n); done
echo dirty >> nested/h; echo untracked > nested/u; git -C nested stash list
touch -d '2001-02-03 04:05:06.789' src/f4.txt build; touch -d '2002-02-02' src/deep; touch -hd '2003-03-03' dangling
mkdir odd odd/closed odd/$'not \xff\xfe utf8'; echo q > odd/$'\xffq'; echo w > odd/$'not \xff\xfe utf8'/w; ln -s $'to\xff' odd/link
python3 - <<'E'
import os
os.setxattr('odd/closed', 'user.kind', b'closed'); os.setxattr('src/f6.txt', 'user.raw', b'\xff\x00\xfe')
os.setxattr('odd', 'user.kind', b'odd')
E
echo c > odd/closed/c; chmod 1777 odd/closed; ln odd/closed/c odd/c2; mkdir -p two/x; echo t > two/x/t; chmod 500 two/x
`

// destroyers are commands of all kinds that destroy a repository.
var destroyers = []string{
	"rm -rf * .git .env", "rm -rf build node_modules", "git clean -fdxq; git reset -q --hard side", "find . -type f -delete",
	"find . -name '*.txt' -exec sed -i s/file/FILE/ {} +", "mv src gone; mv gone/deep elsewhere; rm -rf gone",
	"for f in src/*.txt; do mv $f $f.bak; done; rm src/f1.txt.bak", "truncate -s 0 src/*.txt; chmod 000 src/f5.txt",
	"python3 -c \"import shutil; shutil.rmtree('nested')\"; mkdir nested; echo other > nested/h",
	"perl -e 'unlink glob(\"src/deep/*\"); rename \"docs\", \"papers\"; open F, \">\", \"src\"; '; rm -rf src; echo a file now > src",
	"cp -r src src2; rm -rf src; mv src2 src", "tar cf all.tar . 2>/dev/null; rm -rf src; tar xf all.tar; rm all.tar",
	"git checkout -q side; git branch -D master main; git stash -q; rm -rf .git/refs", "mv .git .git2; git init -q .; rm -rf .git2",
	"echo x > build/hard1; rm src/f1.txt; ln build/hard2 again", "ln -sfn docs build/link; rm dangling; touch nowhere",
	"chmod -R a-w src; chmod 777 . src; touch -d yesterday src/* build", "rm build/pipe; mkfifo build/pipe2; rm -rf 'with space'",
	"mv src a; mv build src; mv a build", "mv nested/inner inner; rm -rf nested; mv inner nested",
	"dd if=/dev/zero of=build/random.bin bs=1000 count=3 conv=notrunc 2>/dev/null; seq 9 >> build/big.o",
	"rsync -a --delete docs/ src/ 2>/dev/null || cp docs/* src; rm -rf docs", "sed -i d src/f*.txt; rm -f src/f1*; git add -A; git rm -rqf .",
	"(sleep 0.2; rm -rf src) & rm -rf build; wait", "printf '%s\\n' src/f* | xargs rm; mkdir src/f1.txt; echo in > src/f1.txt/in",
	"python3 - <<'E'\nimport os\nfor d, _, fs in os.walk('src'):\n  for f in fs:\n    p = os.path.join(d, f)\n    if f[0] != 'h': os.replace(p, p + '~')\nE\n",
	"rm -rf src/deep; ln -s ../docs src/deep; echo through > src/deep/ünï", "git -C nested checkout -q -- .; git -C nested clean -fdxq",
	"mv odd oo; mkdir odd; mv oo odd/; mv odd x; mv two odd; mv x two", "mv two a; mkdir two; mv a/x two/y; touch two/y/../n",
	"rm odd/closed/c; mkdir odd/closed/c; touch odd/closed/c/x; rm -r odd/closed; echo f > odd/closed; echo more >> odd/c2",
	"rm -rf odd; mkdir -p odd/closed; mv two/x odd/closed/x; rm -rf two", "chmod 0 two/x odd/closed; mv two odd/closed || mv two t",
	"python3 -c \"import os; os.removexattr('odd', 'user.kind'); os.setxattr('src', 'user.new', b'1'); os.setxattr('src/f6.txt', 'user.raw', b'x')\"",
	"rm -r odd/closed; mkdir odd/closed; python3 -c \"import os; os.setxattr('odd/closed', 'user.kind', b'other')\"",
	"for d in *; do mv \"$d\" a$$; mkdir \"$d\"; mv a$$ \"$d/$d\"; done", "rm src/f1.txt; ln src/f2.txt src/f1.txt; echo both >> src/f1.txt",
	"mv src/f1.txt src/t; mv src/f2.txt src/f1.txt; mv src/t src/f2.txt; rm src/f1.txt; echo new > src/f1.txt", "rm -rf src; mv build src; mkdir build; mv src/obj build",
	"for i in 1 2 3; do mv src s$i; mkdir src; mv s$i/* src/; rmdir s$i; done", "touch -h build/link dangling; ln -sfn x odd/link; mv odd/link src",
	"for k in 1 2 3; do (for i in $(seq 2 30); do mv src/f$i.txt s$k-$i; mv s$k-$i src/f$((i+1)).txt; done) 2>/dev/null & done; wait",
	"python3 - <<'E'\nimport os, threading\ndef storm(k):\n  for i in range(100):\n    for a, b in (('src/f2.txt', f'x{k}'), (f'x{k}', 'src/f3.txt'), ('docs', f'y{k}'), (f'y{k}', 'docs'), ('src/f3.txt', 'src/f2.txt')):\n" +
		"      try: os.rename(a, b)\n      except OSError: pass\nts = [threading.Thread(target=storm, args=(k,)) for k in range(4)]\n[t.start() for t in ts]\n[t.join() for t in ts]\nos.rename('docs', 'end')\nE\n",
	"mkdir new; mv * new 2>/dev/null; mv new/src/f1.txt .; rm -rf new/build", "cd src; rm f*; cd deep; mv g1 ../../; rm -rf ../deep",
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
