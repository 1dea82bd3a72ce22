// Package windows splits commands of cmd.exe and PowerShell into simple commands by their quoting rules, and recognises
// their paths. It does not follow variables, strings and methods, and must not know rules or policies.
package windows

import (
	"slices"
	"strings"
	"sync"

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
