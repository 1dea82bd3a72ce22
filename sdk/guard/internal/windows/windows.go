// Package windows splits commands of cmd.exe and PowerShell into simple commands, by those shells' own rules of
// quoting, and tells their paths. It knows words and paths; what variables, strings and methods hold, it doesn't
// follow. It must not know what is dangerous or what a policy allows.
package windows

import (
	"strings"
	"sync"
)

// Is reports whether a name is a command of cmd.exe or a cmdlet that only Windows has. A line that begins with one is
// meant for Windows, whatever shell gets it.
func Is(name string) bool { return names()[name] }

var names = sync.OnceValue(func() map[string]bool {
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
