// Package windows splits commands of cmd.exe and PowerShell into simple commands by their quoting rules, and recognises
// their paths. It does not follow variables, strings and methods, and must not know rules or policies.
package windows

import (
	"slices"
	"strings"
	"sync"

	"github.com/picoclaw/picoclaw/internal/lazyregexp"
	"github.com/picoclaw/picoclaw/sdk/guard/internal/shell"
)

// IsWindowsCommand reports whether a name is a command of cmd.exe or a PowerShell cmdlet, so that a line is probably
// Windows code.
func IsWindowsCommand(name string) bool { return commandNames()[name] }

var commandNames = sync.OnceValue(func() map[string]bool {
	all := map[string]bool{}
	for name := range strings.FieldsSeq(commands) {
		all[name] = true
	}
	return all
})

const commands = `
	del erase rd md dir copy xcopy robocopy move ren rename type format diskpart taskkill tasklist reg vssadmin
	bcdedit cipher takeown icacls cacls attrib runas schtasks wmic wevtutil sc net netsh powershell pwsh cmd fsutil
	subst mklink assoc ftype cls rundll32 regsvr32 mshta cscript wscript certutil bitsadmin msiexec dism sfc chkdsk
	label defrag diskshadow wbadmin remove-item ri rni get-content gc get-childitem gci set-content sc add-content
	ac copy-item cpi move-item mi new-item ni invoke-expression iex invoke-webrequest iwr invoke-restmethod irm
	start-process saps stop-process spps stop-computer restart-computer clear-content clc clear-disk format-volume
	initialize-disk clear-recyclebin set-acl out-file set-executionpolicy invoke-command icm add-type stop-service
	remove-itemproperty set-itemproperty new-object get-item gi foreach-object where-object select-object
	write-host write-output`

// dirPrefixes are word prefixes that name a directory outside workspaces: variables and PowerShell drives.
var dirPrefixes = strings.Fields(`%userprofile% %appdata% %localappdata% %programdata% %allusersprofile% %public%
	%systemroot% %windir% %systemdrive% %homepath% %homedrive% %temp% %tmp% %programfiles% %programfiles(x86)% %onedrive%
	$env: $home $pshome $profile hklm: hkcu: hkcr: hku: cert: wsman: filesystem:: registry::
	microsoft.powershell.core\ ~\`)

// IsOutsideWorkspace reports whether a word is a Windows path that leaves the workspace. The working directory is depth
// levels below the workspace. Such a path has a drive, share or device, starts at the root, or has too many parent
// steps.
func IsOutsideWorkspace(word string, depth int) bool {
	word = strings.Trim(word, `"'`)
	lower := strings.ToLower(word)
	if strings.Contains(word, "://") && !strings.HasPrefix(lower, "file:") {
		return false
	}
	if slices.ContainsFunc(dirPrefixes, func(dir string) bool { return strings.HasPrefix(lower, dir) }) || hasDrivePath(word) {
		return true
	}
	if rest, ok := strings.CutPrefix(word, shell.Unknown); ok && strings.ContainsAny(rest, `\/`) {
		return true // nobody knows where it begins
	}
	if strings.HasPrefix(word, `\\`) || strings.HasPrefix(word, "//") {
		return true
	}
	if strings.ContainsAny(word, " ") && !strings.ContainsAny(word[:strings.IndexByte(word, ' ')], `\/`) {
		return false // a text
	}
	for _, part := range strings.FieldsFunc(word, func(r rune) bool { return strings.ContainsRune("=:+;,\"", r) }) {
		if part == `\` || strings.HasPrefix(part, `\`) && len(part) > 1 && part[1] != '"' || leavesWorkspace(part, depth) {
			return true
		}
	}
	return false
}

// hasDrivePath reports whether a word contains a path that starts with a drive.
func hasDrivePath(word string) bool {
	for i := 1; i < len(word); i++ {
		if word[i] != ':' || !isLetter(word[i-1]) {
			continue
		}
		rooted := i+1 < len(word) && (word[i+1] == '\\' || word[i+1] == '/')
		switch {
		case i == 1:
			return true
		case rooted && word[i+1] == '\\', rooted && !isLetter(word[i-2]):
			return true
		case !rooted && strings.IndexByte("=:+;,", word[i-2]) >= 0:
			return true
		}
	}
	return false
}

// leavesWorkspace reports whether the parent steps of a path lead out of the workspace.
func leavesWorkspace(path string, depth int) bool {
	if !strings.Contains(path, "..") {
		return false
	}
	for _, part := range strings.FieldsFunc(path, func(r rune) bool { return r == '\\' || r == '/' }) {
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

// DepthAfterEntering returns the depth below the workspace after entering a directory.
func DepthAfterEntering(path string, depth int) int {
	for _, part := range strings.FieldsFunc(path, func(r rune) bool { return r == '\\' || r == '/' }) {
		switch part {
		case ".":
		case "..":
			depth--
		default:
			depth++
		}
	}
	return depth
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

// commentPattern matches <# ... #>.
var commentPattern = lazyregexp.New(`(?s)<#.*?#>`)

// SplitPowerShell splits a PowerShell line into simple commands. Variables become unknown marks, and a computed command
// is [shell.Unknown].
func SplitPowerShell(line string) [][]string {
	dashes := strings.NewReplacer("–", "-", "—", "-", "―", "-")
	l := &powerShellLexer{code: dashes.Replace(commentPattern().ReplaceAllString(line, " "))}
	for ; l.at < len(l.code); l.at++ {
		l.readChar(l.code[l.at])
	}
	l.endCommand()
	return l.out
}

// powerShellLexer splits a PowerShell line into simple commands.
type powerShellLexer struct {
	code    string
	at      int
	out     [][]string
	argv    []string
	word    strings.Builder
	started bool
	quote   byte
}

func (l *powerShellLexer) readChar(c byte) {
	switch {
	case c == '`' && l.quote != '\'' && l.at+1 < len(l.code):
		if l.at++; l.code[l.at] != '\n' {
			l.addText(l.code[l.at : l.at+1])
		}
	case l.quote == '"' && strings.HasPrefix(l.code[l.at:], "$("):
		inner, _, _ := strings.Cut(l.code[l.at+2:], ")")
		l.out = append(l.out, SplitPowerShell(inner)...)
		l.at += min(len(inner)+2, len(l.code)-l.at-1)
		l.addText(shell.Unknown)
	case l.quote != 0 && c == l.quote:
		l.quote = 0
	case c == '$' && l.quote != '\'':
		l.addText(shell.Unknown)
	case l.quote != 0:
		l.addText(string(c))
	case c == '"' || c == '\'':
		l.quote, l.started = c, true
	case strings.IndexByte(";|\n\r{}()", c) >= 0:
		l.endCommand()
	case c == '&' || c == '.' && !l.started && len(l.argv) == 0:
		l.readInvokeOperator(c)
	case c == '>':
		l.endWord()
		l.argv = append(l.argv, ">")
	case c == ' ' || c == '\t' || c == ',':
		l.endWord()
	default:
		l.addText(string(c))
	}
}

func (l *powerShellLexer) readInvokeOperator(sign byte) {
	rest := strings.TrimLeft(l.code[l.at+1:], " ")
	switch {
	case strings.HasPrefix(rest, "(") || strings.HasPrefix(rest, "$"):
		l.endCommand()
		l.out = append(l.out, []string{shell.Unknown})
	case sign == '&':
		l.endCommand()
	case l.at+1 < len(l.code) && strings.IndexByte(` '"`, l.code[l.at+1]) < 0:
		l.addText(".")
	}
}

func (l *powerShellLexer) addText(text string) {
	l.word.WriteString(text)
	l.started = true
}

// endWord adds the current word to the command.
func (l *powerShellLexer) endWord() {
	if l.started {
		l.argv = append(l.argv, l.word.String())
	}
	l.word.Reset()
	l.started = false
}

// endCommand adds the current command to the result.
func (l *powerShellLexer) endCommand() {
	if l.endWord(); len(l.argv) > 0 {
		l.out = append(l.out, l.argv)
	}
	l.argv = nil
}
