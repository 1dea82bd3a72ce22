package guard

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Commands may use their home, where the policy names one; whatever links are in it leads nowhere, and tools don't have
// it.
func TestCommandsHaveAHome(t *testing.T) {
	home, outside := t.TempDir(), t.TempDir()
	if err := os.Symlink(outside, filepath.Join(home, "link")); err != nil {
		t.Fatal(err)
	}
	p := everything()
	p.Exec.Home = home
	g := mustNew(t, p)
	env := map[string]string{"HOME": home, "TMPDIR": home + "/tmp"}
	for line, want := range map[string]Verdict{
		"cat ~/.bashrc":                      Allow,
		"cd && ls":                           Allow,
		"cd $HOME; cat notes > copy":         Allow,
		`echo x > "$TMPDIR/file"`:            Allow,
		"cat ~/link/secret":                  Deny,
		"cd ~/link && cat secret":            Deny,
		"cat ~/../secret":                    Deny,
		"cat ~/link/../secret":               Deny,
		"cat ~root/x":                        Deny,
		"rm -rf ~":                           Deny,
		"HOME=/etc; cat ~/passwd":            Deny,
		"cat " + filepath.Dir(home) + "/x":   Deny,
		"cd ~; cat ../" + outside + "/x":     Deny,
		"ln -s /etc ~/etc; cat ~/etc/passwd": Deny,
	} {
		if d := g.DecideCommand(Command{Text: line, Env: env}); d.Verdict != want {
			t.Errorf("%s: %s %s %q; want %s", line, d.Verdict, d.Rule, d.Reason, want)
		}
	}
	if d := g.DecidePath(Read, filepath.Join(home, ".bashrc")); d.Verdict != Deny {
		t.Errorf("a tool may read the commands' home: %+v", d)
	}
	if d := mustNew(t, everything()).DecideCommand(Command{Text: "cat ~/x", Env: env}); d.Verdict != Deny {
		t.Errorf("a home that the policy does not name is open: %+v", d)
	}
}

// A directory that mktemp makes is the command's own, also when it is the one that the command works in.
func TestCommandsWorkInATemporaryDirectory(t *testing.T) {
	g := mustNew(t, everything())
	for line, want := range map[string]Verdict{
		`cd "$(mktemp -d)" && touch y && cat ./y`:     Allow,
		`d=$(mktemp -d); echo x > $d/y; cat "$d/y"`:   Allow,
		`cd "$(mktemp -d)" && cat ../../etc/passwd`:   Deny,
		`cd "$(mktemp -d)" && cat /etc/passwd`:        Deny,
		`d=$(mktemp -d); cat "$d/../../etc/passwd"`:   Deny,
		`cd "$(mktemp -d)" && cd ../../etc && cat pw`: Deny,
	} {
		if d := decide(g, line); d.Verdict != want {
			t.Errorf("%s: %s %s %q; want %s", line, d.Verdict, d.Rule, d.Reason, want)
		}
	}
}

// A path of which a part is not known is not shown as another one, and no setting is named that would not open it.
func TestPartlyUnknownPathIsShownAsWritten(t *testing.T) {
	g := mustNew(t, everything())
	for _, line := range []string{"cd -; cat x", "cat $HOME/x", "cat ~/x"} {
		d := g.DecideCommand(Command{Text: line})
		if text := d.Reason + d.Setting + d.Hint + d.Safer; d.Verdict != Deny || strings.Contains(text, "unknown") ||
			d.Setting != "" {
			t.Errorf("%s: %s %q, setting %q, hint %q", line, d.Verdict, d.Reason, d.Setting, d.Hint)
		}
	}
}
