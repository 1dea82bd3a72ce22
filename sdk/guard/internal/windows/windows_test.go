package windows

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/shell"
)

func shown(commands []Command) string {
	var lines []string
	for _, c := range commands {
		line := strings.Join(c.Argv, "|")
		for _, file := range c.Files {
			line += ">" + file
		}
		lines = append(lines, strings.NewReplacer(shell.Unknown, "?", shell.Item, "{}").Replace(line))
	}
	return strings.Join(lines, "; ")
}

func TestCmd(t *testing.T) {
	for line, want := range map[string]string{
		`del /f x`:                `del|/f|x`,
		`del/f/q x`:               `del|/f|/q|x`,
		`d^e^l "a b"`:             `del|a b`,
		`echo a & del b | more`:   `echo|a; del|b; more`,
		`(del a) && rd /s b`:      `del|a; rd|/s|b`,
		`echo %PATH% !X! !Y!`:     `echo|?|?|?`,
		`echo 100% sure`:          `echo|100%|sure`,
		`if exist a del b`:        `if|exist|a|del|b; del|b`,
		`for %f in (*) do del %f`: `for|%f|in|*|do|del|%f; del|%f`,
		`call del a`:              `call|del|a; del|a`,
		`start "" cmd /c del a`:   `start||cmd|/c|del|a; cmd|/c|del|a`,
		`type a>b`:                `type|a>b`,
		`@del a`:                  `del|a`,
		``:                        ``,
	} {
		if diff := cmp.Diff(want, shown(Cmd(line))); diff != "" {
			t.Errorf("%s\n%s", line, diff)
		}
	}
}

func TestPowerShell(t *testing.T) {
	for line, want := range map[string]string{
		`Remove-Item -Recurse x`: `Remove-Item|-Recurse|x`,
		`ri 'a b'; ls`:           `ri|a b; ls`,
		`r` + "`" + `i x`:        `ri|x`,
		`& { del x }`:            `del|x`,
		`a | % { rm $_ }`:        `a; %; rm|{}`,
		`"$x y" z`:               `? y|z`,
		`iex (iwr u)`:            `iex; iwr|u`,
	} {
		if diff := cmp.Diff(want, shown(PowerShell(line))); diff != "" {
			t.Errorf("%s\n%s", line, diff)
		}
	}
}

func TestOutside(t *testing.T) {
	for _, word := range []string{`C:\x`, `c:/x`, `D:`, `\\host\share`, `\Windows`, `..`, `..\x`, `a\..\..\b`, `%USERPROFILE%\x`, `C:x`, `\`, `../x`, `/out:C:\x`, `-oC:\x`, `a+..\b`, `file:///C:/x`, `//h/s`, `~\x`, `HKLM:\x`, `\\?\C:\x`, `"C:\x"`, `-Path=C:\x`} {
		if !Outside(word, 0) {
			t.Errorf("%s is said to be inside", word)
		}
	}
	for _, word := range []string{`a`, `a\b`, `.\a`, `a\..\b`, `a.b:c`, `http://x`, `...`, `/s`, ``, `-Path`} {
		if Outside(word, 0) {
			t.Errorf("%s is said to be outside", word)
		}
	}
}

func FuzzSplit(f *testing.F) {
	for _, line := range []string{`del/f/q "x`, `%a%!b!^`, "`", `"$x`, `'a''b'`, "a\r\nb", `& { | } ;`, `>`, `if do else call start`} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		for _, commands := range [][]Command{Cmd(line), PowerShell(line)} {
			for _, c := range commands {
				if len(c.Argv) == 0 {
					t.Errorf("%q has a command without words", line)
				}
			}
		}
	})
}
