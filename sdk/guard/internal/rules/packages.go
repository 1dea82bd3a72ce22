package rules

import "strings"

var packageRules = []Rule{
	{
		ID: "exec.system-packages", Names: "apt apt-get aptitude yum dnf microdnf zypper tdnf dnf5 urpmi slackpkg eopkg opkg pkg brew port snap flatpak choco winget scoop apk xbps-install nix-env emerge guix ipkg pkgin",
		Match: anyOf(anyWord("install", "remove", "purge", "erase", "reinstall", "upgrade", "dist-upgrade", "full-upgrade", "autoremove", "add", "del", "in", "rm", "uninstall", "groupinstall", "localinstall",
			"downgrade", "build-dep", "swap", "update", "dup", "dist-sync", "install-suggests", "satisfy", "refresh", "delete"), flag("-i", "-e", "--install", "--uninstall")),
		Reason: "changes the packages of the machine",
		Safer:  "install into the workspace, for instance with npm install or a virtual environment",
		Seeds:  []string{`\bapt\s+(install|remove|purge)\b`, `\byum\s+(install|remove)\b`, `\bdnf\s+(install|remove)\b`},
		Hit:    []string{"apt install jq", "apt-get -qq remove jq", "yum -y install jq", "dnf erase jq", "apk add jq", "brew install jq"},
		Miss:   []string{"apt list", "apt-cache search x", "brew list", "apt show install"},
	},
	{
		ID: "exec.system-packages", Names: "dpkg rpm", Match: flag("-i", "-r", "-P", "-U", "-e", "-F", "--install", "--remove", "--purge", "--upgrade", "--erase", "--freshen", "--unpack", "--configure"),
		Reason: "changes the packages of the machine",
		Hit:    []string{"dpkg -i a.deb", "rpm -Uvh a.rpm"}, Miss: []string{"dpkg -l", "rpm -qa", "dpkg -s x"},
	},
	{
		ID: "exec.system-packages", Names: "pacman yay paru pamac", Match: func(c *Command) bool {
			for _, arg := range c.Args {
				if strings.HasPrefix(arg, "-S") && !strings.ContainsAny(arg, "sgil") || strings.HasPrefix(arg, "-R") || strings.HasPrefix(arg, "-U") || arg == "--sync" || arg == "--remove" || arg == "--upgrade" || arg == "install" {
					return true
				}
			}
			return false
		},
		Reason: "changes the packages of the machine",
		Hit:    []string{"pacman -S jq", "pacman -Syu"}, Miss: []string{"pacman -Q", "pacman -Ss x"},
	},
	{
		ID: "exec.global-packages", Names: "npm pnpm yarn bun cnpm", Match: func(c *Command) bool {
			global := c.Opts.Has("-g", "--global") || anyWord("global")(c)
			if value, ok := c.Opts.Value("--location"); ok && value == "global" {
				global = true
			}
			return global && anyWord("install", "i", "in", "ins", "inst", "insta", "instal", "isnt", "isnta", "isntal", "isntall", "add", "ci", "uninstall", "un", "unlink", "remove", "rm", "r", "update", "up", "upgrade", "link", "ln", "global", "install-test", "it")(c)
		},
		Reason: "changes packages outside the project",
		Safer:  "install into the project, without -g",
		Seeds:  []string{`\bnpm\s+install\s+-g\b`},
		Hit:    []string{"npm install -g typescript", "npm -g i x", "npm install --location=global x", "npm add -g x", "yarn global add x", "pnpm add --global x", "npm i x --global"},
		Miss:   []string{"npm install", "npm install x", "npm list -g", "npm run global"},
	},
	{
		ID: "exec.global-packages", Names: "pip uv pipx pip-sync", Match: both(anyWord("install", "uninstall"), anyOf(flag("--user", "--system", "--break-system-packages", "--global"), prefix("--user", "--system"))),
		Reason: "changes packages outside the project",
		Safer:  "install into a virtual environment, without --user",
		Seeds:  []string{`\bpip\s+install\s+--user\b`},
		Hit:    []string{"pip install --user x", "pip install black --user"},
		Miss:   []string{"pip install -r requirements.txt", "pip list --user"},
	},
}

// anyWord matches if one of the words is the verb: the first operand, or the second behind another verb.
func anyWord(words ...string) Matcher {
	return func(c *Command) bool {
		for n, operand := range c.Operands() {
			if n > 1 {
				break
			}
			for _, w := range words {
				if operand == w {
					return n == 0 || c.Operand(0) == "global" || c.Operand(0) == "pip" || c.Operand(0) == "tool" || c.Operand(0) == "profile" || c.Operand(0) == "group" || c.Operand(0) == "module"
				}
			}
		}
		return false
	}
}
