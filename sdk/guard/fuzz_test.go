package guard

import (
	"reflect"
	"strings"
	"testing"
)

// Whatever the text, the guard decides, decides the same twice, says why it refuses, and never less in a wrapping.
func FuzzCommand(f *testing.F) {
	for i, l := range corpus(f, "harmful", "outside", "everyday") {
		if i%share() == 0 {
			f.Add(l.Cmd, "")
		}
	}
	for i, l := range corpus(f, "everyday") {
		if i%share() == 0 {
			f.Add(l.Cmd, string(POSIX))
		}
	}
	for _, line := range []string{`del/f/q x & rd /s /q "y"`, `cmd /c "echo %PATH% | find ""x"""`,
		"if exist x (del x) else call y", "^^^"} {
		f.Add(line, string(Cmd))
	}
	for _, line := range []string{`Remove-Item -r "$x\y"; & { iex 'z' } | % { $_ }`, "`$(a)", `@"` + "\nx\n" + `"@`} {
		f.Add(line, string(PowerShell))
	}
	g := mustNew(f, everything())
	strict := everything()
	strict.Exec.Profile = ProfileSeedStrict
	s := mustNew(f, strict)
	f.Fuzz(func(t *testing.T, text, dialect string) {
		c := Command{Text: text, Dialect: ShellDialect(dialect), Env: map[string]string{"HOME": "/home/user"}}
		d := g.DecideCommand(c)
		if d.Rule == "exec.internal" {
			t.Fatalf("the guard panicked: %s", d.Reason)
		}
		if again := g.DecideCommand(c); !reflect.DeepEqual(d, again) {
			t.Fatalf("decided twice, differently:\n%+v\n%+v", d, again)
		}
		if d.Verdict != Allow && (d.Rule == "" || d.Hint == "" || !strings.HasPrefix(d.Reason,
			"Command blocked by safety guard (")) {
			t.Fatalf("refused without a reason: %+v", d)
		}
		if d.Span != nil && (d.Span.Start < 0 || d.Span.End > len(text) || text[d.Span.Start:d.Span.End] != d.Span.Text) {
			t.Fatalf("the span isn't one of the text: %+v", d.Span)
		}
		if sd := s.DecideCommand(c); sd.Verdict < d.Verdict {
			t.Fatalf("seed_strict is milder: %+v than %+v", sd, d)
		}
		if c.Dialect != Bash || d.Verdict == Allow || d.Rule == "exec.syntax" || len(text) > MaxCommandLength/2 {
			return
		}
		c.Text = "{ " + text + "\n}"
		if wrapped := g.DecideCommand(c); wrapped.Verdict < d.Verdict {
			t.Fatalf("in braces %s, by itself %s by %s", wrapped.Verdict, d.Verdict, d.Rule)
		}
	})
}
