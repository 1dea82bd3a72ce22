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
		ID: "exec.windows-system", Names: "wmic wevtutil net sc netsh fsutil dism schtasks set-executionpolicy stop-service stop-computer remove-itemproperty", Match: prefix("delete", "process", "shadowcopy", "cl", "user", "localgroup", "stop", "advfirewall", "/disable", "unrestricted", "bypass", "-", "usn"),
		Reason: "changes users, services or settings of the machine",
		Hit:    []string{"net user x /add", "sc delete x"}, Miss: []string{"sc query"},
	},
	{
		ID: "exec.windows-code", Tier: Hard, Names: "invoke-expression iex mshta regsvr32 rundll32 certutil bitsadmin", Match: func(c *Command) bool {
			return c.Name == "iex" || c.Name == "invoke-expression" || c.Name == "mshta" || prefix("-urlcache", "/transfer", "/i:", "javascript:", "-decode", "/s", "-s", "shell32")(c)
		},
		Reason: "runs code that is only known when it runs",
		Hit:    []string{"iex x", "certutil -urlcache -f http://x y"}, Miss: []string{"certutil -hashfile x"},
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
