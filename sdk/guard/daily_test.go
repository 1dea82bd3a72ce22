package guard

import (
	"path/filepath"
	"testing"
)

// Commands of CI files and documentation, labelled before they were tried: ordinary work passes, changes of the world
// outside are asked about, and commands of the families that are refused by default never pass.
func TestDailyCommands(t *testing.T) {
	t.Parallel()
	testLabelledCommands(t, "testdata/daily.jsonl", "")
}

// TestEverydayCommands has longer commands, and a home directory that belongs to commands, as the host provides it.
func TestEverydayCommands(t *testing.T) {
	t.Parallel()
	testLabelledCommands(t, "testdata/everyday.jsonl", "/home/user/.picoclaw/runtime-user-env/agent")
}

func testLabelledCommands(t *testing.T, name, home string) {
	file, err := filepath.Abs(name)
	if err != nil {
		t.Fatal(err)
	}
	p := everything()
	p.Kernel, p.Exec.Home = true, home
	g := mustNew(t, p)
	env := map[string]string{"HOME": "/home/user"}
	if home != "" {
		env = map[string]string{"HOME": home, "TMPDIR": home + "/tmp"}
	}
	allowed, refused := 0, 0
	for _, l := range corpus(t, file) {
		d := g.DecideCommand(Command{Text: l.Cmd, Env: env})
		if d.Verdict != Allow && d.Safer == "" && d.Setting == "" {
			t.Errorf("%q is refused without a remedy: %+v", l.Cmd, d)
		}
		switch l.Expect {
		case "allow":
			if allowed++; d.Verdict != Allow {
				refused++
				t.Logf("%q: %s %s %q", l.Cmd, d.Verdict, d.Rule, d.Reason)
				if d.Hint == "" {
					t.Errorf("%q is refused without an alternative: %+v", l.Cmd, d)
				}
			}
		case "ask":
			if d.Verdict == Allow {
				t.Errorf("%q: %s %s; want a question or a refusal", l.Cmd, d.Verdict, d.Rule)
			}
		default:
			if d.Verdict != Deny {
				t.Errorf("%q: %s %s; want a refusal", l.Cmd, d.Verdict, d.Rule)
			}
		}
	}
	t.Logf("%d of %d ordinary commands are refused", refused, allowed)
	if 50*refused > allowed {
		t.Errorf("%d of %d ordinary commands are refused; want at most 2 %%", refused, allowed)
	}
}
