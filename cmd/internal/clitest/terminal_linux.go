package clitest

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/picoclaw/picoclaw/host/hosttest"
)

// Terminal is a pseudo-terminal on which a program runs.
type Terminal struct {
	t    *testing.T
	home string
	end  *os.File // the person's end
	Cmd  *exec.Cmd

	mu   sync.Mutex
	seen bytes.Buffer
}

// StartPicoclawTerminal starts picoclaw on a terminal of 120 columns.
func StartPicoclawTerminal(t *testing.T, home string, env []string, args ...string) *Terminal {
	t.Helper()
	return StartPicoclawTerminalWithStreams(t, home, env, nil, nil, args...)
}

// StartPicoclawTerminalWithStreams is like StartPicoclawTerminal with stdin and stdout, if not nil, in place of the terminal.
func StartPicoclawTerminalWithStreams(t *testing.T, home string, env []string, stdin, stdout *os.File, args ...string) *Terminal {
	t.Helper()
	cmd := exec.Command(hosttest.ProgramPath("bin/picoclaw"), args...)
	cmd.Env = append([]string{"HOME=" + home, "PICOCLAW_HOME=" + home, "PATH=/usr/bin:/bin", "TERM=xterm", AskRuleEnv}, env...)
	return startOnTerminal(t, home, cmd, stdin, stdout)
}

// StartShell starts a shell with job control on a terminal, with picoclaw in its PATH.
func StartShell(t *testing.T, home, dir string, env ...string) *Terminal {
	t.Helper()
	cmd := exec.Command("bash", "--norc", "--noprofile", "-i")
	cmd.Dir = dir
	cmd.Env = append([]string{"HOME=" + home, "TERM=xterm", "PS1=out> "}, env...)
	cmd.Env = append(cmd.Env, "PATH="+filepath.Dir(hosttest.ProgramPath("bin/picoclaw"))+":/usr/bin:/bin")
	return startOnTerminal(t, home, cmd, nil, nil)
}

// Resize changes the size of the terminal.
func (c *Terminal) Resize(rows, cols uint16) {
	c.t.Helper()
	if err := unix.IoctlSetWinsize(int(c.end.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: rows, Col: cols}); err != nil {
		c.t.Fatal(err)
	}
}

func startOnTerminal(t *testing.T, home string, cmd *exec.Cmd, stdin, stdout *os.File) *Terminal {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err = unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	number, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	if err = unix.IoctlSetWinsize(int(master.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 40, Col: 120}); err != nil {
		t.Fatal(err)
	}
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	c := &Terminal{t: t, home: home, end: master, Cmd: cmd}
	c.Cmd.Stdin, c.Cmd.Stdout, c.Cmd.Stderr = cmp.Or(stdin, slave), cmp.Or(stdout, slave), slave
	c.Cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 2}
	if err := c.Cmd.Start(); err != nil {
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
		_ = c.Cmd.Process.Kill()
		_ = master.Close()
	})
	return c
}

// UnreadText returns the output since the last match of Expect.
func (c *Terminal) UnreadText() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.seen.String()
}

// Expect waits until the output matches a pattern, and drops the output up to the end of the match.
func (c *Terminal) Expect(pattern string) {
	c.t.Helper()
	expression := regexp.MustCompile(pattern)
	defer func() {
		if c.t.Failed() {
			c.t.Logf("the terminal shows %q", c.UnreadText())
		}
	}()
	hosttest.WaitUntil(c.t, fmt.Sprintf("%q is seen on the terminal", pattern), func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		place := expression.FindIndex(c.seen.Bytes())
		if place != nil {
			c.seen.Next(place[1])
		}
		return place != nil
	})
}

// TypeKeys sends keys to the program.
func (c *Terminal) TypeKeys(keys string) {
	c.t.Helper()
	if _, err := c.end.WriteString(keys); err != nil {
		c.t.Fatal(err)
	}
}

// Wait waits until the program exits, and kills it after 30 seconds.
func (c *Terminal) Wait() error {
	impatient := time.AfterFunc(30*time.Second, func() { _ = c.Cmd.Process.Kill() })
	defer impatient.Stop()
	return c.Cmd.Wait()
}

// WaitForSuccess waits until the program exits with 0.
func (c *Terminal) WaitForSuccess() {
	c.t.Helper()
	if err := c.Wait(); err != nil {
		c.t.Errorf("it ended with %v", err)
	}
}
