package rules

import (
	"slices"
	"strings"
)

// machineRules are about what a machine is set to: its services, clock, network, name and logs.
var machineRules = []Rule{
	{
		ID: "exec.service", Names: "systemctl", Match: both(verb("stop", "disable", "mask", "set-default", "freeze", "clean", "bind", "mount-image", "default"), not(flag("--user"))),
		Reason: "stops services of the machine",
		Safer:  "look with systemctl status; ask a person to change it",
		Hit:    []string{"systemctl stop ssh", "systemctl disable --now ssh", "systemctl mask ssh"},
		Miss:   []string{"systemctl status ssh", "systemctl is-active ssh", "systemctl list-units", "systemctl cat stop.service", "systemctl --user stop app", "systemctl restart nginx"},
	},
	{
		ID: "exec.service", Names: "service rc-service invoke-rc.d", Match: func(c *Command) bool {
			words := c.Operands()
			return len(words) > 1 && slices.Contains([]string{"stop", "force-stop", "zap"}, words[1])
		},
		Reason: "stops services of the machine",
		Safer:  "look with service NAME status; ask a person to change it",
		Hit:    []string{"service ssh stop", "rc-service nginx zap"}, Miss: []string{"service ssh status", "service --status-all", "service nginx restart"},
	},
	{
		ID: "exec.service", Names: "chkconfig update-rc.d rc-update initctl", Match: both(operand, not(verb("list", "show", "status", "version"))),
		Reason: "changes which services of the machine run",
		Hit:    []string{"update-rc.d ssh disable", "rc-update del sshd"}, Miss: []string{"initctl list", "rc-update show"},
	},
	{
		ID: "exec.clock", Tier: Hard, Names: "date gdate", Match: func(c *Command) bool {
			if prefix("-s", "-us", "--s")(c) {
				return true
			}
			when := c.Operand(0) // MMDDhhmm[[CC]YY][.ss]
			digits, _, _ := strings.Cut(when, ".")
			return len(digits) >= 8 && strings.Trim(digits, "0123456789") == "" && !c.Opts().Has("-d", "-j", "--date")
		},
		Reason: "sets the machine's clock",
		Hit:    []string{"date -s 2020-01-01", "date --set=2020-01-01", "date 010100002020"}, Miss: []string{"date", "date +%s", "date -d yesterday +%F", "date -r a.txt", "date -u", "date -Is"},
	},
	{
		ID: "exec.clock", Tier: Hard, Names: "hwclock", Match: flag("-w", "-s", "-a", "--systohc", "--hctosys", "--set", "--adjust", "--setepoch", "--param-set"),
		Reason: "sets a clock of the machine",
		Hit:    []string{"hwclock -w", "hwclock --systohc"}, Miss: []string{"hwclock", "hwclock --show", "hwclock -r"},
	},
	{
		ID: "exec.clock", Tier: Hard, Names: "timedatectl", Match: verb("set-time", "set-timezone", "set-local-rtc", "set-ntp", "ntp-servers", "revert"),
		Reason: "sets the machine's clock",
		Hit:    []string{"timedatectl set-time 2020-01-01"}, Miss: []string{"timedatectl", "timedatectl show -p Timezone"},
	},
	{
		ID: "exec.clock", Tier: Hard, Names: "ntpdate rdate", Match: both(operand, not(flag("-q", "-p"))),
		Reason: "sets the machine's clock", Hit: []string{"ntpdate pool.ntp.org"}, Miss: []string{"ntpdate -q pool.ntp.org"},
	},
	{
		ID: "exec.network", Tier: Hard, Names: "ip", Match: func(c *Command) bool {
			verbs := ipVerbs(c)
			return len(verbs) > 1 && ipChange(verbs[1])
		},
		Reason: "changes the machine's network",
		Hit:    []string{"ip link set eth0 down", "ip -4 route del default", "ip addr add 192.0.2.1/24 dev eth0", "ip route flush table main", "ip netns exec x ls", "ip r d default"},
		Miss:   []string{"ip addr", "ip -br a", "ip link show dev eth0", "ip route get 192.0.2.1", "ip a s", "ip -s link"},
	},
	{
		ID: "exec.network", Tier: Hard, Names: "ifconfig iwconfig", Match: func(c *Command) bool { return len(c.Operands()) > 1 },
		Reason: "changes the machine's network", Hit: []string{"ifconfig eth0 down", "ifconfig eth0 192.0.2.1"}, Miss: []string{"ifconfig", "ifconfig -a", "ifconfig eth0"},
	},
	{
		ID: "exec.network", Tier: Hard, Names: "route", Match: verb("add", "del", "delete", "flush", "change"),
		Reason: "changes the machine's network", Hit: []string{"route del default", "route add -net 192.0.2.0/24 dev eth0"}, Miss: []string{"route -n", "route get 192.0.2.1"},
	},
	{
		ID: "exec.network", Tier: Hard, Names: "ifup ifdown dhclient dhcpcd", Match: not(flag("--version", "--help")),
		Reason: "changes the machine's network", Hit: []string{"ifdown eth0", "dhclient -r"}, Miss: []string{"ifup --version"},
	},
	{
		ID: "exec.network", Tier: Hard, Names: "brctl", Match: verb("addbr", "delbr", "addif", "delif", "setfd", "stp"),
		Reason: "changes the machine's network", Hit: []string{"brctl delbr br0"}, Miss: []string{"brctl show"},
	},
	{
		ID: "exec.network", Tier: Hard, Names: "tc", Match: func(c *Command) bool {
			verbs := ipVerbs(c)
			return len(verbs) > 1 && ipChange(verbs[1])
		},
		Reason: "changes the machine's network",
		Hit:    []string{"tc qdisc add dev eth0 root netem loss 100%", "tc qdisc del dev eth0 root", "tc -n ns1 filter replace dev eth0", "tc class change dev eth0", "tc -b rules.txt"},
		Miss:   []string{"tc qdisc show", "tc -s qdisc show dev eth0", "tc qdisc", "tc -s -d class ls dev eth0", "tc -j filter show dev eth0"},
	},
	{
		ID: "exec.network", Tier: Hard, Names: "ethtool", Match: func(c *Command) bool {
			return len(c.Args) > 1 && (ethtoolChanges[c.Args[0]] || strings.HasPrefix(c.Args[0], "--set-") || strings.HasPrefix(c.Args[0], "--config-"))
		},
		Reason: "changes the machine's network",
		Hit:    []string{"ethtool -s eth0 speed 10", "ethtool -K eth0 tso off", "ethtool --set-priv-flags eth0 x on", "ethtool -r eth0"},
		Miss:   []string{"ethtool eth0", "ethtool -i eth0", "ethtool -S eth0", "ethtool --show-features eth0", "ethtool -k eth0"},
	},
	{
		ID: "exec.network", Tier: Hard, Names: "iw", Match: word("set", "disconnect", "connect", "del", "interface", "join", "leave", "add", "disable"),
		Reason: "changes the machine's network",
		Hit:    []string{"iw dev wlan0 disconnect", "iw reg set US", "iw dev wlan0 del"}, Miss: []string{"iw dev", "iw dev wlan0 link", "iw list", "iw dev wlan0 station dump"},
	},
	{
		ID: "exec.network", Tier: Hard, Names: "nmcli", Match: func(c *Command) bool {
			words := c.Operands()
			return len(words) > 1 && slices.Contains([]string{"off", "on", "up", "down", "delete", "add", "modify", "connect", "disconnect", "set", "reload", "load", "import", "edit"}, words[1]) ||
				len(words) > 2 && words[0] == "radio"
		},
		Reason: "changes the machine's network", Hit: []string{"nmcli networking off", "nmcli radio wifi off"}, Miss: []string{"nmcli device status", "nmcli radio wifi", "nmcli"},
	},
	{
		ID: "exec.network", Tier: Hard, Names: "rfkill", Match: verb("block", "unblock", "toggle"),
		Reason: "switches radios of the machine", Hit: []string{"rfkill block all"}, Miss: []string{"rfkill list", "rfkill"},
	},
	{
		ID: "exec.hostname", Tier: Hard, Names: "hostnamectl", Match: func(c *Command) bool {
			words := c.Operands()
			return len(words) > 1 && (strings.HasPrefix(words[0], "set-") || slices.Contains([]string{"hostname", "icon-name", "chassis", "deployment", "location"}, words[0]))
		},
		Reason: "changes the machine's name", Hit: []string{"hostnamectl set-hostname x", "hostnamectl hostname x"}, Miss: []string{"hostnamectl", "hostnamectl status", "hostnamectl hostname"},
	},
	{
		ID: "exec.hostname", Tier: Hard, Names: "hostname domainname", Match: anyOf(operand, flag("-F", "-b", "--file", "--boot")),
		Reason: "changes the machine's name", Hit: []string{"hostname evil", "hostname -F name.txt"}, Miss: []string{"hostname", "hostname -I", "hostname -f"},
	},
	{
		ID: "exec.logs", Names: "dmesg", Match: flag("-C", "-c", "-D", "-E", "-n", "--clear", "--read-clear", "--console-off", "--console-on", "--console-level"),
		Reason: "deletes or switches off the kernel's messages",
		Safer:  "use dmesg without it",
		Hit:    []string{"dmesg -C", "dmesg -c"}, Miss: []string{"dmesg", "dmesg -T", "dmesg --level=err"},
	},
	{
		ID: "exec.logs", Names: "journalctl", Match: anyOf(prefix("--vacuum"), flag("--rotate", "--flush", "--relinquish-var", "--setup-keys", "--update-catalog")),
		Reason: "deletes or moves the machine's logs",
		Hit:    []string{"journalctl --vacuum-time=1s", "journalctl --rotate"}, Miss: []string{"journalctl -u x", "journalctl --disk-usage", "journalctl -f"},
	},
}

// ethtoolChanges are the options of ethtool that change something.
var ethtoolChanges = map[string]bool{"-s": true, "-A": true, "-C": true, "-G": true, "-K": true, "-L": true, "-N": true, "-U": true, "-X": true, "-E": true, "-W": true, "-r": true, "-t": true, "-f": true,
	"--change": true, "--pause": true, "--coalesce": true, "--features": true, "--offload": true, "--negotiate": true, "--test": true, "--flash": true, "--reset": true, "--change-eeprom": true, "--rxfh": true}

// ipVerbs are the object and the verb that ip is told, options left out.
func ipVerbs(c *Command) (words []string) {
	for i := 0; i < len(c.Args); i++ {
		switch arg := c.Args[i]; {
		case arg == "-n" || arg == "-netns" || arg == "-f" || arg == "-family" || arg == "-rc" || arg == "-rcvbuf" || arg == "-l" || arg == "-loops":
			i++
		case arg == "-b" || arg == "-batch" || strings.HasPrefix(arg, "-force"):
			return []string{"batch", "set"} // whatever the file says
		case !strings.HasPrefix(arg, "-"):
			words = append(words, arg)
		}
	}
	return words
}

// ipChange says whether a verb of ip, perhaps abbreviated, changes something.
func ipChange(verb string) bool {
	for _, v := range []string{"add", "change", "delete", "set", "replace", "append", "prepend", "flush", "exec", "attach", "restore"} {
		if verb != "" && strings.HasPrefix(v, verb) && verb != "s" {
			return true
		}
	}
	return false
}
