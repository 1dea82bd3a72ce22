package isolation

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// Landlock holds a child to its profile with nothing installed. Each attack is shown to work without it, and the
// thread that carried the restriction leaves this process as free as it was.
func TestConfinedChildReachesOnlyProfile(t *testing.T) {
	base := realTemp(t)
	work, outside := filepath.Join(base, "work"), filepath.Join(base, "outside")
	put(t, filepath.Join(work, "a"), "in work")
	put(t, filepath.Join(outside, "canary"), "canary")
	put(t, filepath.Join(base, "shown", "b"), "shown")
	i := configured(t, Config{Home: filepath.Join(base, "home")})
	p := Profile{ReadWrite: []string{work}, ReadOnly: []string{filepath.Join(base, "shown")}, Exec: true, Network: true}

	for name, attack := range map[string]string{
		"read":         "cat " + outside + "/canary",
		"list":         "ls " + outside,
		"write":        "echo x > " + outside + "/new && rm " + outside + "/new",
		"change":       "echo -n >> " + outside + "/canary",
		"write shown":  "echo -n >> " + base + "/shown/b",
		"rename out":   "touch " + work + "/m && mv " + work + "/m " + outside + "/m && rm " + outside + "/m",
		"through link": "ln -sfn " + outside + " " + work + "/link && cat " + work + "/link/canary",
		"environ":      "cat /proc/" + strconv.Itoa(os.Getpid()) + "/environ",
		"descriptors":  "readlink /proc/" + strconv.Itoa(os.Getpid()) + "/fd/1",
		"signal":       "kill -0 " + strconv.Itoa(os.Getpid()),
	} {
		t.Run(name, func(t *testing.T) {
			free := outcome(t, i, shell(attack), p)
			if !free.exit.Success() {
				t.Fatalf("without confinement the attack fails too, so nothing is shown: %s", free.stderr)
			}
			confined := p
			confined.Confine = true
			if r := outcome(t, i, shell(attack), confined); r.exit.Success() || strings.Contains(r.stdout, "canary") {
				t.Errorf("it works: %q", r.stdout)
			}
		})
	}
	p.Confine = true
	for name, work := range map[string]string{
		"its files": "cat " + work + "/a && echo more >> " + work + "/a && mkdir -p " + work + "/d && mv " + work +
			"/a " + work + "/d/a",
		"what is shown": "cat " + base + "/shown/b",
		"programs":      "echo x | sed s/x/y/ | grep y > /dev/null && id",
		"its script":    "printf '#!/bin/sh\\necho ran\\n' > " + work + "/s && chmod +x " + work + "/s && " + work + "/s",
		"its children":  "sleep 300 & kill $!",
	} {
		if r := outcome(t, i, shell(work), p); !r.exit.Success() {
			t.Errorf("%s: %s", name, r.stderr)
		}
	}
	if _, err := os.ReadFile(filepath.Join(outside, "canary")); err != nil {
		t.Errorf("this process is confined as well: %v", err)
	}
	if out, err := exec.Command("cat", filepath.Join(outside, "canary")).CombinedOutput(); err != nil {
		t.Errorf("another child is confined as well: %s", out)
	}
}

// The first thread of this process is never the one that is restricted, however busy the others are: a child could
// else look into this process.
func TestMainThreadStaysUnconfined(t *testing.T) {
	i := configured(t, Config{})
	p := Profile{Exec: true, Confine: true}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 25 {
				if r := outcome(t, i, shell("cat /proc/"+strconv.Itoa(os.Getpid())+"/environ > /dev/null"), p); r.exit.Success() {
					t.Error("a confined child can read this process's environment")
					return
				}
			}
		})
	}
	wg.Wait()
}

func TestConfinedChildWithoutExecStartsNothing(t *testing.T) {
	base := realTemp(t)
	put(t, filepath.Join(base, "a"), "x")
	i := configured(t, Config{})
	p := Profile{ReadWrite: []string{base}, Confine: true}
	if r := outcome(t, i, child("read", filepath.Join(base, "a")), p); r.stdout != "x" {
		t.Errorf("a static program can't work: %s", r.stderr)
	}
	if r := outcome(t, i, child("read", "/etc/hostname"), p); r.exit.Success() {
		t.Error("it reads what its profile does not name")
	}
	if _, err := i.Start(shell("true"), p); err == nil || !strings.Contains(err.Error(), "CGO_ENABLED=0") {
		t.Errorf("a program that needs libraries is started: %v", err)
	}
}

// A child of root keeps no capability but those for files of any owner.
func TestConfinementDropsCapabilities(t *testing.T) {
	i := configured(t, Config{})
	r := outcome(t, i, shell("grep -E '^(CapPrm|CapEff|NoNewPrivs)' /proc/self/status"),
		Profile{Exec: true, Confine: true})
	for _, line := range strings.Split(strings.TrimSpace(r.stdout), "\n") {
		name, value, _ := strings.Cut(line, ":")
		n, err := strconv.ParseUint(strings.TrimSpace(value), 16, 64)
		if err != nil {
			t.Fatalf("%q: %v", r.stdout, err)
		}
		if name == "NoNewPrivs" && n != 1 || name != "NoNewPrivs" && n&^fileCapabilities != 0 {
			t.Errorf("%s is %x", name, n)
		}
	}
}

// A child that may start some programs starts these and no others, not by the dynamic linker either; with the list
// taken away, all of it works.
func TestOnlyListedProgramsStart(t *testing.T) {
	const script = `
true && /usr/bin/true && echo started true
uname > /dev/null 2>&1 && echo GOT uname
for linker in /lib64/ld-linux-x86-64.so.2 /lib/ld-linux-aarch64.so.1; do
	[ -e $linker ] && $linker /usr/bin/uname > /dev/null 2>&1 && echo GOT uname by the linker
done
cat /usr/bin/ls > /dev/null 2>&1 && echo GOT cat
cp /usr/bin/ls ls 2>/dev/null && echo GOT a copy
echo over`
	for name, enabled := range map[string]bool{"plain": false, "isolated": true} {
		t.Run(name, func(t *testing.T) {
			i := configured(t, Config{Enabled: enabled})
			dir := realTemp(t)
			run := func(programs ...string) string {
				t.Helper()
				cmd := shell("cd " + dir + "; " + script)
				return outcome(t, i, cmd, Profile{Exec: true, Confine: true, ReadWrite: []string{dir}, Programs: programs}).stdout
			}
			got := run("sh", "true")
			if strings.Contains(got, "GOT") || !strings.Contains(got, "started true") || !strings.Contains(got, "over") {
				t.Errorf("with only sh and true:\n%s", got)
			}
			if all := run(); strings.Count(all, "GOT") < 4 {
				t.Errorf("without the list, what is refused by it:\n%s", all)
			}
		})
	}
}
