package run_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/picoclaw/picoclaw/cmd/internal/clitest"
	"github.com/picoclaw/picoclaw/host/hosttest"
)

// burst is one entry of a run's history.
type burst struct {
	ID      string `json:"id"`
	Summary string `json:"summary"`
	Undone  bool   `json:"undone"`
	Partly  bool   `json:"partly_undone"`
	Ongoing bool   `json:"ongoing"`
	Undoes  string `json:"undoes"`
}

// bursts returns the bursts of the newest run, the newest first.
func (p *project) bursts() (all []burst) {
	p.t.Helper()
	cmd := p.picoclaw("history", "--output", "json", "--limit", "1000")
	text, err := cmd.Output()
	var result struct {
		Structured struct {
			Operations []burst `json:"operations"`
		} `json:"structured"`
	}
	if err != nil || json.Unmarshal(text, &result) != nil {
		p.t.Fatalf("history: %v %s", err, text)
	}
	return slices.DeleteFunc(result.Structured.Operations, func(b burst) bool { return b.Undoes != "" })
}

// contents returns the contents and modes of the project's files, by path.
func (p *project) contents() map[string]string {
	p.t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(p.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		text := info.Mode().String()
		if info.Mode().IsRegular() {
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			text += " " + string(data)
		}
		all[strings.TrimPrefix(path, p.dir)] = text
		return nil
	})
	if err != nil {
		p.t.Fatal(err)
	}
	return all
}

func (p *project) checkContents(want map[string]string, when string) {
	p.t.Helper()
	now := p.contents()
	for path := range maps.Keys(now) {
		if _, ok := want[path]; !ok {
			p.t.Errorf("%s: %s exists: %.200q", when, path, now[path])
		}
	}
	for path, text := range want {
		if now[path] != text {
			p.t.Errorf("%s: %s is %.200q, want %.200q", when, path, now[path], text)
		}
	}
}

// start starts a shell script in the sandbox. The script continues at `wait NAME` when the file NAME appears.
func (p *project) start(script string) (cmd command, out *clitest.OutputBuffer) {
	p.t.Helper()
	out = &clitest.OutputBuffer{}
	cmd = p.picoclaw("run", "--", "sh", "-c", `wait() { while [ ! -e "$1" ]; do sleep 0.02; done; }; `+script)
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	return cmd, out
}

func (p *project) write(name, text string) {
	p.t.Helper()
	if err := os.WriteFile(filepath.Join(p.dir, name), []byte(text), 0o600); err != nil {
		p.t.Fatal(err)
	}
}

// Quiet seconds end a burst. A file that a later burst wrote again is a conflict, and undo --run restores it.
func TestUndoInBursts(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	p.write("shared", "before")
	before := p.contents()
	cmd, out := p.start(`write() { python3 -c 'import sys
for name in sys.argv[2:]: open(name, "w").write(sys.argv[1])' "$@"; }; write 1 shared first; echo done; wait go; write 2 shared second`)
	hosttest.WaitUntil(t, "the burst has ended", func() bool {
		if !strings.Contains(out.String(), "done") {
			return false
		}
		all := p.bursts()
		return len(all) == 1 && !all[0].Ongoing
	})
	p.write("go", "")
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v %s", err, out.String())
	}
	all := p.bursts()
	if len(all) != 2 || !strings.Contains(all[1].Summary, "first") || !strings.Contains(all[0].Summary, "second") {
		t.Fatalf("bursts: %+v", all)
	}
	left, err := p.picoclaw("undo", all[1].ID).CombinedOutput()
	if err == nil || !strings.Contains(string(left), "shared has changed since") || p.read("shared") != "2" ||
		!strings.Contains(p.read("first"), "no such file") {
		t.Errorf("undo of the first burst: %v %s", err, left)
	}
	text := p.picoclaw("undo", "--run").mustRun(t)
	if !strings.Contains(text, "of run ") {
		t.Errorf("undo --run: %s", text)
	}
	before["/go"] = "-rw------- "
	p.checkContents(before, "after undo --run")
	if out, err := p.picoclaw("undo", "--run").CombinedOutput(); err == nil || !strings.Contains(string(out), "nothing to undo") {
		t.Errorf("%v %s", err, out)
	}
}

// The client's Stop hook ends a burst. Undo without an ID undoes the last one, and --agent means the agent's changes.
func TestTurnEndsBurst(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	stop := "echo '{\"hook_event_name\":\"Stop\",\"cwd\":\"'$PWD'\"}' | " + hosttest.ProgramPath("bin/picoclaw") + " hook claude; "
	_, stderr, code := p.run("echo 1 > a; " + stop + stop + "echo 2 > b; " + stop + "echo 3 > c; echo x > .git/hooks/post-commit; true")
	all := p.bursts()
	if code != 0 || len(all) != 3 {
		t.Fatalf("exit code %d, bursts %+v: %s", code, all, stderr)
	}
	for i, name := range []string{"c", "b"} {
		if out := p.picoclaw("undo").mustRun(t); !strings.Contains(p.read(name), "no such file") || strings.Contains(p.read("a"), "no such file") {
			t.Errorf("undo %d: %s", i, out)
		}
	}
	if _, stderr, code := p.run("echo 4 > d"); code != 0 {
		t.Fatal(stderr)
	}
	if out := p.picoclaw("undo", all[2].ID).mustRun(t); !strings.Contains(p.read("a"), "no such file") || strings.Contains(p.read("d"), "no such file") {
		t.Errorf("undo of an older run's burst: %s", out)
	}
	if out, err := p.picoclaw("undo", "--agent", "main").CombinedOutput(); err == nil || !strings.Contains(string(out), "nothing to undo") {
		t.Errorf("the agent's own store: %v %s", err, out)
	}
}

// busyScript is a program that makes random changes in threads, with files that stay open, and ends turns meanwhile.
const busyScript = `
import json, os, random, socket, sys, threading
seed, turns = int(sys.argv[1]), 0
def turn():
    global turns
    s = socket.socket(socket.AF_UNIX); s.connect(os.environ["PICOCLAW_HOOK_SOCKET"])
    s.sendall(b'"turn ended"\n'); s.recv(100); turns += 1
def work(n):
    r = random.Random(seed * 10 + n)
    d = "t%d" % n
    os.makedirs(d + "/sub", exist_ok=True)
    log = open(d + "/log", "a")
    i = 0
    while i < 60 or turns < 4:
        i += 1
        log.write("%d\n" % i); log.flush()
        k = r.randrange(7)
        if k == 0: open(d + "/f%d" % r.randrange(3), "w").write(str(i))
        elif k == 1:
            open(d + "/temp", "w").write("r%d" % i); os.rename(d + "/temp", d + "/f%d" % r.randrange(3))
        elif k == 2: open(d + "/sub/s%d" % r.randrange(3), "a").write("+")
        elif k == 3: os.rename(d + "/sub", d + "/sub2"); os.rename(d + "/sub2", d + "/sub")
        elif k == 4:
            try: os.remove(d + "/f%d" % r.randrange(3))
            except FileNotFoundError: pass
        elif k == 5: open("shared%d" % n, "w").write(str(i)); os.chmod("shared%d" % n, 0o600 + r.randrange(0o100))
        else:
            log.close(); log = open(d + "/log", "a")
    log.close()
threads = [threading.Thread(target=work, args=(n,)) for n in range(3)]
for t in threads: t.start()
r = random.Random(seed)
while any(t.is_alive() for t in threads):
    for t in threads: t.join(r.random() * 0.05)
    turn()
`

// Undo of all bursts, the newest first, restores the project, whenever bursts end. So does undo --run, also after some
// bursts were undone in any order.
func TestUndoOfRandomBursts(t *testing.T) {
	t.Parallel()
	for seed := range 4 {
		p := newProject(t)
		p.write("script.py", busyScript)
		for n := range 3 {
			if err := os.MkdirAll(filepath.Join(p.dir, fmt.Sprintf("t%d", n), "sub"), 0o700); err != nil {
				t.Fatal(err)
			}
			for _, name := range []string{"log", "f0", "f1", "sub/s0"} {
				p.write(fmt.Sprintf("t%d/%s", n, name), "before")
			}
			p.write(fmt.Sprintf("shared%d", n), "before")
		}
		before := p.contents()
		if _, stderr, code := p.run(fmt.Sprintf("python3 script.py %d", seed)); code != 0 {
			t.Fatal(stderr)
		}
		all := p.bursts()
		if len(all) < 3 {
			t.Errorf("seed %d: %d bursts", seed, len(all))
		}
		if seed%2 == 0 {
			for _, b := range all {
				p.picoclaw("undo", b.ID).mustRun(t)
			}
		} else {
			var log []byte
			for range 1 + rand.IntN(3) {
				n := rand.IntN(len(all))
				out, _ := p.picoclaw("undo", all[n].ID).CombinedOutput() // may have conflicts only
				log = fmt.Appendf(log, "undo of burst %d from the end: %s\n", n, out)
			}
			log = append(log, p.picoclaw("undo", "--run").mustRun(t)...)
			defer func() {
				if t.Failed() {
					t.Logf("%s", log)
				}
			}()
		}
		p.checkContents(before, fmt.Sprintf("seed %d, %d bursts", seed, len(all)))
	}
}
