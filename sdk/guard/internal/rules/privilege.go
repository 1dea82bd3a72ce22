package rules

import (
	"regexp"
	"strings"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/shell"
)

var privilegeRules = []Rule{
	{
		ID: "exec.privilege", Tier: Hard, Names: "sudo sudoedit doas su pkexec run0 gosu su-exec runuser setuidgid runas gsudo visudo dzdo pfexec sudo-rs kdesu gksu gksudo sg newgrp calife super machinectl",
		Reason: "works with somebody else's rights",
		Safer:  "do it without, or ask a person to do it",
		Seeds:  []string{`\bsudo\b`},
		Hit:    []string{"sudo ls", "doas id", "su -c id", "pkexec id"}, Miss: []string{"cat sudo.txt"},
	},
	{
		ID: "exec.privilege", Tier: Hard, Names: "start-process saps", Match: both(prefix("-verb"), word("runas")),
		Reason: "works with an administrator's rights",
		Hit:    []string{"Start-Process cmd -Verb RunAs"}, Miss: []string{"Start-Process cmd"},
	},
	{
		ID: "exec.privilege", Tier: Hard, Names: "chroot nsenter setcap capsh setpriv unshare useradd adduser userdel deluser usermod groupadd groupdel gpasswd passwd chpasswd chsh visudo mount umount mknod pivot_root",
		Match:  both(anyOf(operand, flag("-c", "-r", "-t", "-m", "--target", "--mount", "--map-root-user")), not(flag("-l", "--help", "--version"))),
		Reason: "changes users, rights or what a process sees of the machine",
		Hit:    []string{"chroot / sh", "useradd x", "mount --bind / x", "unshare -r sh"}, Miss: []string{"mount", "mount -l"},
	},
	{
		ID: "exec.chmod", Names: "chmod gchmod", Match: func(c *Command) bool { return c.Operand(0) != "" && wideMode(c.mode()) },
		Reason: "opens files to everybody, or lets them run with their owner's rights",
		Safer:  "use chmod u+x, or a mode such as 644 or 755",
		Seeds:  []string{`\bchmod\s+[0-7]{3,4}\b`},
		Hit:    []string{"chmod 777 x", "chmod -R 777 .", "chmod 4755 x", "chmod u+s x", "chmod a+rwx x", "chmod o+w x", "chmod 0666 x", "chmod +s x", "chmod o=rwx x", "chmod ugo+w x", "chmod 757 x"},
		Miss:   []string{"chmod +x x", "chmod u+w x", "chmod 755 x", "chmod 0644 x", "chmod a+r x", "chmod -x y", "chmod go-w x", "chmod --reference=a b"},
	},
	{
		ID: "exec.chmod", Names: "install ginstall mkdir mknod mkfifo", Match: func(c *Command) bool {
			mode, ok := c.Opts.Value("-m", "--mode")
			return ok && wideMode(mode)
		},
		Reason: "makes a file that is open to everybody, or runs with its owner's rights",
		Hit:    []string{"install -m 4755 a b", "mkdir -m 777 d"}, Miss: []string{"install -m 755 a b", "mkdir d"},
	},
	{
		ID: "exec.chmod", Names: "setfacl", Match: anyOf(prefix("-m", "--modify", "--set", "-r", "-b")),
		Reason: "changes who may use a file", Hit: []string{"setfacl -m u:x:rwx f"}, Miss: []string{"setfacl --help"},
	},
	{
		ID: "exec.chown", Names: "chown gchown takeown icacls cacls set-acl chattr", Match: anyOf(operand, prefix("/")),
		Reason: "changes who owns or may change files",
		Seeds:  []string{`\bchown\b`},
		Hit:    []string{"chown root x", "takeown /f x"}, Miss: []string{"chown --version"},
	},
}

// mode is the mode that chmod gets: its first operand, or an argument such as -x or u-w that looks like an option.
func (c *Command) mode() string {
	for _, arg := range c.Args {
		if symbolic.MatchString(arg) || strings.Trim(arg, "01234567") == "" && arg != "" {
			return arg
		}
	}
	if c.Opts.Has("--reference") {
		return ""
	}
	return c.Operand(0)
}

var symbolic = regexp.MustCompile(`^[ugoa]*[-+=][rwxXstugo,+=-]*$`)

// wideMode says whether a mode lets everybody write, or sets the set-user-id or set-group-id bit. One that isn't known
// counts.
func wideMode(mode string) bool {
	if strings.Contains(mode, shell.Unknown) {
		return true
	}
	if digits := strings.TrimLeft(mode, "+=-"); digits != "" && strings.Trim(digits, "01234567") == "" {
		digits = strings.TrimLeft(digits, "0")
		if len(digits) > 3 && digits[len(digits)-4] >= '2' {
			return true
		}
		return digits != "" && (digits[len(digits)-1]-'0')&2 != 0
	}
	for _, clause := range strings.Split(mode, ",") {
		who, what, _ := strings.Cut(strings.NewReplacer("=", "+").Replace(clause), "+")
		if strings.Contains(what, "s") && !strings.Contains(who, "-") {
			return true
		}
		if strings.Contains(what, "w") && strings.ContainsAny(who, "oa") {
			return true
		}
	}
	return false
}
