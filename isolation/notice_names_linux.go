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

// name returns the absolute path of what a pair of arguments names.
func (l *listener) name(s *stopped, number uint32, at, path int, follow bool) (string, error) {
	proc := "/proc/" + strconv.Itoa(int(s.pid))
	if path == none || s.call.args[path] == 0 { // the file itself is given
		if at == none {
			return "", errNothing
		}
		return readMagic(proc + "/fd/" + strconv.Itoa(int(int32(s.call.args[at]))))
	}
	name, err := l.readText(s.pid, s.call.args[path], number == unix.SYS_BIND)
	if err != nil {
		return "", err
	}
	base := proc + "/cwd"
	if at != none && int32(s.call.args[at]) != unix.AT_FDCWD {
		base = proc + "/fd/" + strconv.Itoa(int(int32(s.call.args[at])))
	}
	dir := "/"
	if !strings.HasPrefix(name, "/") {
		dir, err = readMagic(base)
		if errors.Is(err, errNothing) && name != "" {
			err = errUnnamed
		}
		if err != nil || name == "" { // AT_EMPTY_PATH
			return dir, err
		}
	}
	return resolveName(s.pid, dir, name, follow)
}

// errUnnamed says that a path begins at a directory that was deleted: its parents can still be reached through it.
var errUnnamed = errors.New("its path begins at a deleted directory")

// maxLinks is how many symbolic links the kernel follows on the way to a name.
const maxLinks = 40

// resolveName follows the links on the way to a name that a thread uses, from a directory whose own path has none. It
// looks at one part after another: in /proc the same name is another thing to each process.
func resolveName(thread uint32, dir, name string, follow bool) (string, error) {
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
		to, err := linkOf(thread, dir, part, next)
		switch {
		case err == unix.EINVAL, err == unix.ENOENT && last:
			dir = next // no link
			continue
		case errors.Is(err, errNothing) && !last:
			return "", errUnnamed
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

// linkOf returns where a part of a path leads if it is a symbolic link, and EINVAL if it is none.
func linkOf(thread uint32, dir, part, path string) (string, error) {
	if !strings.HasPrefix(path, "/proc/") {
		return readLink(path)
	}
	switch {
	case dir == "/proc" && (part == "self" || part == "thread-self"):
		process, err := processOf(thread)
		if part == "thread-self" {
			process += "/task/" + strconv.Itoa(int(thread))
		}
		return process, err
	case part == "cwd", part == "root", part == "exe", filepath.Base(dir) == "fd", filepath.Base(dir) == "map_files":
		return readMagic(path)
	}
	return readLink(path)
}

// processOf returns the number of the process that a thread belongs to.
func processOf(thread uint32) (string, error) {
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

// readLink returns where a link points to.
func readLink(path string) (string, error) {
	var buffer [unix.PathMax]byte
	n, err := unix.Readlink(path, buffer[:])
	return string(buffer[:max(n, 0)]), err
}

// readMagic returns where a link of /proc leads. The text alone is ambiguous: a directory may be called "x (deleted)", and
// another one may have the name by now. So it has to name the file itself.
func readMagic(path string) (string, error) {
	to, err := readLink(path)
	if err != nil {
		return "", err
	}
	if !strings.HasPrefix(to, "/") {
		return "", errNothing // a pipe or a socket
	}
	var meant, named unix.Stat_t
	if err := unix.Stat(path, &meant); err != nil {
		return "", err
	}
	err = unix.Lstat(to, &named)
	switch {
	case err == nil && meant.Dev == named.Dev && meant.Ino == named.Ino:
		return to, nil
	case err == nil || err == unix.ENOENT || err == unix.ENOTDIR:
		return "", errNothing // it has no name any more
	}
	return "", err
}
