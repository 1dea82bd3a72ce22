package isolation

import (
	"debug/elf"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/sys/unix"
)

// etcFiles are the files of /etc that programs need for libraries, names and certificates. None is secret.
var etcFiles = []string{
	"alternatives", "bash.bashrc", "ca-certificates", "crypto-policies",
	"fonts", "gai.conf", "gitattributes", "gitconfig", "host.conf", "hosts", "inputrc", "ld.so.cache",
	"ld.so.conf", "ld.so.conf.d", "locale.alias", "locale.conf", "localtime",
	"magic", "mime.types", "networks", "nsswitch.conf", "os-release",
	"pki/ca-trust/extracted", "pki/tls/cert.pem", "pki/tls/certs",
	"protocols", "resolv.conf", "services", "shells", "ssl/cert.pem",
	"ssl/certs", "ssl/openssl.cnf", "terminfo", "timezone",
}

// networkFiles are the files of /etc that network access needs.
var networkFiles = []string{
	"ca-certificates", "gai.conf", "host.conf", "hosts", "nsswitch.conf",
	"pki/ca-trust/extracted", "pki/tls/cert.pem", "pki/tls/certs",
	"resolv.conf", "services", "ssl/cert.pem", "ssl/certs",
}

// changingFiles are the files of /etc that change with the network while a sandbox runs.
var changingFiles = []string{"hosts", "resolv.conf"}

// systemDirs are the directories of programs and libraries. Most are symlinks into /usr.
var systemDirs = []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store"}

// addSystemPaths adds the system directories, or only those that the profile's list of programs needs.
func (v *mountPlanner) addSystemPaths() {
	shown := systemDirs
	if len(v.profile.Programs) > 0 {
		shown = libraryDirs
	}
	for _, dir := range systemDirs {
		if to, err := os.Readlink(dir); err == nil {
			v.setMount(plannedMount{kind: symlink, source: to, target: dir})
		}
	}
	for _, dir := range shown {
		if info, err := os.Lstat(dir); err == nil && info.IsDir() {
			v.setMount(plannedMount{kind: bindRO, source: dir, target: dir})
		}
	}
	v.addPrograms()
	v.addEtcFiles(etcFiles)
	uid, gid := strconv.Itoa(os.Getuid()), strconv.Itoa(os.Getgid())
	v.setMount(plannedMount{kind: bindData, target: passwdPath, data: passwdContent(uid, gid, v.profile.userHome)})
	v.setMount(plannedMount{kind: bindData, target: "/etc/group", data: groupContent(gid)})
}

// addPrograms adds the profile's programs, under the names by which they are called, and their dynamic linkers.
func (v *mountPlanner) addPrograms() {
	for _, name := range v.profile.Programs {
		path, real, ok := findProgram(name)
		if !ok {
			continue
		}
		for _, file := range []string{real, dynamicLinkerPath(real)} {
			if file != "" && !v.showsHostFile(file) {
				v.setMount(plannedMount{kind: bindRO, source: file, target: file})
			}
		}
		if dir, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil && path != real {
			if at := filepath.Join(dir, filepath.Base(path)); at != real {
				v.setMount(plannedMount{kind: symlink, source: real, target: at})
			}
		}
	}
}

// addResolverFiles adds files that direct name resolution to the proxied network.
func (v *mountPlanner) addResolverFiles() {
	for path, text := range map[string]string{
		"/etc/resolv.conf":   "nameserver 127.0.0.1\n",
		"/etc/hosts":         etcHostsContent(),
		"/etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\nservices: files\nprotocols: files\n",
	} {
		v.setMount(plannedMount{kind: bindData, target: path, data: []byte(text)})
	}
	if certificates := v.profile.Proxied.Certificates; len(certificates) > 0 {
		v.setMount(plannedMount{kind: bindData, target: CertificatesPath, data: certificates})
	}
}

// etcHostsContent returns an /etc/hosts that names the sandbox only: localhost and the machine's name.
func etcHostsContent() string {
	names := "localhost"
	if own, err := os.Hostname(); err == nil && own != "" && own != names && !strings.ContainsFunc(own, unicode.IsSpace) {
		names += " " + own
	}
	return "127.0.0.1 " + names + "\n::1 " + names + "\n"
}

func (v *mountPlanner) addEtcFiles(names []string) {
	for _, name := range names {
		path := filepath.Join("/etc", name)
		real, err := filepath.EvalSymlinks(path)
		if err != nil {
			continue
		}
		info, err := os.Stat(real)
		switch {
		case err != nil:
		case real != path && v.showsHostFile(real):
			v.setMount(plannedMount{kind: symlink, source: real, target: path})
		case info.Mode().IsRegular() && info.Size() <= maxCopyBytes && !slices.Contains(changingFiles, name):
			v.setMount(plannedMount{kind: copied, source: real, target: path})
		default:
			v.setMount(plannedMount{kind: bindRO, source: real, target: path})
		}
	}
}

// maxCopyBytes is the maximum size of files that are copied into a sandbox. Larger files are mounted, which is slower.
const maxCopyBytes = 256 << 10

// convertCopiesToBinds turns copied files and symlinks inside mounted host directories into read-only bind mounts.
// bubblewrap would create the copies and symlinks in the host's directory.
func (v *mountPlanner) convertCopiesToBinds() {
	for n, m := range v.mounts {
		if m.kind != copied && m.kind != symlink {
			continue
		}
		if outer, ok := v.innermostMount(m.target); ok && outer.isBind() && filepath.IsAbs(m.source) {
			v.mounts[n].kind = bindRO
		}
	}
}

// passwdContent returns an /etc/passwd with the users in the sandbox. Programs such as Java and SSH ignore HOME and use
// the home directory in this file.
func passwdContent(uid, gid, home string) []byte {
	if home == "" || strings.ContainsAny(home, ":\n") {
		home = "/"
	}
	const nobody = "nobody:x:65534:65534:nobody:/:/sbin/nologin\n"
	if uid == "0" {
		return []byte("root:x:0:0:root:" + home + ":/bin/sh\n" + nobody)
	}
	return []byte("root:x:0:0:root:/:/bin/sh\n" + nobody + fmt.Sprintf("user:x:%s:%s::%s:/bin/sh\n", uid, gid, home))
}

func groupContent(gid string) []byte {
	text := "nogroup:x:65534:\n"
	if gid != "0" {
		text += fmt.Sprintf("user:x:%s:\n", gid)
	}
	return []byte("root:x:0:\n" + text)
}

// scratchBytes limits the sandbox's private /tmp, which uses memory.
const scratchBytes = 512 << 20

// bindTmpDir makes the user environment's temporary directory the private /tmp. It does nothing if something else is
// mounted below /tmp, since a command could place a symlink there first. The directory is also mounted at its own
// path, so that no process in a sandbox can replace it.
func (v *mountPlanner) bindTmpDir() {
	dir := v.profile.temporary
	for _, m := range v.mounts {
		if isStrictlyBelow("/tmp", m.target) || m.target == "/tmp" && m.kind != tmpfs {
			return
		}
	}
	if dir == "" || !v.hasMount("/tmp") || checkPathHasNoLinks(dir) != nil {
		return
	}
	v.setMount(plannedMount{kind: bindRW, source: dir, target: dir, origin: fromProfile})
	v.setMount(plannedMount{kind: bindRW, source: dir, target: "/tmp", origin: fromProfile})
}

// shortenTmpDirEnv returns env with TMPDIR=/tmp, if the sandbox's /tmp is the temporary directory.
func (p *mountPlan) shortenTmpDirEnv(env []string) []string {
	for _, m := range p.mounts {
		if m.target == "/tmp" && m.source == p.profile.temporary && m.kind == bindRW {
			return append(slices.Clone(env), "TMPDIR=/tmp")
		}
	}
	return env
}

// addKernelMounts adds /proc, /dev and, unless the profile lists it, a private /tmp. It never adds the host's /proc,
// which contains the environments of host processes.
func (v *mountPlanner) addKernelMounts() {
	exec := v.profile.Exec
	if exec || v.proc || v.coversPath("/proc") {
		// Root owns the kernel's settings by uid, without any capability, and could otherwise set core_pattern.
		v.setMount(plannedMount{kind: procfs, target: "/proc"})
		v.last = append(v.last, plannedMount{kind: remountRO, target: "/proc"})
	}
	if exec || v.dev || v.coversPath("/dev") {
		v.setMount(plannedMount{kind: devfs, target: "/dev"})
	}
	if exec && !v.hasMount("/tmp") {
		v.setMount(plannedMount{kind: tmpfs, target: "/tmp"})
	}
	if _, inside := v.innermostMount("/run"); inside && !v.hasMount("/run") {
		// With the whole root visible, the sockets of the host's services
		// would be as well.
		v.setMount(plannedMount{kind: tmpfs, target: "/run"})
		v.last = append(v.last, plannedMount{kind: remountRO, target: "/run"})
	}
}

// libraryDirs are the system directories with libraries and data. A child with a list of programs can read only these,
// since the dynamic linker could execute any readable program.
var libraryDirs = []string{
	"/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/libx32", "/usr/local/lib", "/usr/share", "/lib", "/lib32", "/lib64",
	"/libx32", "/nix/store",
}

// programDirs are searched for programs that are named without a path.
var programDirs = []string{"/usr/local/bin", "/usr/bin", "/bin", "/usr/local/sbin", "/usr/sbin", "/sbin"}

// systemRights returns the Landlock rights to system directories by path.
func (p Profile) systemRights() map[string]uint64 {
	rights := map[string]uint64{}
	if len(p.Programs) == 0 {
		for _, dir := range systemDirs {
			rights[dir] = runTree
		}
		return rights
	}
	for _, dir := range libraryDirs {
		rights[dir] = readTree
	}
	for _, program := range p.Programs {
		if info, err := os.Stat(program); err == nil && filepath.IsAbs(program) && info.IsDir() {
			rights[program] = runTree
			continue
		}
		_, path, ok := findProgram(program)
		if !ok {
			continue // a machine need not have them all
		}
		rights[path] = readFile | unix.LANDLOCK_ACCESS_FS_EXECUTE
		if linker := dynamicLinkerPath(path); linker != "" {
			rights[linker] = readFile | unix.LANDLOCK_ACCESS_FS_EXECUTE
		}
	}
	return rights
}

// findProgram returns the path and resolved path of a system program.
func findProgram(name string) (path, real string, ok bool) {
	candidates := []string{name}
	if !filepath.IsAbs(name) {
		candidates = candidates[:0]
		for _, dir := range programDirs {
			candidates = append(candidates, filepath.Join(dir, name))
		}
	}
	for _, path := range candidates {
		real, err := filepath.EvalSymlinks(path)
		if err != nil {
			continue
		}
		if info, err := os.Stat(real); err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0 {
			return path, real, true
		}
	}
	return "", "", false
}

// dynamicLinkerPath returns the resolved path of a program's dynamic linker; empty for a static program.
func dynamicLinkerPath(path string) string {
	file, err := elf.Open(path)
	if err != nil {
		return ""
	}
	defer file.Close()
	for _, segment := range file.Progs {
		if segment.Type != elf.PT_INTERP || segment.Filesz < 2 || segment.Filesz > 4096 {
			continue
		}
		name := make([]byte, segment.Filesz-1) // without the NUL
		if _, err := segment.ReadAt(name, 0); err != nil {
			return ""
		}
		real, err := filepath.EvalSymlinks(string(name))
		if err != nil {
			return ""
		}
		return real
	}
	return ""
}
