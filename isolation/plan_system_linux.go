package isolation

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
)

// etcFiles are what programs need of /etc to find their libraries, names and
// certificates. Nothing among them is secret. What does not exist is left out.
var etcFiles = []string{
	"alternatives", "bash.bashrc", "ca-certificates", "crypto-policies",
	"fonts", "gai.conf", "gitattributes", "gitconfig", "host.conf", "hosts", "inputrc", "ld.so.cache",
	"ld.so.conf", "ld.so.conf.d", "locale.alias", "locale.conf", "localtime",
	"magic", "mime.types", "networks", "nsswitch.conf", "os-release",
	"pki/ca-trust/extracted", "pki/tls/cert.pem", "pki/tls/certs",
	"protocols", "resolv.conf", "services", "shells", "ssl/cert.pem",
	"ssl/certs", "ssl/openssl.cnf", "terminfo", "timezone",
}

// networkFiles are what a program needs of /etc to use the network.
var networkFiles = []string{
	"ca-certificates", "gai.conf", "host.conf", "hosts", "nsswitch.conf",
	"pki/ca-trust/extracted", "pki/tls/cert.pem", "pki/tls/certs",
	"resolv.conf", "services", "ssl/cert.pem", "ssl/certs",
}

// changingFiles are those of them that change with the network while a sandbox lives.
var changingFiles = []string{"hosts", "resolv.conf"}

// systemDirs are the directories of a system's programs and libraries. On most
// systems all but the first are links into it.
var systemDirs = []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store"}

// addSystem adds what programs need in order to run: all of the system's, or the profile's and their libraries.
func (v *view) addSystem() {
	shown := systemDirs
	if len(v.profile.Programs) > 0 {
		shown = libraryDirs
	}
	for _, dir := range systemDirs {
		if to, err := os.Readlink(dir); err == nil {
			v.set(mount{kind: symlink, source: to, target: dir})
		}
	}
	for _, dir := range shown {
		if info, err := os.Lstat(dir); err == nil && info.IsDir() {
			v.set(mount{kind: bindRO, source: dir, target: dir})
		}
	}
	v.addPrograms()
	v.addEtc(etcFiles)
	uid, gid := strconv.Itoa(os.Getuid()), strconv.Itoa(os.Getgid())
	v.set(mount{kind: bindData, target: "/etc/passwd", data: passwd(uid, gid)})
	v.set(mount{kind: bindData, target: "/etc/group", data: group(gid)})
}

// addPrograms adds the programs that the profile names, by the names that they are called by, and what starts them.
func (v *view) addPrograms() {
	for _, name := range v.profile.Programs {
		path, real, ok := findProgram(name)
		if !ok {
			continue
		}
		for _, file := range []string{real, interpreter(real)} {
			if file != "" && !v.shows(file) {
				v.set(mount{kind: bindRO, source: file, target: file})
			}
		}
		if dir, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil && path != real {
			if at := filepath.Join(dir, filepath.Base(path)); at != real {
				v.set(mount{kind: symlink, source: real, target: at})
			}
		}
	}
}

func (v *view) addNetworkFiles() { v.addEtc(networkFiles) }

// addNames has names be looked up where a proxied network has them, and nowhere else.
func (v *view) addNames() {
	for path, text := range map[string]string{
		"/etc/resolv.conf":   "nameserver 127.0.0.1\n",
		"/etc/hosts":         "127.0.0.1 localhost\n::1 localhost\n",
		"/etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\nservices: files\nprotocols: files\n",
	} {
		v.set(mount{kind: bindData, target: path, data: []byte(text)})
	}
	if certificates := v.profile.Proxied.Certificates; len(certificates) > 0 {
		v.set(mount{kind: bindData, target: CertificatesPath, data: certificates})
	}
}

func (v *view) addEtc(names []string) {
	for _, name := range names {
		path := filepath.Join("/etc", name)
		real, err := filepath.EvalSymlinks(path)
		if err != nil {
			continue
		}
		info, err := os.Stat(real)
		switch {
		case err != nil:
		case real != path && v.shows(real):
			v.set(mount{kind: symlink, source: real, target: path})
		case info.Mode().IsRegular() && info.Size() <= copyBytes && !slices.Contains(changingFiles, name):
			v.set(mount{kind: copied, source: real, target: path})
		default:
			v.set(mount{kind: bindRO, source: real, target: path})
		}
	}
}

// copyBytes is how large a file may be that is copied into a sandbox: a mount costs more.
const copyBytes = 256 << 10

// neverWriteThrough has a mount stand wherever a file or link would otherwise be made in a directory of the host's.
func (v *view) neverWriteThrough() {
	for n, m := range v.mounts {
		if m.kind != copied && m.kind != symlink {
			continue
		}
		if outer, ok := v.holder(m.target); ok && outer.bind() && filepath.IsAbs(m.source) {
			v.mounts[n].kind = bindRO
		}
	}
}

// passwd names the users that exist inside: who else has an account on the
// host is not the sandbox's business.
func passwd(uid, gid string) []byte {
	text := "nobody:x:65534:65534:nobody:/:/sbin/nologin\n"
	if uid != "0" {
		text += fmt.Sprintf("user:x:%s:%s::/:/bin/sh\n", uid, gid)
	}
	return []byte("root:x:0:0:root:/:/bin/sh\n" + text)
}

func group(gid string) []byte {
	text := "nogroup:x:65534:\n"
	if gid != "0" {
		text += fmt.Sprintf("user:x:%s:\n", gid)
	}
	return []byte("root:x:0:\n" + text)
}

// scratchBytes bounds what a sandbox can put into its private /tmp, which is
// memory.
const scratchBytes = 512 << 20

// addKernel adds the kernel's file systems and, unless it is named itself, a private /tmp. The host's own
// file systems are never shown, not even below a path that holds them: they would show the
// host's processes, and with them their environments.
func (v *view) addKernel() {
	exec := v.profile.Exec
	if exec || v.proc || v.covers("/proc") {
		// Root owns the kernel's settings by uid, without any capability, and could otherwise set core_pattern.
		v.set(mount{kind: procfs, target: "/proc"})
		v.last = append(v.last, mount{kind: remountRO, target: "/proc"})
	}
	if exec || v.dev || v.covers("/dev") {
		v.set(mount{kind: devfs, target: "/dev"})
	}
	if exec && !v.has("/tmp") {
		v.set(mount{kind: tmpfs, target: "/tmp"})
	}
	if _, inside := v.holder("/run"); inside && !v.has("/run") {
		// With the whole root visible, the sockets of the host's services
		// would be as well.
		v.set(mount{kind: tmpfs, target: "/run"})
		v.last = append(v.last, mount{kind: remountRO, target: "/run"})
	}
}
