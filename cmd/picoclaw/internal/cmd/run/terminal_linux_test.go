package run_test

import (
	"testing"

	"github.com/picoclaw/picoclaw/cmd/internal/clitest"
)

func (p *project) shell() *clitest.Terminal {
	p.t.Helper()
	c := clitest.StartShell(p.t, p.home, p.dir, p.env...)
	c.Expect(`out> $`)
	return c
}

// The program has a terminal of its own, of the person's size, and can be stopped and continued like any job.
func TestProgramIsJobOnTerminal(t *testing.T) {
	t.Parallel()
	c := newProject(t).shell()
	c.TypeKeys("picoclaw run --env 'PS1=in> ' -- bash --norc\n")
	c.Expect(`in> $`)
	c.TypeKeys("tty; stty size; [ -t 0 ] && [ -t 1 ] && [ -t 2 ] && echo all\n")
	c.Expect(`/dev/pts/\d+\s+40 120\s+all[^>]*in> $`)
	c.Resize(50, 90)
	c.TypeKeys("until [ \"$(stty size)\" = '50 90' ]; do sleep 0.05; done; echo res''ized\n")
	c.Expect(`resized[^>]*in> $`)
	// The shell forks once: a child between vfork and exec would keep its shell from stopping.
	c.TypeKeys("sh -c 'sleep 60 & trap \"echo awa''ke\" CONT; echo asl''eep; until wait; do :; done'\n")
	c.Expect("asleep")
	c.TypeKeys("\x1a")
	c.Expect(`Stopped[^>]*in> $`)
	c.TypeKeys("fg\n")
	c.Expect("awake") // before that, the shell has the terminal, and keys interrupt nothing
	c.TypeKeys("\x03")
	c.Expect(`in> $`)
	c.TypeKeys("exit 3\n")
	c.Expect(`out> $`)
	c.TypeKeys("echo code $?; stty -a | grep -o ' echo ' | tr e E\n")
	c.Expect(`code 3\s+Echo`)
}

func TestRunIsStoppedAndContinued(t *testing.T) {
	t.Parallel()
	c := newProject(t).shell()
	c.TypeKeys("picoclaw run -- sh -c 'echo rea''dy; exec cat'\n")
	c.Expect("ready") // before that, keys go to the shell or to no program
	c.TypeKeys("first\n")
	c.Expect(`first\s+first`)
	c.TypeKeys("\x1a")
	c.Expect(`Stopped\s+picoclaw run[^>]*out> $`)
	c.TypeKeys("jobs; stty -a | grep -o ' icanon ' | tr i I\n")
	c.Expect(`Icanon`)
	c.TypeKeys("fg\n")
	c.Expect(`exec cat`)
	c.TypeKeys("second\n")
	c.Expect(`second\s+second`)
	c.TypeKeys("\x03")
	c.Expect(`out> $`)
	c.TypeKeys("echo code $?\n")
	c.Expect(`code 130`)
}

// A terminal in the sandbox can be opened by what runs there.
func TestTerminalsCanBeMadeInside(t *testing.T) {
	t.Parallel()
	c := newProject(t).shell()
	c.TypeKeys("picoclaw run -- script -qc 'tty; echo inner' /dev/null\n")
	c.Expect(`/dev/pts/\d+\s+inner`)
}

// Modes that a killed program switched on are taken back.
func TestTerminalIsRestored(t *testing.T) {
	t.Parallel()
	c := newProject(t).shell()
	c.TypeKeys(`picoclaw run -- bash -c 'printf "\e[?1049h\e[?25l\e[?2004h"; stty raw; kill -9 $$'` + "\n")
	c.Expect(`\x1b\[\?2004l\x1b\[\?25h\x1b\[\?1049l`)
	c.Expect(`out> $`)
	c.TypeKeys("stty -a | grep -o ' icanon ' | tr i I\n")
	c.Expect("Icanon")
}
