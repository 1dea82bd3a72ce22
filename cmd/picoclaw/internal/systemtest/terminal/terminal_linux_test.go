package terminal_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/picoclaw/picoclaw/cmd/internal/clitest"
	"github.com/picoclaw/picoclaw/host/hosttest"
)

// Who waits sees what goes on, in a line that is gone afterwards.
func TestProgressIsShown(t *testing.T) {
	t.Parallel()
	home := hosttest.TempDir(t)
	c := clitest.StartPicoclawTerminal(t, home, nil, "call", "exec",
		"command=echo under way; until [ -e seen ]; do sleep 0.05; done; echo over")
	c.Expect(`under way\x1b\[K`)
	if err := os.WriteFile(filepath.Join(home, "workspace", "seen"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	c.Expect("\r\x1b\\[K(.|\n)*under way\r\nover")
	c.WaitForSuccess()
}

// What an agent has left in a file can't reach the person's terminal, and is untouched elsewhere.
func TestResultsDoNotDriveTheTerminal(t *testing.T) {
	t.Parallel()
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
		c := clitest.StartPicoclawTerminal(t, home, []string{"NO_COLOR=1"}, "call", tool, path)
		_ = c.Wait() // one of them fails, as it should
		hosttest.WaitUntil(t, "the answer is there", func() bool { return regexp.MustCompile(want).MatchString(c.UnreadText()) })
		if strings.ContainsAny(c.UnreadText(), "\x07\u009b") || strings.Contains(c.UnreadText(), "\x1b]") {
			t.Errorf("%s: the terminal got %q", args, c.UnreadText())
		}
	}
	plain := exec.Command(hosttest.ProgramPath("bin/picoclaw"), "call", "read_file", "path=evil")
	plain.Env = []string{"HOME=" + home, "PICOCLAW_HOME=" + home, "PATH=/usr/bin:/bin"}
	if out, err := plain.Output(); err != nil || string(out) != evil {
		t.Errorf("a pipe got %q (%v)", out, err)
	}
}

// Nor can what is only decided on.
func TestExplanationsDoNotDriveTheTerminal(t *testing.T) {
	t.Parallel()
	for want, args := range map[string][]string{
		`rule: +exec\.`:         {"explain", "exec", "command=rm -rf /\x1b]0;owned\x07\u009b31m; sudo \x1b[2J"},
		"no +no +workspace":     {"explain", "/etc/\x1b]0;owned\x07\u009b31m"},
		`rule: +workspace\.`:    {"explain", "read_file", "path=/etc/\x1b]0;owned\x07"},
		"there is no tool|deny": {"explain", "no\x1b]0;owned\x07\u009b31m"},
		"unknown command":       {"no\x1b]0;owned\x07\u009b31m"},
	} {
		c := clitest.StartPicoclawTerminal(t, hosttest.TempDir(t), []string{"NO_COLOR=1"}, args...)
		_ = c.Wait() // some fail, as they should
		hosttest.WaitUntil(t, "the answer is there: "+c.UnreadText(),
			func() bool { return regexp.MustCompile(want).MatchString(c.UnreadText()) })
		if strings.ContainsAny(c.UnreadText(), "\x07\u009b\x1b") {
			t.Errorf("%q: the terminal got %q", args, c.UnreadText())
		}
	}
}

// On a terminal with little room the record of calls shows the calls.
func TestAuditTableFitsTerminal(t *testing.T) {
	t.Parallel()
	home := hosttest.TempDir(t)
	call := clitest.StartPicoclawTerminal(t, home, nil, "call", "read_file", "path=a/path/that/is/long/enough/to/want/some/room")
	_ = call.Wait() // there is no such file
	c := clitest.StartPicoclawTerminal(t, home, []string{"NO_COLOR=1"}, "audit")
	c.WaitForSuccess()
	c.Expect(`TIME +AGENT +TOOL +DECISION +MS +CALL\r\n`)
	c.Expect(`main +filesystem\.read_file +allow +[0-9.]+ +\{"path":"a/path/that/is/long/enough/to/want`)
}

// A batch whose answers go elsewhere says how far it is; where they are on the terminal themselves, or nobody watches,
// there is nothing but them.
func TestBatchShowsProgress(t *testing.T) {
	t.Parallel()
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
	c := clitest.StartPicoclawTerminalWithStreams(t, home, nil, calls, answers, "batch")
	c.Expect(`\[#+-+\] +\d+%  1 answered, 1 with an error\x1b\[K`)
	if err := os.WriteFile(filepath.Join(home, "workspace", "seen"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	c.Expect("\r\x1b\\[K")
	c.WaitForSuccess()
	if text, err := os.ReadFile(answers.Name()); err != nil || strings.Count(string(text), "\n") != 2 ||
		strings.Contains(string(text), "\x1b") {
		t.Errorf("the answers are %q (%v)", text, err)
	}
}

func TestColoursAreForTerminals(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		env  []string
		want bool
	}{
		"a terminal": {nil, true},
		"NO_COLOR":   {[]string{"NO_COLOR=1"}, false},
		"dumb":       {[]string{"TERM=dumb"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			console := clitest.StartPicoclawTerminal(t, hosttest.TempDir(t), c.env, "tools")
			console.WaitForSuccess()
			hosttest.WaitUntil(t, "the list of tools is there", func() bool { return strings.Contains(console.UnreadText(), "exec") })
			if got := strings.Contains(console.UnreadText(), "\x1b[1mTOOL"); got != c.want {
				t.Errorf("coloured: %t in %q", got, console.UnreadText())
			}
		})
	}
}
