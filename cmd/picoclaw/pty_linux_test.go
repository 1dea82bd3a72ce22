package main

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/picoclaw/picoclaw/host/hosttest"
)

// console is a terminal with picoclaw on it.
type console struct {
	t    *testing.T
	home string
	end  *os.File // the person's end
	cmd  *exec.Cmd

	mu   sync.Mutex
	seen bytes.Buffer
}

// onTerminal starts picoclaw on a terminal, in a home of its own.
func onTerminal(t *testing.T, home string, env []string, args ...string) *console {
	t.Helper()
	return onTerminalWith(t, home, env, nil, nil, args...)
}

// onTerminalWith does so with other streams than the terminal, where they are not nil.
func onTerminalWith(t *testing.T, home string, env []string, stdin, stdout *os.File, args ...string) *console {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	number, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetWinsize(int(master.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 40, Col: 120}); err != nil {
		t.Fatal(err)
	}
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	c := &console{t: t, home: home, end: master, cmd: exec.Command(hosttest.Program("bin/picoclaw"), args...)}
	c.cmd.Env = append([]string{"HOME=" + home, "PICOCLAW_HOME=" + home, "PATH=/usr/bin:/bin", "TERM=xterm", askFirst},
		env...)
	c.cmd.Stdin, c.cmd.Stdout, c.cmd.Stderr = cmp.Or(stdin, slave), cmp.Or(stdout, slave), slave
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 2}
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if err := slave.Close(); err != nil {
		t.Fatal(err)
	}
	go func() {
		buffer := make([]byte, 4096)
		for {
			n, err := master.Read(buffer)
			c.mu.Lock()
			c.seen.Write(buffer[:n])
			c.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() {
		_ = c.cmd.Process.Kill()
		_ = master.Close()
	})
	return c
}

func (c *console) text() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.seen.String()
}

// sees waits for something to be on the terminal, and forgets what was there until then.
func (c *console) sees(pattern string) {
	c.t.Helper()
	expression := regexp.MustCompile(pattern)
	hosttest.Eventually(c.t, fmt.Sprintf("%q is seen in %q", pattern, c.text()), func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		place := expression.FindIndex(c.seen.Bytes())
		if place != nil {
			c.seen.Next(place[1])
		}
		return place != nil
	})
}

func (c *console) types(keys string) {
	c.t.Helper()
	if _, err := c.end.WriteString(keys); err != nil {
		c.t.Fatal(err)
	}
}

// ends waits for the program to end, and ends it if it does not.
func (c *console) ends() error {
	impatient := time.AfterFunc(30*time.Second, func() { _ = c.cmd.Process.Kill() })
	defer impatient.Stop()
	return c.cmd.Wait()
}

// succeeds waits for the program to end, and that well.
func (c *console) succeeds() {
	c.t.Helper()
	if err := c.ends(); err != nil {
		c.t.Errorf("it ended with %v", err)
	}
}

func TestTyping(t *testing.T) {
	home := hosttest.TempDir(t)
	c := onTerminal(t, home, nil, "repl")
	c.sees(`main> `)
	c.types("wri\tpa\tnotes.md co\thi\r") // Tab completes the tool and its arguments
	c.sees(`File written: notes.md`)
	c.types("read_file path=no\t\r")
	c.sees("path=notes.md(.|\n)*hi\r\n")
	c.types("\x1b[A\r") // the line before
	c.sees("hi\r\n")
	c.types("garbage\x03exec command='echo a b'\r") // Ctrl-C clears what is typed
	c.sees("\na b\r\n")
	c.types("rd_file\r")
	c.sees(`did you mean "rm|did you mean "read_file"`)
	c.types("exec command='sleep 60'\r")
	hosttest.Eventually(t, "the command runs", func() bool {
		return slices.Contains(commands(descendants(c.cmd.Process.Pid)), "sleep 60 ")
	})
	c.types("\x03") // ends the call, not the program
	c.sees("(cancelled|canceled)")
	c.types(" exec command='echo private'\r")
	c.sees("\nprivate\r\n")
	c.types("exec command='TOKEN=hunter2 true'\rhelp read_file\r")
	c.sees("ARGUMENT.*TYPE")
	c.types(`python` + "\x15" + "exec command='touch made'" + "\r")
	c.sees("make this call \\[y/N\\] ")
	c.types("y\r")
	hosttest.Eventually(t, "what was allowed is done", func() bool {
		_, err := os.Stat(filepath.Join(home, "workspace",
			"made"))
		return err == nil
	})
	c.sees("main> ") // until then Ctrl-D is not ours
	c.types("\x04")
	c.succeeds()

	kept, err := os.ReadFile(filepath.Join(home, "repl_history"))
	if err != nil || !strings.HasPrefix(string(kept),
		"write_file path=notes.md content=hi\nread_file path=notes.md\nexec ") ||
		regexp.MustCompile(`private|hunter2|garbage|(?m)^y$`).Match(kept) {
		t.Errorf("the history is %q (%v)", kept, err)
	}
	if info, err := os.Stat(filepath.Join(home, "repl_history")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the history's mode is %v (%v)", info.Mode(), err)
	}
	if log, err := os.ReadFile(filepath.Join(home, "logs", "audit.jsonl")); err != nil || !strings.Contains(string(log),
		`"decision":"ask","answer":"yes"`) {
		t.Errorf("the audit log is %s (%v)", log, err)
	}
	again := onTerminal(t, home, nil, "repl")
	again.sees("main> ")
	again.types("\x1b[A\x1b[A") // what was typed yesterday
	again.sees("help read_file")
	again.types("\x03\x04")
	again.succeeds()
}

// Who waits sees what goes on, in a line that is gone afterwards.
func TestProgressIsShown(t *testing.T) {
	home := hosttest.TempDir(t)
	c := onTerminal(t, home, nil, "call", "exec",
		"command=echo under way; until [ -e seen ]; do sleep 0.05; done; echo over")
	c.sees(`under way\x1b\[K`)
	if err := os.WriteFile(filepath.Join(home, "workspace", "seen"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	c.sees("\r\x1b\\[K(.|\n)*under way\r\nover")
	c.succeeds()
}

// What an agent has left in a file can't reach the person's terminal, and is untouched elsewhere.
func TestResultsDoNotDriveTheTerminal(t *testing.T) {
	home := hosttest.TempDir(t)
	if err := os.Mkdir(filepath.Join(home, "workspace"), 0o700); err != nil {
		t.Fatal(err)
	}
	const evil = "a\x1b]0;owned\x07b\u009b31m\tc\n"
	if err := os.WriteFile(filepath.Join(home, "workspace", "evil"), []byte(evil), 0o600); err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]string{
		"read_file path=evil":              "a\ufffd]0;owned\ufffdb\ufffd31m *\t?c",
		"read_file path=missing\x1b]0;own": "failed to read file: file not found",
	} {
		tool, path, _ := strings.Cut(args, " ")
		c := onTerminal(t, home, []string{"NO_COLOR=1"}, "call", tool, path)
		_ = c.ends() // one of them fails, as it should
		hosttest.Eventually(t, "the answer is there", func() bool { return regexp.MustCompile(want).MatchString(c.text()) })
		if strings.ContainsAny(c.text(), "\x07\u009b") || strings.Contains(c.text(), "\x1b]") {
			t.Errorf("%s: the terminal got %q", args, c.text())
		}
	}
	plain := exec.Command(hosttest.Program("bin/picoclaw"), "call", "read_file", "path=evil")
	plain.Env = []string{"HOME=" + home, "PICOCLAW_HOME=" + home, "PATH=/usr/bin:/bin"}
	if out, err := plain.Output(); err != nil || string(out) != evil {
		t.Errorf("a pipe got %q (%v)", out, err)
	}
}

// Nor can what is only decided on.
func TestExplanationsDoNotDriveTheTerminal(t *testing.T) {
	for want, args := range map[string][]string{
		`rule: +exec\.`:         {"explain", "exec", "command=rm -rf /\x1b]0;owned\x07\u009b31m; sudo \x1b[2J"},
		"no +no +workspace":     {"explain", "/etc/\x1b]0;owned\x07\u009b31m"},
		`rule: +workspace\.`:    {"explain", "read_file", "path=/etc/\x1b]0;owned\x07"},
		"there is no tool|deny": {"explain", "no\x1b]0;owned\x07\u009b31m"},
		"unknown command":       {"no\x1b]0;owned\x07\u009b31m"},
	} {
		c := onTerminal(t, hosttest.TempDir(t), []string{"NO_COLOR=1"}, args...)
		_ = c.ends() // some fail, as they should
		hosttest.Eventually(t, "the answer is there: "+c.text(),
			func() bool { return regexp.MustCompile(want).MatchString(c.text()) })
		if strings.ContainsAny(c.text(), "\x07\u009b\x1b") {
			t.Errorf("%q: the terminal got %q", args, c.text())
		}
	}
}

// On a terminal with little room the record of calls shows the calls.
func TestTheRecordFitsTheTerminal(t *testing.T) {
	home := hosttest.TempDir(t)
	call := onTerminal(t, home, nil, "call", "read_file", "path=a/path/that/is/long/enough/to/want/some/room")
	_ = call.ends() // there is no such file
	c := onTerminal(t, home, []string{"NO_COLOR=1"}, "audit")
	c.succeeds()
	c.sees(`TIME +AGENT +TOOL +DECISION +MS +CALL\r\n`)
	c.sees(`main +filesystem\.read_file +allow +[0-9.]+ +\{"path":"a/path/that/is/long/enough/to/want`)
}

// A batch whose answers go elsewhere says how far it is; where they are on the terminal themselves, or nobody watches,
// there is nothing but them.
func TestABatchSaysHowFarItIs(t *testing.T) {
	home := hosttest.TempDir(t)
	calls, err := os.Create(filepath.Join(home, "calls.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	lines := `{"id":1,"tool":"read_file","args":{"path":"missing"}}
{"id":2,"tool":"exec","args":{"command":"until [ -e seen ]; do sleep 0.05; done"}}
`
	if _, err := calls.WriteString(lines); err != nil {
		t.Fatal(err)
	}
	if _, err := calls.Seek(0, 0); err != nil {
		t.Fatal(err)
	}
	answers, err := os.Create(filepath.Join(home, "answers.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	c := onTerminalWith(t, home, nil, calls, answers, "batch")
	c.sees(`\[#+-+\] +\d+%  1 answered, 1 with an error\x1b\[K`)
	if err := os.WriteFile(filepath.Join(home, "workspace", "seen"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	c.sees("\r\x1b\\[K")
	c.succeeds()
	if text, err := os.ReadFile(answers.Name()); err != nil || strings.Count(string(text), "\n") != 2 ||
		strings.Contains(string(text), "\x1b") {
		t.Errorf("the answers are %q (%v)", text, err)
	}
}

func TestColoursAreForTerminals(t *testing.T) {
	for name, c := range map[string]struct {
		env  []string
		want bool
	}{
		"a terminal": {nil, true},
		"NO_COLOR":   {[]string{"NO_COLOR=1"}, false},
		"dumb":       {[]string{"TERM=dumb"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			console := onTerminal(t, hosttest.TempDir(t), c.env, "tools")
			console.succeeds()
			hosttest.Eventually(t, "the list of tools is there", func() bool { return strings.Contains(console.text(), "exec") })
			if got := strings.Contains(console.text(), "\x1b[1mTOOL"); got != c.want {
				t.Errorf("coloured: %t in %q", got, console.text())
			}
		})
	}
}
