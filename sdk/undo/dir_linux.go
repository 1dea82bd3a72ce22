package undo

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// statName describes the file at a name, without following a symlink. It returns nil if the name does not exist.
func (d *dirHandle) statName(name string) (*fileStat, error) {
	return statAt(int(d.file.Fd()), name, unix.AT_SYMLINK_NOFOLLOW)
}

func statOpenFile(f *os.File) (*fileStat, error) { return statAt(int(f.Fd()), "", unix.AT_EMPTY_PATH) }

func statAt(dir int, name string, flags int) (*fileStat, error) {
	var s unix.Statx_t
	err := unix.Statx(dir, name, flags, unix.STATX_BASIC_STATS|unix.STATX_BTIME|unix.STATX_MNT_ID, &s)
	if errors.Is(err, unix.ENOENT) {
		return nil, nil
	}
	if err != nil {
		return nil, &fs.PathError{Op: "stat", Path: name, Err: err}
	}
	n := &fileStat{
		Mode: toFileMode(uint32(s.Mode)), UID: int(s.Uid), GID: int(s.Gid), Links: uint64(s.Nlink), Size: int64(s.Size),
		Modified: s.Mtime.Sec*1e9 + int64(s.Mtime.Nsec), Changed: s.Ctime.Sec*1e9 + int64(s.Ctime.Nsec),
	}
	device := unix.Mkdev(s.Dev_major, s.Dev_minor)
	if n.Mount = device; s.Mask&unix.STATX_MNT_ID != 0 {
		n.Mount = s.Mnt_id
	}
	n.Device = device
	inode := strconv.FormatUint(device, 16) + ":" + strconv.FormatUint(s.Ino, 16)
	handle, _, err := unix.NameToHandleAt(dir, name, flags&unix.AT_EMPTY_PATH)
	switch {
	case err == nil:
		n.ID = FileIdentity(inode + ":" + hex.EncodeToString(handle.Bytes()))
	case errors.Is(err, unix.ENOENT):
		return nil, nil
	case isOverlay(dir):
		n.ID = FileIdentity(inode) // the first change of a file in a lower layer copies it, which changes its birth time
	case s.Mask&unix.STATX_BTIME != 0:
		n.ID = FileIdentity(fmt.Sprintf("%s@%d.%d", inode, s.Btime.Sec, s.Btime.Nsec))
	}
	return n, nil
}

func isOverlay(dir int) bool {
	var s unix.Statfs_t
	return unix.Fstatfs(dir, &s) == nil && s.Type == unix.OVERLAYFS_SUPER_MAGIC
}

func toFileMode(mode uint32) fs.FileMode {
	m := fs.FileMode(mode & 0o777)
	for bit, is := range map[uint32]fs.FileMode{unix.S_ISUID: fs.ModeSetuid, unix.S_ISGID: fs.ModeSetgid, unix.S_ISVTX: fs.ModeSticky} {
		if mode&bit != 0 {
			m |= is
		}
	}
	switch mode & unix.S_IFMT {
	case unix.S_IFDIR:
		m |= fs.ModeDir
	case unix.S_IFLNK:
		m |= fs.ModeSymlink
	case unix.S_IFIFO:
		m |= fs.ModeNamedPipe
	case unix.S_IFSOCK:
		m |= fs.ModeSocket
	case unix.S_IFCHR:
		m |= fs.ModeDevice | fs.ModeCharDevice
	case unix.S_IFBLK:
		m |= fs.ModeDevice
	}
	return m
}

// procPath returns the path of an open file or directory in /proc.
func procPath(f *os.File) string { return "/proc/self/fd/" + strconv.Itoa(int(f.Fd())) }

// withOwnerRead calls open while the owner has read permission for a regular file or directory. It returns false if this
// user is not the owner, or chmod could clear a special bit. No other user gains access.
func (d *dirHandle) withOwnerRead(name string, open func()) bool {
	f, err := d.openFileAt(name, unix.O_PATH, 0)
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }()
	n, err := statOpenFile(f)
	isOwn := err == nil && n.UID == os.Geteuid() && (n.Mode.IsRegular() || n.Mode.IsDir())
	isSafe := isOwn && (n.Mode&(fs.ModeSetuid|fs.ModeSetgid) == 0 || n.Mode.IsDir() && n.GID == os.Getegid())
	if !isSafe || os.Chmod(procPath(f), n.Mode|0o400) != nil {
		return false
	}
	open()
	return os.Chmod(procPath(f), n.Mode) == nil
}

// readXattrs returns the extended attributes at a name that programs may set. It returns an error if one of them
// can't be read.
func (d *dirHandle) readXattrs(name string) (map[string][]byte, error) {
	path := procPath(d.file) + "/" + name
	var list [4096]byte
	n, err := unix.Llistxattr(path, list[:])
	if err != nil { // a sandbox without /proc, or a long list
		f, err := d.openChild(name)
		if err != nil {
			return nil, err
		}
		defer func() { _ = f.Close() }()
		return readFileXattrs(f), nil
	}
	all := map[string][]byte{}
	for _, key := range strings.Split(strings.TrimRight(string(list[:n]), "\x00"), "\x00") {
		if !strings.HasPrefix(key, "user.") && key != "system.posix_acl_access" && key != "system.posix_acl_default" {
			continue
		}
		value := make([]byte, 1<<16)
		n, err := unix.Lgetxattr(path, key, value)
		switch {
		case err == nil:
			all[key] = value[:n:n]
		case !errors.Is(err, unix.ENODATA): // it was removed since
			return nil, &fs.PathError{Op: "getxattr", Path: name, Err: err}
		}
	}
	return all, nil
}

// hasFileCapabilities reports whether an executable file has capabilities, which only root can set.
func hasFileCapabilities(f *os.File) bool {
	_, err := unix.Fgetxattr(int(f.Fd()), "security.capability", nil)
	return err == nil
}

// openChild opens the regular file or subdirectory at a name for reading.
func (d *dirHandle) openChild(name string) (*os.File, error) {
	return d.openFileAt(name, unix.O_RDONLY|unix.O_NONBLOCK, 0)
}

func (d *dirHandle) openFileAt(name string, flags int, mode uint32) (*os.File, error) {
	fd, err := unix.Openat(int(d.file.Fd()), name, flags|unix.O_NOFOLLOW|unix.O_CLOEXEC, mode)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return os.NewFile(uintptr(fd), d.path+"/"+name), nil
}

func (d *dirHandle) readSymlink(name string) (string, error) { return d.root.Readlink(name) }

// renameNoReplace renames a file and fails if the new name exists.
func (d *dirHandle) renameNoReplace(name string, to *dirHandle, newName string) error {
	return renameAt(d, name, to, newName, unix.RENAME_NOREPLACE)
}

// exchangeNames swaps the files at two names atomically.
func exchangeNames(a *dirHandle, nameA string, b *dirHandle, nameB string) error {
	return renameAt(a, nameA, b, nameB, unix.RENAME_EXCHANGE)
}

func renameAt(from *dirHandle, name string, to *dirHandle, newName string, flags uint) error {
	err := unix.Renameat2(int(from.file.Fd()), name, int(to.file.Fd()), newName, flags)
	if err != nil {
		return &fs.PathError{Op: "rename", Path: name, Err: err}
	}
	return nil
}

func (d *dirHandle) createHardLink(name string, to *dirHandle, newName string) error {
	if err := unix.Linkat(int(d.file.Fd()), name, int(to.file.Fd()), newName, 0); err != nil {
		return &fs.PathError{Op: "link", Path: name, Err: err}
	}
	return nil
}

func (d *dirHandle) makeFIFO(name string) error {
	if err := unix.Mkfifoat(int(d.file.Fd()), name, 0o600); err != nil {
		return &fs.PathError{Op: "mkfifo", Path: name, Err: err}
	}
	return nil
}

// checkMutable returns an error if a file or directory is immutable or on a read-only file system, whatever its mode is.
func (d *dirHandle) checkMutable(name string) error {
	err := unix.Faccessat(int(d.file.Fd()), name, unix.W_OK, 0)
	if errors.Is(err, unix.EPERM) || errors.Is(err, unix.EROFS) {
		return err
	}
	return nil
}

// isUnlistableDir reports whether this process may use names in a directory but not list them.
func isUnlistableDir(dir string) bool {
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err == nil {
		_ = unix.Close(fd)
	}
	return errors.Is(err, unix.EACCES) && unix.Faccessat(unix.AT_FDCWD, dir, unix.X_OK, unix.AT_EACCESS) == nil
}

// currentFileTime returns the file system clock in nanoseconds since 1970, which a file changed now gets as its time.
func currentFileTime() int64 {
	var now unix.Timespec
	if unix.ClockGettime(unix.CLOCK_REALTIME_COARSE, &now) != nil {
		return time.Now().UnixNano()
	}
	return now.Nano()
}

// allocateSpace allocates disk space for a file up to an offset, beyond its end too, where supported.
func allocateSpace(f *os.File, end int64) error {
	err := unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_KEEP_SIZE, 0, end)
	if errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) {
		return err
	}
	return nil
}

// errInUse is the error of checkNoWriter.
var errInUse = errors.New("another program has it open for writing")

// checkNoWriter fails with errInUse while any program has a file open for writing. It asks for a read lease, which the
// kernel refuses in that case. It fails with another error if it can't tell: for files of others, and on some file systems.
func checkNoWriter(f *os.File) error {
	_, err := unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_RDLCK)
	if errors.Is(err, unix.EAGAIN) {
		return errInUse
	}
	if err == nil {
		_, _ = unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_UNLCK)
	}
	return err
}
