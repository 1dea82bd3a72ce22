package isolation

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	pathpkg "path"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// fileName is a file that a stopped call names.
type fileName struct {
	path      string // absolute, without symlinks; empty for a file without a name
	dir, base string // directory and last component, as the kernel gets them
	object    int    // descriptor of the file itself, if the call names an open file; -1 otherwise
	follow    bool   // a symlink at base is followed
	mustBeDir bool   // the path ends with a slash
}

// resolveName returns the file that two arguments of a call name: a directory descriptor (at) and a path.
func (l *mutationListener) resolveName(c *stoppedCall, at, path int, mode nameMode) (fileName, error) {
	n := fileName{object: -1}
	proc := "/proc/" + strconv.Itoa(int(c.thread))
	base := proc + "/cwd"
	if at != noArgument && int32(c.args[at]) != unix.AT_FDCWD {
		base = proc + "/fd/" + strconv.Itoa(int(int32(c.args[at])))
	}
	if path == noArgument || c.args[path] == 0 { // the file itself is given
		if at == noArgument {
			return n, unix.EFAULT
		}
		to, _, err := readMagicLink(base)
		if errors.Is(err, unix.ENOENT) {
			err = unix.EBADF
		}
		n.path = to
		return n, err
	}
	text, err := l.readPath(c.thread, c.args[path], c.number == unix.SYS_BIND)
	if err != nil {
		return n, err
	}
	dir := "/"
	if text == "" && !mode.emptyPath {
		return n, unix.ENOENT
	}
	if !strings.HasPrefix(text, "/") {
		var isDir bool
		dir, isDir, err = readMagicLink(base)
		switch {
		case text == "" && err == nil, (text == "" || isDir && text == "." && !mode.entry) && errors.Is(err, errNoNamedFile):
			return n, n.openObject(base)
		case errors.Is(err, unix.ENOENT) && base != proc+"/cwd":
			return n, unix.EBADF
		case !isDir && text != "":
			return n, unix.ENOTDIR
		case errors.Is(err, errNoNamedFile):
			return n, explainDeletedDir(base, text)
		case err != nil:
			return n, fmt.Errorf("look where a path begins: %s", err)
		}
	}
	if mode.entry || c.openFlags&unix.O_CREAT != 0 && strings.HasSuffix(text, "/") {
		return n, n.resolveEntry(c.thread, dir, text)
	}
	n.follow = mode.follow
	n.path, n.mustBeDir, err = resolveSymlinks(c.thread, dir, text, n.follow)
	if errors.Is(err, errNoNamedFile) { // a link in /proc to an open file
		link := n.path
		if !isOwnProcLink(c.thread, link) {
			return n, unix.EACCES
		}
		if n.mustBeDir {
			return n, unix.ENOTDIR
		}
		return n, n.openObject(link)
	}
	if n.dir, n.base = pathpkg.Split(n.path); n.base == "" {
		n.base = "."
	}
	n.dir = pathpkg.Clean(n.dir)
	return n, err
}

// nameMode says how a call treats a path.
type nameMode struct {
	entry     bool // it creates or removes a directory entry
	follow    bool // it follows a symlink in the last component
	emptyPath bool // an empty path names the directory descriptor
}

// resolveEntry resolves the path of a directory entry. The kernel follows no symlink in the last component, even with a
// slash behind it.
func (n *fileName) resolveEntry(thread uint32, dir, text string) (err error) {
	end := strings.TrimRight(text, "/")
	at := strings.LastIndexByte(end, '/') + 1
	n.base = text[at:]
	n.dir, _, err = resolveSymlinks(thread, dir, text[:at], true)
	if errors.Is(err, errNoNamedFile) {
		return errDeletedDir
	}
	n.path = pathpkg.Join(n.dir, n.base)
	return err
}

// openObject opens the target of a link in /proc, and finds out its path. The caller can replace the link meanwhile, so
// the path is the opened file's.
func (n *fileName) openObject(link string) (err error) {
	if n.object, err = unix.Open(link, unix.O_PATH|unix.O_CLOEXEC, 0); err != nil {
		return err
	}
	n.path, _, err = readMagicLink(descriptorPath(n.object))
	if !errors.Is(err, errNoNamedFile) {
		return err
	}
	var stat unix.Stat_t
	if unix.Fstat(n.object, &stat) != nil || stat.Nlink > 0 && stat.Mode&unix.S_IFMT == unix.S_IFREG {
		return errOtherNames
	}
	return nil
}

func (n *fileName) closeObject() { closeDescriptor(n.object) }

// lstat returns the state of the named file, and whether it exists.
func (n *fileName) lstat() (stat unix.Stat_t, exists bool) {
	return stat, n.object >= 0 || unix.Lstat(n.path, &stat) == nil
}

// isOwnProcLink reports whether a path in /proc belongs to the process of a thread.
func isOwnProcLink(thread uint32, path string) bool {
	process, err := processIDOfThread(thread)
	return err == nil && strings.HasPrefix(path, "/proc/"+process+"/") || strings.HasPrefix(path, "/proc/"+strconv.Itoa(int(thread))+"/")
}

// errOtherNames means that a file was opened by a name that is deleted, and has other names.
var errOtherNames = errors.New("its name is deleted, and it has other names")

// errDeletedDir means that a relative path begins at a deleted directory. Its ".." still leads to existing directories.
var errDeletedDir = errors.New("its path begins at a deleted directory")

// explainDeletedDir returns the error for a relative path that begins at a directory without a path: the kernel finds no
// name in a deleted directory but "..".
func explainDeletedDir(link, text string) error {
	var stat unix.Stat_t
	first, _, _ := strings.Cut(text, "/")
	if first != "." && first != ".." && !strings.HasSuffix(text, "/") && unix.Stat(link, &stat) == nil && stat.Nlink == 0 {
		return cmp.Or(unix.Access(link, unix.X_OK), error(unix.ENOENT))
	}
	return errDeletedDir
}

// maxLinks is the kernel's limit on symlinks in a path.
const maxLinks = 40

// resolveSymlinks resolves the symlinks of a path as a thread would. It does so component by component, since links in
// /proc differ between processes. mustBeDir means that a slash is at the end of the path.
func resolveSymlinks(thread uint32, dir, name string, follow bool) (resolved string, mustBeDir bool, err error) {
	links, searched := 0, false
	for rest := strings.TrimLeft(name, "/"); rest != ""; {
		part, after, slash := strings.Cut(rest, "/")
		rest = strings.TrimLeft(after, "/")
		last := rest == ""
		if part == "." || part == ".." {
			if !searched {
				if err := checkDir(dir); err != nil {
					return "", false, err
				}
				searched = true
			}
			if part == ".." {
				dir = pathpkg.Dir(dir)
			}
			continue
		}
		searched = false
		next := strings.TrimSuffix(dir, "/") + "/" + part
		if last && !slash && !follow {
			return next, false, nil
		}
		to, jump, err := readComponentLink(thread, dir, part, next)
		switch {
		case errors.Is(err, unix.EINVAL), errors.Is(err, unix.ENOENT) && last: // no link
			if dir = next; last {
				return dir, slash, nil
			}
			continue
		case errors.Is(err, errNoNamedFile) && last:
			return next, slash, err
		case errors.Is(err, errNoNamedFile):
			return "", false, errDeletedDir
		case err != nil:
			return "", false, err
		}
		if links++; links > maxLinks {
			return "", false, unix.ELOOP
		}
		if jump {
			if dir = to; last {
				return dir, slash, nil
			}
			continue
		}
		if strings.HasPrefix(to, "/") {
			dir = "/"
		}
		searched = true
		if slash {
			to += "/" + rest
		}
		rest = strings.TrimLeft(to, "/")
	}
	return dir, false, nil
}

// checkDir returns an error if a path is not a directory that can be searched.
func checkDir(path string) error {
	var stat unix.Stat_t
	return unix.Lstat(path+"/.", &stat)
}

// readComponentLink returns the target of a path component as the thread sees it, or EINVAL if it is no symlink. jump
// means that the target is an open file, whose path has no more symlinks to follow.
func readComponentLink(thread uint32, dir, part, path string) (to string, jump bool, err error) {
	if strings.HasPrefix(path, "/proc/") {
		switch {
		case dir == "/proc" && (part == "self" || part == "thread-self"):
			to, err = processIDOfThread(thread)
			if part == "thread-self" {
				to += "/task/" + strconv.Itoa(int(thread))
			}
			return to, false, err
		case part == "cwd", part == "root", part == "exe", filepath.Base(dir) == "fd", filepath.Base(dir) == "map_files":
			to, _, err = readMagicLink(path)
			return to, true, err
		}
	}
	to, err = readLink(path)
	return to, false, err
}

// processIDOfThread returns the process id of a thread, as text.
func processIDOfThread(thread uint32) (string, error) {
	return readProcField("/proc/"+strconv.Itoa(int(thread))+"/status", "Tgid")
}

// readProcField returns a field of a file in /proc. The first field of a file can't be read.
func readProcField(file, name string) (string, error) {
	fd, err := unix.Open(file, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return "", err
	}
	defer func() { _ = unix.Close(fd) }()
	var status [4096]byte
	n, err := unix.Read(fd, status[:])
	if err != nil {
		return "", err
	}
	_, value, _ := bytes.Cut(status[:n], []byte("\n"+name+":"))
	value, _, _ = bytes.Cut(value, []byte("\n"))
	return string(bytes.TrimSpace(value)), nil
}

// readLink returns the target of a symlink.
func readLink(path string) (string, error) {
	var buffer [unix.PathMax]byte
	n, err := unix.Readlink(path, buffer[:])
	return string(buffer[:max(n, 0)]), err
}

// readMagicLink returns the target of a /proc link such as fd/3, and whether that may be a directory. The text of such a link
// is ambiguous for deleted or renamed files, so it returns errNoNamedFile unless the target names the same file.
func readMagicLink(path string) (to string, isDir bool, err error) {
	if to, err = readLink(path); err != nil {
		return "", true, err
	}
	var meant, named unix.Stat_t
	if err = unix.Stat(path, &meant); err != nil {
		return "", true, err
	}
	isDir = meant.Mode&unix.S_IFMT == unix.S_IFDIR
	if !strings.HasPrefix(to, "/") {
		return "", isDir, errNoNamedFile // a pipe or a socket
	}
	err = unix.Lstat(to, &named)
	switch {
	case err == nil && meant.Dev == named.Dev && meant.Ino == named.Ino:
		return to, isDir, nil
	case err == nil || errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR):
		return "", isDir, errNoNamedFile // it has no name any more
	}
	return "", isDir, fmt.Errorf("look at an open file by its path: %s", err) // the caller's own call would not fail
}
