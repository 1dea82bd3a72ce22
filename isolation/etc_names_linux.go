package isolation

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// secretEtcNames are patterns of files below /etc that sandboxes do not see, whatever their modes. A pattern with a
// slash is a path below /etc; without a slash it is a name in any directory. Patterns are in lower case, and * matches
// any text at their ends. A directory includes its contents.
type secretEtcNames struct {
	reason   string
	patterns []string
}

// etcSecrets are the files and directories of /etc that hold secrets.
var etcSecrets = []secretEtcNames{
	{"passwords of users", []string{"*shadow*"}},
	{"earlier passwords of users", []string{"opasswd"}},
	{"an earlier list of users", []string{"passwd-"}},
	{"an earlier list of groups", []string{"group-"}},
	{"rights of users", []string{"sudoers*"}},
	{"the identity of the machine", []string{"machine-id"}},
	{"passwords", []string{"*password*", "*.kdbx", "*netrc"}},
	{"passwords of a service", []string{"passwd.*", "*_passwd*"}},
	{"passwords of a web server", []string{"*htpasswd*"}},
	{"secrets", []string{"*secret*", "*.secrets"}},
	{"credentials", []string{"*credential*"}},
	{"tokens", []string{"*token*"}},
	{"addresses with passwords", []string{"*proxy*", "sources.list*"}},
	{"passwords of package sources", []string{"auth.conf*", "*pip.conf", "pypirc"}},
	{"keys of services", []string{"*apikey*"}},
	{"private keys", []string{"*.key", "*_key", "*.p12", "*.pfx", "*.jks", "id_*", "private"}},
	{"keys of Kerberos", []string{"*.keytab"}},
	{"keys of Ceph", []string{"*.keyring"}},
	{"keys of a VPN", []string{"*.ovpn"}},
	{"environment of a service", []string{"*.env", ".env*"}},
	{"tokens of package sources", []string{"*npmrc", "*yarnrc*"}},
	{"keys of a cloud", []string{"*s3cfg", "boto.cfg"}},
	{"passwords of mail", []string{"*msmtprc", "*fetchmailrc"}},
	{"keys of a cluster", []string{"kubeconfig*", "*.kubeconfig"}},
	{"passwords of databases", []string{"my.cnf*"}},
	{"passwords", []string{"/wgetrc", "/samba", "/freeradius", "/raddb", "/snmp*", "/mosquitto*", "/rabbitmq*",
		"/grafana*", "/prometheus*", "/filebeat*", "/ddclient*", "/gdm*", "/lightdm*", "/nut", "/asterisk",
		"/icinga*", "/nagios*", "/zabbix*", "/keepalived"}},
	{"environment of the machine", []string{"/environment", "/environment.d"}},
	{"passwords of package sources", []string{"/maven/settings*"}},
	{"environments of services", []string{"/default", "/sysconfig", "/conf.d", "/systemd", "/init.d", "/uwsgi*",
		"/supervisor*"}},
	{"commands with passwords", []string{"/cron*", "/anacrontab", "/rc.local"}},
	{"passwords of file systems", []string{"/fstab*", "/auto.*"}},
	{"secrets", []string{"/ansible", "/vault*", "/gitea*", "/jenkins*"}},
	{"keys", []string{"/chef", "/puppet*", "/salt"}},
	{"tokens", []string{"/consul*", "/nomad*", "/telegraf*", "/datadog*", "/newrelic*", "/fluent*", "/gitlab*",
		"/github*", "/cloudflared*", "/nix"}},
	{"keys of registries", []string{"/docker", "/containers/auth*", "/containerd"}},
	{"keys of a cluster", []string{"/kubernetes", "/rancher", "/etcd", "/cni", "/munge", "/pve", "/corosync"}},
	{"private keys", []string{"/letsencrypt", "/acme*", "/ssh/ssh_host*", "/tor"}},
	{"keys of a VPN", []string{"/wireguard", "/openvpn", "/ipsec*", "/swanctl", "/strongswan*", "/tinc",
		"/tailscale*"}},
	{"passwords of networks", []string{"/ppp", "/chatscripts", "/networkmanager", "/netplan", "/wpa_supplicant*",
		"/iwd", "/hostapd*", "/network"}},
	{"secrets of the machine's start", []string{"/cloud", "/waagent*"}},
	{"keys of a cloud", []string{"/google*", "/aws*", "/amazon*", "/azure*"}},
	{"keys of storage", []string{"/ceph", "/rclone*"}},
	{"passwords of a directory", []string{"/sssd", "*ldap*", "/nslcd*", "/ipa"}},
	{"passwords of databases", []string{"/mysql*", "/mariadb*", "/postgresql*", "/pgbouncer*", "/mongo*",
		"/redis*", "/odbc*"}},
	{"passwords of mail", []string{"/exim*", "/postfix", "/dovecot", "/ssmtp"}},
	{"passwords of backups", []string{"/restic*", "/borg*", "/duplicity*", "/bacula*", "/bareos*"}},
	{"passwords of printers", []string{"/cups"}},
	{"passwords of a web server", []string{"/apache2/sites*", "/httpd", "/nginx", "/caddy", "/traefik*",
		"/haproxy*", "/squid*"}},
	{"the policy of agents", []string{"/picoclaw*"}},
	{"addresses with passwords", []string{"/yum*", "/zypp*"}},
	{"passwords of storage", []string{"/iscsi"}},
	{"keys of disks", []string{"/crypttab*", "/luks*"}},
}

// secretPatterns matches the names in etcSecrets, and secretPaths the paths.
var secretPatterns, secretPaths = indexSecretPatterns(etcSecrets)

// patternIndex matches text with patterns that have * at their ends only.
type patternIndex struct {
	exact                     map[string]bool
	starts, ends, containings []string
}

func indexSecretPatterns(secrets []secretEtcNames) (names, paths *patternIndex) {
	names, paths = &patternIndex{exact: map[string]bool{}}, &patternIndex{exact: map[string]bool{}}
	for _, secret := range secrets {
		for _, pattern := range secret.patterns {
			index := names
			if strings.HasPrefix(pattern, "/") {
				index = paths
			}
			text, anyStart := strings.CutPrefix(pattern, "*")
			text, anyEnd := strings.CutSuffix(text, "*")
			switch {
			case anyStart && anyEnd:
				index.containings = append(index.containings, text)
			case anyStart:
				index.ends = append(index.ends, text)
			case anyEnd:
				index.starts = append(index.starts, text)
			default:
				index.exact[text] = true
			}
		}
	}
	return names, paths
}

func (p *patternIndex) matches(text string) bool {
	return p.exact[text] ||
		slices.ContainsFunc(p.starts, func(s string) bool { return strings.HasPrefix(text, s) }) ||
		slices.ContainsFunc(p.ends, func(s string) bool { return strings.HasSuffix(text, s) }) ||
		slices.ContainsFunc(p.containings, func(s string) bool { return strings.Contains(text, s) })
}

// isSecretName reports whether a path relative to /etc, or one of its parents, matches etcSecrets.
func isSecretName(rel string) bool {
	at := "/" + strings.ToLower(rel)
	for end := 1; end <= len(at); end++ {
		if end < len(at) && at[end] != '/' {
			continue
		}
		dir := at[:end]
		if secretPatterns.matches(filepath.Base(dir)) || secretPaths.matches(dir) {
			return true
		}
	}
	return false
}

// isPublic reports whether every user may read a file, or list and enter a directory.
func isPublic(mode fs.FileMode) bool {
	return mode.IsDir() && mode&0o005 == 0o005 || mode.IsRegular() && mode&0o004 != 0
}

const (
	// maxEtcBytes limits the sum of the files copied.
	maxEtcBytes = 16 << 20
	// maxEtcEntries limits the files and directories listed.
	maxEtcEntries = 20000
)

// etcEntry is a file, directory or symlink in /etc that sandboxes see.
type etcEntry struct {
	rel  string      // below the directory listed
	info fs.FileInfo // nil for symlinks
}

// listPublicEntries lists the entries below a directory that every user may read, parents first. It omits secret names,
// and files that exceed maxEtcBytes in total.
func listPublicEntries(dir string) (entries []etcEntry, err error) {
	room := int64(maxEtcBytes)
	err = filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || name == dir {
			return ignoreMissingOrUnreadable(err)
		}
		entry := etcEntry{rel: name[len(dir)+1:]}
		public := !isSecretName(entry.rel)
		if public && d.Type() != fs.ModeSymlink { // a link that is replaced shows in its directory
			if entry.info, err = d.Info(); err != nil {
				return ignoreMissingOrUnreadable(err)
			}
			public = isPublic(entry.info.Mode())
		}
		if public && d.Type().IsRegular() {
			if public = entry.info.Size() <= room; public {
				room -= entry.info.Size()
			}
		}
		switch {
		case !public && d.IsDir():
			return fs.SkipDir
		case !public:
			return nil
		}
		if len(entries) == maxEtcEntries {
			return fmt.Errorf("%s contains more than %d files", dir, maxEtcEntries)
		}
		entries = append(entries, entry)
		return nil
	})
	return entries, err
}

// ignoreMissingOrUnreadable returns nil for errors about files that are missing or unreadable.
func ignoreMissingOrUnreadable(err error) error {
	if os.IsNotExist(err) || os.IsPermission(err) {
		return nil
	}
	return err
}

// stateIdentity returns text that changes with the entry.
func (e etcEntry) stateIdentity() string {
	if e.info == nil {
		return strconv.Quote(e.rel)
	}
	stat := e.info.Sys().(*syscall.Stat_t)
	return fmt.Sprintf("%q %d:%d %o %d %d", e.rel, stat.Dev, stat.Ino, stat.Mode, stat.Size, e.info.ModTime().UnixNano())
}

// copyPublicEntry copies an entry of a directory into root, unless the path exists there.
func copyPublicEntry(root *os.Root, dir string, e etcEntry) error {
	if _, err := root.Lstat(e.rel); err == nil {
		return nil
	}
	from := filepath.Join(dir, e.rel)
	var err error
	switch {
	case e.info == nil:
		var to string
		if to, err = os.Readlink(from); err == nil {
			err = root.Symlink(to, e.rel)
		}
	case e.info.IsDir():
		err = root.Mkdir(e.rel, 0o755)
	default:
		var data []byte
		if data, err = os.ReadFile(from); err == nil {
			err = root.WriteFile(e.rel, data, 0o444|e.info.Mode()&0o111)
		}
	}
	return ignoreMissingOrUnreadable(err)
}

// isPublicEtcPath reports whether listPublicEntries(etc) would list a path, apart from its size limits.
func isPublicEtcPath(name string) bool {
	if !isStrictlyBelow(etc, name) || isSecretName(relativePath(etc, name)) {
		return false
	}
	for at := name; at != etc; at = filepath.Dir(at) {
		if info, err := os.Lstat(at); err != nil || !isPublic(info.Mode()) {
			return false
		}
	}
	return true
}

// publicEtcTrees returns the files and directories of /etc that a child may read. If this process can't list /etc, it
// returns /etc, since the child then can't read more than this process.
func publicEtcTrees() []string {
	if dir, err := os.Open(etc); err == nil {
		_ = dir.Close()
		trees, _ := publicTrees(etc)
		return trees
	}
	return []string{etc}
}

// publicTrees returns the largest directories below dir without secrets, the public files next to them, and whether
// all of dir is public. It omits symlinks, since Landlock rules apply to their targets.
func publicTrees(dir string) (trees []string, whole bool) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, false
	}
	whole = dir != etc
	for _, entry := range entries {
		name := dir + "/" + entry.Name()
		if entry.Type() == fs.ModeSymlink {
			continue
		}
		info, err := entry.Info()
		switch {
		case err != nil || !isPublic(info.Mode()) || isSecretName(name[len(etc)+1:]):
			whole = false
		case !entry.IsDir():
			trees = append(trees, name)
		default:
			below, all := publicTrees(name)
			if all {
				below = []string{name}
			}
			trees, whole = append(trees, below...), whole && all
		}
	}
	return trees, whole
}
