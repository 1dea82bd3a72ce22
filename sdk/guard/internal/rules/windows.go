package rules

import (
	"strings"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/shell"
)

// encoded is the option of PowerShell for code that nobody can read. Every beginning of it stands for it.
const encoded = "encodedcommand"

var windowsRules = []Rule{
	{
		ID: "exec.windows-delete", Names: "del erase", Match: prefix("/f", "/q", "/s", "/a", "-r", "-fo"),
		Reason: "deletes many files, or without asking",
		Seeds:  []string{`\bdel\s+/[fq]\b`},
		Hit:    []string{"del /f x", "erase /s /q x"}, Miss: []string{"del x"},
	},
	{
		ID: "exec.windows-delete", Names: "rd rmdir", Match: prefix("/s", "/q", "-r"),
		Reason: "deletes directories with everything in them",
		Seeds:  []string{`\brmdir\s+/s\b`},
		Hit:    []string{"rd /s /q build", "rmdir /s x"}, Miss: []string{"rmdir empty"},
	},
	{
		ID: "exec.windows-delete", Names: "remove-item ri rni clear-content clear-recyclebin", Match: prefix("-r", "-f", "/s"),
		Reason: "deletes directories with everything in them",
		Hit:    []string{"Remove-Item -Recurse -Force x"}, Miss: []string{"Remove-Item x"},
	},
	{
		ID: "exec.rm-bulk", Names: "remove-item clear-content", Match: anyOf(via("xargs"), prefix(shell.Item)),
		Reason: "deletes whatever another command finds",
		Safer:  "print the names first, then delete those that you mean",
		Hit:    []string{"xargs remove-item"}, Miss: []string{"remove-item x"},
	},
	{
		ID: "exec.windows-code", Tier: Hard, Names: "remove-item start-process invoke-item set-content", Match: prefix("@" + shell.Unknown),
		Reason: "takes arguments that are only known when it runs", Hit: []string{"remove-item @" + shell.Unknown}, Miss: []string{"remove-item a"},
	},
	{
		ID: "exec.windows-shadow", Tier: Hard, Names: "vssadmin wbadmin bcdedit bootrec diskshadow", Match: prefix("delete", "/set", "/delete", "resize", "/fix", "/rebuild", "-s", "/s", "/create", "/default"),
		Reason: "changes how the machine starts or deletes its backups",
		Hit:    []string{"vssadmin delete shadows"}, Miss: []string{"vssadmin list shadows"},
	},
	{
		ID: "exec.windows-cipher", Tier: Hard, Names: "cipher", Match: prefix("/w"),
		Reason: "overwrites free space", Hit: []string{"cipher /w:c"}, Miss: []string{"cipher"},
	},
	{
		ID: "exec.windows-registry", Names: "reg", Match: prefix("delete", "add", "import", "restore", "load", "unload", "copy"),
		Reason: "changes the registry", Hit: []string{"reg delete HKLM\\x /f"}, Miss: []string{"reg query x"},
	},
	{
		ID: "exec.windows-system", Names: "wmic wevtutil net sc netsh fsutil dism schtasks set-executionpolicy stop-computer remove-itemproperty", Match: prefix("delete", "process", "shadowcopy", "cl", "user", "localgroup", "stop", "config", "create", "advfirewall", "/disable", "unrestricted", "bypass", "-", "usn"),
		Reason: "changes users, services or settings of the machine",
		Hit:    []string{"net user x /add", "sc delete x"}, Miss: []string{"sc query"},
	},
	{
		ID: "exec.windows-code", Tier: Hard, Names: "invoke-expression iex mshta rundll32 add-type invoke-item", Match: func(c *Command) bool {
			return c.Name != "iex" || !flag("-S", "--sname", "--name", "--version", "--help")(c) // Elixir's shell
		},
		Reason: "runs code that is only known when it runs",
		Hit:    []string{"iex x", "mshta x", "rundll32 x,y"}, Miss: []string{"iex -S mix"},
	},
	{
		ID: "exec.windows-code", Tier: Hard, Names: "certutil regsvr32", Match: prefix("-urlcache", "/urlcache", "-verifyctl", "/verifyctl", "-decode", "/decode", "/i:", "-i:", "/s", "-s", "http:", "https:"),
		Reason: "runs or fetches code that is only known when it runs",
		Hit:    []string{"certutil -urlcache -f http://x y", "regsvr32 /s x"}, Miss: []string{"certutil -hashfile x"},
	},
	{
		ID: "exec.windows-code", Tier: Hard, Names: "bitsadmin", Match: not(anyOf(prefix("/list", "/info", "/monitor", "/?", "/help"), func(c *Command) bool { return len(c.Args) == 0 })),
		Reason: "fetches files, and runs commands, in the background",
		Hit:    []string{"bitsadmin /transfer a http://x y"}, Miss: []string{"bitsadmin /list"},
	},
	{
		ID: "exec.windows-code", Tier: Hard, Names: "wmic", Match: prefix("/format:http", "/format:\"http", "/format:\\\\"),
		Reason: "runs code that is only known when it runs",
		Hit:    []string{"wmic os get /format:http://x"}, Miss: []string{"wmic os get /format:list"},
	},
	{
		ID: "exec.windows-code", Tier: Hard, Names: "new-object", Match: anyOf(prefix("-com", "-c", "wscript.", "shell.application", "net.webclient", "system.net.webclient", "net.sockets", "system.net.sockets", "system.diagnostics.process", "diagnostics.process")),
		Reason: "makes an object that runs or fetches code",
		Hit:    []string{"new-object -ComObject WScript.Shell", "new-object Net.WebClient"}, Miss: []string{"new-object System.Collections.ArrayList"},
	},
	{
		ID: "exec.windows-code", Tier: Hard, Names: "set-alias new-alias doskey",
		Match:  anyOf(word("iex", "invoke-expression", "ri", "rm", "del", "rd", "rmdir", "erase", "remove-item", "saps", "start", "start-process", "icm", "invoke-command", "cmd", "powershell", "pwsh", "cmd.exe", "powershell.exe"), prefix(shell.Unknown)),
		Reason: "hides what later commands do behind another name",
		Hit:    []string{"set-alias z iex"}, Miss: []string{"set-alias ll get-childitem"},
	},
	{
		ID: "exec.windows-system", Names: "stop-service set-service new-service remove-service suspend-service register-scheduledtask unregister-scheduledtask new-localuser remove-localuser set-localuser " +
			"add-localgroupmember disable-windowsoptionalfeature enable-windowsoptionalfeature set-mppreference add-mppreference set-netfirewallprofile new-netfirewallrule disable-netadapter rename-computer " +
			"add-computer register-objectevent register-wmievent invoke-wmimethod invoke-cimmethod clear-eventlog remove-eventlog disable-computerrestore",
		Reason: "changes users, services or settings of the machine",
		Hit:    []string{"stop-service x", "new-localuser x"}, Miss: []string{"get-service x"},
	},
	{
		ID: "exec.ssh", Names: "invoke-command", Match: prefix("-comp", "-cn", "-sess", "-host", "-vm", "-conn"),
		Reason: "works on another machine", Hit: []string{"invoke-command -ComputerName a"}, Miss: []string{"invoke-command a"},
	},
	{
		ID: "exec.system-packages", Names: "install-module install-package install-script install-psresource update-module uninstall-module uninstall-package add-appxpackage remove-appxpackage",
		Reason: "changes the packages of the machine", Hit: []string{"install-module x"}, Miss: []string{"get-module x"},
	},
	{
		ID: "exec.system-packages", Names: "msiexec", Match: prefix("/i", "/package", "/x", "/uninstall", "/q", "/a", "/j", "/p", "-i", "-x", "-q"),
		Reason: "changes the packages of the machine", Hit: []string{"msiexec /i a.msi"}, Miss: []string{"msiexec /?"},
	},
	{
		ID: "exec.windows-encoded", Tier: Hard, Names: "powershell", Match: func(c *Command) bool {
			for _, arg := range c.Args {
				lower := strings.ToLower(strings.TrimLeft(arg, "-/"))
				if arg != lower && lower != "" && (lower == "ec" || len(lower) <= len(encoded) && encoded[:len(lower)] == lower) || strings.Contains(arg, shell.Unknown) {
					return true
				}
			}
			return false
		},
		Reason: "runs code that nobody can read", Hit: []string{"powershell -enc AAAA", "powershell -EncodedCommand AAAA"}, Miss: []string{"powershell -Command ls"},
	},
}
