package rules

import (
	"slices"
	"strings"
)

var systemRules = []Rule{
	{
		ID: "exec.power", Tier: Hard, Names: "shutdown reboot poweroff halt telinit kexec stop-computer restart-computer",
		Match:  nil,
		Reason: "stops or restarts the machine",
		Seeds:  []string{`\b(shutdown|reboot|poweroff)\b`},
		Hit:    []string{"shutdown -h now", "reboot", "halt"},
		Miss:   []string{"echo reboot"},
	},
	{
		ID: "exec.power", Tier: Hard, Names: "init", Match: func(c *Command) bool { return slices.Contains([]string{"0", "1", "2", "6", "S", "s"}, c.Operand(0)) },
		Reason: "stops or restarts the machine", Hit: []string{"init 0", "init 6"}, Miss: []string{"init project"},
	},
	{
		ID: "exec.power", Tier: Hard, Names: "systemctl loginctl",
		Match:  verb("poweroff", "reboot", "halt", "kexec", "suspend", "hibernate", "hybrid-sleep", "suspend-then-hibernate", "soft-reboot", "rescue", "emergency", "exit", "isolate", "switch-root", "start poweroff.target", "start reboot.target", "start halt.target"),
		Reason: "stops or restarts the machine",
		Hit:    []string{"systemctl poweroff", "systemctl --force reboot", "loginctl reboot"},
		Miss:   []string{"systemctl status nginx"},
	},
	{
		ID: "exec.power", Tier: Hard, Names: "dbus-send busctl gdbus qdbus osascript rundll32 gnome-session-quit xfce4-session-logout wmic", Match: func(c *Command) bool {
			line := strings.ToLower(strings.Join(c.Args, " "))
			for _, w := range []string{"poweroff", "reboot", "shutdown", "shut down", "restart", "halt", "setsuspendstate", "power-off", "hibernate"} {
				if strings.Contains(line, w) {
					return true
				}
			}
			return false
		},
		Reason: "stops or restarts the machine",
		Hit:    []string{"busctl call org.freedesktop.login1 /org/freedesktop/login1 org.freedesktop.login1.Manager PowerOff b true"},
		Miss:   []string{"busctl list"},
	},
	{
		ID: "exec.kernel", Tier: Hard, Names: "iptables ip6tables ebtables arptables", Match: not(flag("-L", "-S", "-h", "-V", "-C", "--list", "--list-rules", "--check", "--help", "--version")),
		Reason: "changes the running kernel's filters",
		Hit:    []string{"iptables -F", "iptables -A INPUT -j DROP"}, Miss: []string{"iptables -L -n", "iptables -S"},
	},
	{
		ID: "exec.kernel", Tier: Hard, Names: "insmod modprobe rmmod sysctl nft ufw firewall-cmd setenforce auditctl",
		Match:  both(operand, not(anyOf(verb("list", "status"), flag("-L", "-S", "-a", "-n", "-e")))),
		Reason: "changes the running kernel or its filters",
		Hit:    []string{"modprobe x", "sysctl -w a=1"}, Miss: []string{"sysctl -n kernel.ostype", "ufw status"},
	},
	{
		ID: "exec.builtin", Tier: Hard, Names: "enable hash bind complete compgen",
		Match:  flag("-f", "-n", "-p", "-x", "-C", "-F", "-d"),
		Reason: "changes what a command name stands for",
		Hit:    []string{"enable -n kill", "hash -p ./x ls"}, Miss: []string{"hash -r", "enable"},
	},
	{
		ID: "exec.schedule", Names: "crontab", Match: not(flag("-l", "-V", "--help")),
		Reason: "changes what the machine runs later",
		Hit:    []string{"crontab -r", "crontab jobs.txt", "crontab -"}, Miss: []string{"crontab -l", "crontab -u me -l"},
	},
	{
		ID: "exec.schedule", Names: "schtasks systemd-run launchctl", Match: anyOf(prefix("/create", "/change", "/delete", "/run", "--on-"), verb("load", "bootstrap", "submit")),
		Reason: "changes what the machine runs later",
		Hit:    []string{"schtasks /create /tn x", "systemd-run --on-active=5 ls"}, Miss: []string{"schtasks /query"},
	},
}

var processRules = []Rule{
	{
		ID: "exec.pkill", Names: "pkill killall killall5 skill slay xkill pskill", Match: nil,
		Reason: "stops processes by their name, others' among them",
		Safer:  "stop the process that you started with kill and its id",
		Seeds:  []string{`\bpkill\b`, `\bkillall\b`},
		Hit:    []string{"pkill -f node", "killall node"}, Miss: []string{"pgrep node"},
	},
	{
		ID: "exec.kill-9", Names: "kill", Match: sigkill,
		Reason: "kills processes without letting them finish, or all of them",
		Safer:  "use kill with the default signal and the id of a process that you started",
		Seeds:  []string{`\bkill\s+-[9]\b`},
		Hit:    []string{"kill -9 1", "kill -s KILL 1", "kill -n 9 1", "kill -SIGKILL 1", "kill -TERM -1", "kill -s 9 1", "kill -sKILL 1"},
		Miss:   []string{"kill 1234", "kill -l", "kill -0 1", "kill -15 1", "kill %1"},
	},
	{
		ID: "exec.kill-9", Names: "taskkill stop-process spps fuser", Match: anyOf(prefix("/f", "-f", "-k", "/im"), flag("-k", "--kill")),
		Reason: "kills processes without letting them finish",
		Hit:    []string{"taskkill /F /PID 1", "fuser -k 80/tcp"}, Miss: []string{"fuser 80/tcp"},
	},
	{
		ID: "exec.kill-9", Names: "systemctl loginctl", Match: verb("kill", "kill-session", "kill-user", "terminate-user", "terminate-session"),
		Reason: "kills the processes of a service or user",
		Hit:    []string{"systemctl kill -s 9 x"}, Miss: []string{"systemctl status x"},
	},
}

// sigkill says whether kill sends signal 9, or reaches every process.
func sigkill(c *Command) bool {
	for i, arg := range c.Args {
		signal := strings.TrimPrefix(strings.ToUpper(arg), "-")
		option := strings.HasPrefix(arg, "-")
		switch {
		case option && (signal == "S" || signal == "N" || signal == "-SIGNAL") && i+1 < len(c.Args):
			if kill9(c.Args[i+1]) {
				return true
			}
		case option && strings.HasPrefix(signal, "-SIGNAL=") && kill9(signal[8:]):
			return true
		case option && i == 0 && (kill9(signal) || len(signal) > 1 && (signal[0] == 'S' || signal[0] == 'N') && kill9(signal[1:])):
			return true
		case arg == "-1" && i > 0:
			return true
		}
	}
	return false
}

// kill9 says whether a word names signal 9.
func kill9(word string) bool {
	word = strings.ToUpper(word)
	return strings.TrimLeft(word, "0") == "9" || word == "KILL" || word == "SIGKILL"
}
