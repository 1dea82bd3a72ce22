package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/picoclaw/picoclaw/sdk/guard"
)

// preserveMetadata copies owner, extended attributes and mode of a file to its replacement. It returns errForeign if
// the owner can't be set.
func preserveMetadata(old *os.File, info fs.FileInfo, f *os.File) error {
	is, err := f.Stat()
	if err != nil {
		return err
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	owner, okNow := is.Sys().(*syscall.Stat_t)
	same := ok && okNow && stat.Uid == owner.Uid && stat.Gid == owner.Gid // the usual case
	if ok && !same {
		if isUnmappedID(stat.Uid, "uid") || isUnmappedID(stat.Gid, "gid") {
			return errForeign
		}
		err := f.Chown(int(stat.Uid), int(stat.Gid))
		if errors.Is(err, fs.ErrPermission) || errors.Is(err, unix.EINVAL) { // unknown in this user namespace
			return errForeign
		}
		if err != nil {
			return fmt.Errorf("keep the owner: %w", err)
		}
	}
	if err := copyXattrs(old, f); err != nil && !errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("keep the extended attributes: %w", err)
	}
	if same && is.Mode() == info.Mode().Perm() {
		return nil
	}
	return f.Chmod(info.Mode().Perm()) // last, since changing the owner clears bits
}

// unmappedOwnerID is the user or group id that a user namespace shows for unmapped owners.
const unmappedOwnerID = 65534

// isUnmappedID reports whether an owner has no id in this user namespace. The kernel then
// reports unmappedOwnerID in its place. kind is uid or gid.
func isUnmappedID(id uint32, kind string) bool {
	if id != unmappedOwnerID {
		return false
	}
	table, err := os.ReadFile("/proc/self/" + kind + "_map")
	return err == nil && !slices.Equal(strings.Fields(string(table)), []string{"0", "0", "4294967295"})
}

// copyModeAndXattrs copies mode and extended attributes of a file to its copy. The copy keeps its owner.
func copyModeAndXattrs(from *os.File, info fs.FileInfo, to *os.File) error {
	if err := copyXattrs(from, to); err != nil && !errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("copy the extended attributes: %w", err)
	}
	return to.Chmod(info.Mode().Perm())
}

// isSettableXattr reports whether programs may set an extended attribute: a user attribute or access control list.
func isSettableXattr(name string) bool {
	return strings.HasPrefix(name, "user.") || name == "system.posix_acl_access" || name == "system.posix_acl_default"
}

// ReadXattrs returns the settable extended attributes of an open file or directory. It returns nil if the file
// system has none.
func ReadXattrs(f *os.File) (map[string]string, error) {
	size, err := unix.Flistxattr(int(f.Fd()), nil)
	if errors.Is(err, unix.ENOTSUP) {
		return nil, nil
	}
	if err == nil && size == 0 {
		return map[string]string{}, nil
	}
	if err != nil {
		return nil, err
	}
	list := make([]byte, size)
	if size, err = unix.Flistxattr(int(f.Fd()), list); err != nil {
		return nil, err
	}
	all := map[string]string{}
	for _, name := range strings.Split(strings.TrimRight(string(list[:size]), "\x00"), "\x00") {
		if !isSettableXattr(name) {
			continue
		}
		size, err := unix.Fgetxattr(int(f.Fd()), name, nil)
		if err != nil {
			return nil, err
		}
		value := make([]byte, size)
		if size, err = unix.Fgetxattr(int(f.Fd()), name, value); err != nil {
			return nil, err
		}
		all[name] = string(value[:size])
	}
	return all, nil
}

// replaceXattrs sets the extended attributes of an open file or directory, and removes all others.
func replaceXattrs(f *os.File, all map[string]string) error {
	has, err := ReadXattrs(f)
	if err != nil {
		return err
	}
	for name := range has {
		if _, ok := all[name]; !ok {
			err = errors.Join(err, unix.Fremovexattr(int(f.Fd()), name))
		}
	}
	for name, value := range all {
		if is, ok := has[name]; isSettableXattr(name) && (!ok || is != value) {
			err = errors.Join(err, unix.Fsetxattr(int(f.Fd()), name, []byte(value), 0))
		}
	}
	return err
}

// setSymlinkTime sets the modification time of a symlink.
func setSymlinkTime(dir *os.File, name string, at time.Time) error {
	times := []unix.Timespec{{Nsec: unix.UTIME_OMIT}, unix.NsecToTimespec(at.UnixNano())}
	return unix.UtimesNanoAt(int(dir.Fd()), name, times, unix.AT_SYMLINK_NOFOLLOW)
}

// copyXattrs copies the extended attributes of a file.
func copyXattrs(from, to *os.File) error {
	all, err := ReadXattrs(from)
	if err != nil {
		return err
	}
	return replaceXattrs(to, all)
}

// readCreationTime returns the time when a file was created; zero if unknown.
func (w *Workspace) readCreationTime(path string, info fs.FileInfo) (at time.Time) {
	read := func(f *os.File) {
		var stat unix.Statx_t
		if unix.Statx(int(f.Fd()), "", unix.AT_EMPTY_PATH, unix.STATX_BTIME, &stat) == nil &&
			stat.Mask&unix.STATX_BTIME != 0 {
			at = time.Unix(stat.Btime.Sec, int64(stat.Btime.Nsec))
		}
		_ = f.Close()
	}
	_ = w.withAllowedTarget(guard.Read, path, func(p accessTarget) error {
		var f *os.File
		var err error
		switch {
		case info.IsDir():
			f, err = p.openDir()
		case info.Mode().IsRegular():
			f, _, err = p.openRegular(path)
		default:
			return nil // opening a device or FIFO may have side effects
		}
		if err != nil {
			return err
		}
		read(f)
		return nil
	})
	return at
}

// minRevisionAge is the age at which the times of a file are reliable: the next change gives it other times. No file
// system has a coarser clock.
const minRevisionAge = 2 * time.Second

// FileRevision returns a string that changes with each change of a file, without reading the file. It consists of
// inode, size and change times, which programs can't set. It is empty if the next change could go unnoticed: the file
// changed just now or has a future time.
//
// Changes through a memory mapping become visible when the kernel notices them, within half a minute.
func FileRevision(info fs.FileInfo) string {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok || time.Since(time.Unix(s.Ctim.Unix())) < minRevisionAge {
		return ""
	}
	return fmt.Sprint(s.Ino, info.Size(), info.ModTime().UnixNano(), s.Ctim.Nano())
}

// hasHoles reports whether a file is sparse.
func hasHoles(info fs.FileInfo) bool {
	const block = 512 // unit of Blocks in bytes, on every file system
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && info.Mode().IsRegular() && stat.Blocks*block < info.Size()
}

// nextDataRegion returns the next data region from an offset; from equals to if only a hole follows. On file systems
// without sparse files the whole rest is one region. The file offset is undefined afterwards.
func nextDataRegion(f *os.File, at, size int64) (from, to int64, err error) {
	if from, err = f.Seek(at, unix.SEEK_DATA); errors.Is(err, unix.ENXIO) {
		return size, size, nil
	}
	if errors.Is(err, unix.EINVAL) {
		return at, size, nil
	}
	if err != nil {
		return 0, 0, err
	}
	if from >= size {
		return size, size, nil // the file grew
	}
	to, err = f.Seek(from, unix.SEEK_HOLE)
	return from, min(to, size), err
}

// reserveSpace allocates disk space for a growing file, where supported.
func reserveSpace(f *os.File, size int64) error {
	err := unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_KEEP_SIZE, 0, size)
	if errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) || errors.Is(err, unix.EFBIG) {
		return &os.PathError{Op: "write", Path: f.Name(), Err: err}
	}
	return nil
}

// syncFileSystem syncs the file system of a directory, where supported and permitted.
func syncFileSystem(dir *os.File) (done bool, err error) {
	err = unix.Syncfs(int(dir.Fd()))
	return !errors.Is(err, unix.ENOSYS) && !errors.Is(err, unix.EPERM), err
}

// renameAt renames between two open directories. Without replace it never overwrites.
func renameAt(from, to *changeTarget, replace bool) error {
	flags := uint(unix.RENAME_NOREPLACE)
	if replace {
		flags = 0
	}
	err := unix.Renameat2(int(from.handle.Fd()), from.name, int(to.handle.Fd()), to.name, flags)
	if flags != 0 && errors.Is(err, unix.EINVAL) {
		// Not all file systems support NOREPLACE. The directories are locked, and the target did not exist a moment ago.
		err = unix.Renameat2(int(from.handle.Fd()), from.name, int(to.handle.Fd()), to.name, 0)
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, unix.EXDEV):
		return errOtherFileSystem
	case errors.Is(err, unix.EEXIST):
		return &Error{Code: Exists, Path: to.written}
	}
	return &os.LinkError{Op: "rename", Old: from.written, New: to.written, Err: err}
}
