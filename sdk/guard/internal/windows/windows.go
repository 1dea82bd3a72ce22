// Package windows splits commands of cmd.exe and PowerShell into simple commands, by those shells' own rules of
// quoting, and tells their paths. It must not know what is dangerous or what a policy allows.
package windows

import (
	"strings"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/shell"
)

// Cmd splits a line of cmd.exe. Switches come out as arguments of their own, as cmd takes "del/f/q" too, and
// what a variable holds isn't known.
func Cmd(line string) [][]string {
	var out [][]string
	var argv []string
	var word strings.Builder
	quoted, started := false, false
	end := func() {
		if started {
			argv = append(argv, word.String())
		}
		word.Reset()
		started = false
	}
	finish := func() {
		if end(); len(argv) > 0 {
			out = append(out, cmdBodies(argv)...)
		}
		argv = nil
	}
	for i := 0; i < len(line); i++ {
		c := line[i]
		switch {
		case c == '"':
			quoted, started = !quoted, true
		case c == '%' || c == '!' && strings.Count(line, "!") > 1:
			if n := strings.IndexByte(line[i+1:], c); n > 0 && !strings.ContainsAny(line[i+1:i+1+n], " \t/&|") {
				word.WriteString(shell.Unknown)
				i += n + 1
			} else {
				word.WriteByte(c)
			}
			started = true
		case quoted:
			word.WriteByte(c)
		case c == '^' && i+1 < len(line):
			if i++; line[i] != '\n' {
				word.WriteByte(line[i])
				started = true
			}
		case c == '&' || c == '|' || c == '\n' || c == '\r':
			finish()
		case c == ' ' || c == '\t' || c == ',' || c == ';' || c == '(' || c == ')' || c == '@' && !started:
			end()
		case c == '>' || c == '<':
			end()
			argv = append(argv, string(c))
		case c == '/' && started && !strings.ContainsAny(word.String(), `\:.`) && len(argv) == 0:
			end()
			word.WriteByte(c)
			started = true
		default:
			word.WriteByte(c)
			started = true
		}
	}
	finish()
	return out
}

// cmdBodies returns a simple command, and the commands behind words that only start another.
func cmdBodies(argv []string) [][]string {
	out := [][]string{splitSwitches(argv)}
	for i, word := range argv {
		switch strings.ToLower(word) {
		case "do", "else", "call", "start":
			if i+1 < len(argv) {
				out = append(out, cmdBodies(argv[i+1:])...)
			}
			return out
		case "if":
			for j := i + 1; j < len(argv); j++ {
				if lower := strings.ToLower(argv[j]); Names[lower] {
					return append(out, splitSwitches(argv[j:]))
				}
			}
		}
	}
	return out
}

// splitSwitches takes "/f/q" apart.
func splitSwitches(argv []string) []string {
	var out []string
	for _, word := range argv {
		if strings.HasPrefix(word, "/") && strings.Count(word, "/") > 1 && !strings.ContainsAny(word, `.\`) {
			for _, s := range strings.Split(word[1:], "/") {
				out = append(out, "/"+s)
			}
			continue
		}
		out = append(out, word)
	}
	return out
}

// PowerShell splits a line of PowerShell.
func PowerShell(line string) [][]string {
	var out [][]string
	var argv []string
	var word strings.Builder
	var quote byte
	started := false
	end := func() {
		if started {
			argv = append(argv, word.String())
		}
		word.Reset()
		started = false
	}
	finish := func() {
		if end(); len(argv) > 0 {
			out = append(out, argv)
		}
		argv = nil
	}
	for i := 0; i < len(line); i++ {
		c := line[i]
		switch {
		case c == '`' && quote != '\'' && i+1 < len(line):
			i++
			word.WriteByte(line[i])
			started = true
		case quote != 0:
			switch {
			case c == quote:
				quote = 0
			case c == '$' && quote == '"':
				word.WriteString(shell.Unknown)
			default:
				word.WriteByte(c)
			}
		case c == '"' || c == '\'':
			quote, started = c, true
		case c == ';' || c == '|' || c == '\n' || c == '\r' || c == '{' || c == '}' || c == '(' || c == ')':
			finish()
		case c == '&':
			finish()
		case c == ' ' || c == '\t' || c == ',':
			end()
		case c == '$':
			word.WriteString(shell.Unknown)
			started = true
		default:
			word.WriteByte(c)
			started = true
		}
	}
	finish()
	return out
}

// Names are the commands of cmd.exe and the cmdlets that only Windows has. A line that begins with one is meant for
// Windows, whatever shell gets it.
var Names = names(`del erase rd md dir copy xcopy robocopy move ren rename type format diskpart taskkill tasklist reg vssadmin bcdedit
	cipher takeown icacls cacls attrib runas schtasks wmic wevtutil sc net netsh powershell pwsh cmd fsutil subst mklink assoc ftype cls
	rundll32 regsvr32 mshta cscript wscript certutil bitsadmin msiexec dism sfc chkdsk label defrag diskshadow wbadmin
	remove-item ri rni get-content gc get-childitem gci set-content sc add-content ac copy-item cpi move-item mi new-item ni
	invoke-expression iex invoke-webrequest iwr invoke-restmethod irm start-process saps stop-process spps stop-computer restart-computer
	clear-content clc clear-disk format-volume initialize-disk clear-recyclebin set-acl out-file set-executionpolicy invoke-command icm
	add-type stop-service remove-itemproperty set-itemproperty new-object get-item gi foreach-object where-object select-object write-host write-output`)

func names(words string) map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(words) {
		m[w] = true
	}
	return m
}

// Outside says whether a word is a Windows path that leaves the current directory: with a drive, a share or a device in
// front, at the root, or with a step to the parent.
func Outside(word string) bool {
	word = strings.Trim(word, `"'`)
	if _, value, ok := strings.Cut(word, "="); ok && strings.HasPrefix(word, "-") {
		word = value
	}
	switch {
	case len(word) > 2 && word[1] == ':' && alpha(word[0]) && (word[2] == '\\' || word[2] == '/'):
		return true
	case len(word) == 2 && word[1] == ':' && alpha(word[0]):
		return true
	case strings.HasPrefix(word, `\\`), strings.HasPrefix(word, `\`) && len(word) > 1 && alpha(word[1]):
		return true
	}
	lower := strings.ToLower(word)
	for _, variable := range []string{"%userprofile%", "%appdata%", "%systemroot%", "%windir%", "%homepath%", "%temp%", "%programfiles%", "%homedrive%", "$env:", "$home", "hklm:", "hkcu:", "hklm\\", "hkcu\\"} {
		if strings.HasPrefix(lower, variable) {
			return true
		}
	}
	if !strings.Contains(word, `\`) && word != ".." {
		return false
	}
	depth := 0
	for _, part := range strings.FieldsFunc(word, func(r rune) bool { return r == '\\' || r == '/' }) {
		switch part {
		case ".":
		case "..":
			if depth--; depth < 0 {
				return true
			}
		default:
			depth++
		}
	}
	return false
}

func alpha(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }
