package isolation

import (
	"bytes"
	"errors"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// resolvePath returns the absolute path that two arguments of a call name: a directory descriptor (at) and a path.
func (l *mutationListener) resolvePath(s *seccompNotification, number uint32, at, path int, follow bool) (string, error) {
	proc := "/proc/" + strconv.Itoa(int(s.pid))
	if path == noArgument || s.call.args[path] == 0 { // the file itself is given
		if at == noArgument {
			return "", errNoNamedFile
		}
		return readMagicLink(proc + "/fd/" + strconv.Itoa(int(int32(s.call.args[at]))))
	}
	name, err := l.readPath(s.pid, s.call.args[path], number == unix.SYS_BIND)
	if err != nil {
		return "", err
	}
	base := proc + "/cwd"
	if at != noArgument && int32(s.call.args[at]) != unix.AT_FDCWD {
		base = proc + "/fd/" + strconv.Itoa(int(int32(s.call.args[at])))
	}
	dir := "/"
	if !strings.HasPrefix(name, "/") {
		dir, err = readMagicLink(base)
		if errors.Is(err, errNoNamedFile) && name != "" {
			err = errDeletedDir
		}
		if err != nil || name == "" { // AT_EMPTY_PATH
			return dir, err
		}
	}
	return resolveSymlinks(s.pid, dir, name, follow)
}

// errDeletedDir means that a relative path begins at a deleted directory. Its ".." still leads to existing directories.
var errDeletedDir = errors.New("its path begins at a deleted directory")

// maxLinks is the kernel's limit on symlinks in a path.
const maxLinks = 40

// resolveSymlinks resolves the symlinks of a path as a thread would. It does so component by component, since links in
// /proc differ between processes.
func resolveSymlinks(thread uint32, dir, name string, follow bool) (string, error) {
	follow = follow || strings.HasSuffix(name, "/")
	links := 0
	for rest := name; ; {
		var part string
		rest = strings.TrimLeft(rest, "/")
		if part, rest, _ = strings.Cut(rest, "/"); part == "" {
			return dir, nil
		}
		last := strings.Trim(rest, "/") == ""
		switch part {
		case ".":
			continue
		case "..":
			dir = path.Dir(dir)
			continue
		}
		next := strings.TrimSuffix(dir, "/") + "/" + part
		if last && !follow {
			return next, nil
		}
		to, err := readComponentLink(thread, dir, part, next)
		switch {
		case errors.Is(err, unix.EINVAL), errors.Is(err, unix.ENOENT) && last:
			dir = next // no link
			continue
		case errors.Is(err, errNoNamedFile) && !last:
			return "", errDeletedDir
		case err != nil:
			return "", err
		}
		if links++; links > maxLinks {
			return "", unix.ELOOP
		}
		if strings.HasPrefix(to, "/") {
			dir = "/"
		}
		rest = to + "/" + rest
		follow = follow || !last
	}
}

// readComponentLink returns the target of a path component as the thread sees it, or EINVAL if it is no symlink.
func readComponentLink(thread uint32, dir, part, path string) (string, error) {
	if !strings.HasPrefix(path, "/proc/") {
		return readLink(path)
	}
	switch {
	case dir == "/proc" && (part == "self" || part == "thread-self"):
		process, err := processIDOfThread(thread)
		if part == "thread-self" {
			process += "/task/" + strconv.Itoa(int(thread))
		}
		return process, err
	case part == "cwd", part == "root", part == "exe", filepath.Base(dir) == "fd", filepath.Base(dir) == "map_files":
		return readMagicLink(path)
	}
	return readLink(path)
}

// processIDOfThread returns the process id of a thread, as text.
func processIDOfThread(thread uint32) (string, error) {
	fd, err := unix.Open("/proc/"+strconv.Itoa(int(thread))+"/status", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return "", err
	}
	defer func() { _ = unix.Close(fd) }()
	var status [4096]byte
	n, err := unix.Read(fd, status[:])
	if err != nil {
		return "", err
	}
	_, id, _ := bytes.Cut(status[:n], []byte("\nTgid:"))
	id, _, _ = bytes.Cut(id, []byte("\n"))
	return string(bytes.TrimSpace(id)), nil
}

// readLink returns the target of a symlink.
func readLink(path string) (string, error) {
	var buffer [unix.PathMax]byte
	n, err := unix.Readlink(path, buffer[:])
	return string(buffer[:max(n, 0)]), err
}

// readMagicLink returns the target of a /proc link such as fd/3. The text of such a link is ambiguous for deleted or
// renamed files, so it returns errNoNamedFile unless the target names the same file.
func readMagicLink(path string) (string, error) {
	to, err := readLink(path)
	if err != nil {
		return "", err
	}
	if !strings.HasPrefix(to, "/") {
		return "", errNoNamedFile // a pipe or a socket
	}
	var meant, named unix.Stat_t
	if err = unix.Stat(path, &meant); err != nil {
		return "", err
	}
	err = unix.Lstat(to, &named)
	switch {
	case err == nil && meant.Dev == named.Dev && meant.Ino == named.Ino:
		return to, nil
	case err == nil || errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR):
		return "", errNoNamedFile // it has no name any more
	}
	return "", err
}
