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

// keepMetadata gives a file that is about to take the place of another the other's owner, extended attributes and
// mode. The owner can be kept only by who may give files away; where it can't, the error is errForeign.
func keepMetadata(old *os.File, info fs.FileInfo, f *os.File) error {
	is, err := f.Stat()
	if err != nil {
		return err
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	owner, okNow := is.Sys().(*syscall.Stat_t)
	same := ok && okNow && stat.Uid == owner.Uid && stat.Gid == owner.Gid // the usual case, which needs no change
	if ok && !same {
		if nameless(stat.Uid, "uid") || nameless(stat.Gid, "gid") {
			return errForeign
		}
		err := f.Chown(int(stat.Uid), int(stat.Gid))
		if errors.Is(err, fs.ErrPermission) || errors.Is(err, unix.EINVAL) { // one that this user namespace does not know
			return errForeign
		}
		if err != nil {
			return fmt.Errorf("keep the owner: %w", err)
		}
	}
	if err := copyAttributes(old, f); err != nil && !errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("keep the extended attributes: %w", err)
	}
	if same && is.Mode() == info.Mode().Perm() {
		return nil
	}
	return f.Chmod(info.Mode().Perm()) // last: changing the owner takes bits off it
}

// overflow is the number that a user namespace shows for owners that it has no number for.
const overflow = 65534

// nameless reports whether an owner is one that this process's user namespace has no number for: to give a file to the
// number that is shown would give it to somebody else.
func nameless(id uint32, kind string) bool {
	if id != overflow {
		return false
	}
	table, err := os.ReadFile("/proc/self/" + kind + "_map")
	return err == nil && !slices.Equal(strings.Fields(string(table)), []string{"0", "0", "4294967295"})
}

// copyMetadata gives a copy the mode and extended attributes of what it is a copy of. It belongs to who made it.
func copyMetadata(from *os.File, info fs.FileInfo, to *os.File) error {
	if err := copyAttributes(from, to); err != nil && !errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("copy the extended attributes: %w", err)
	}
	return to.Chmod(info.Mode().Perm())
}

// ours reports whether an extended attribute is one that a program may set: the user's, and access control lists.
func ours(name string) bool {
	return strings.HasPrefix(name, "user.") || name == "system.posix_acl_access" || name == "system.posix_acl_default"
}

// Attributes returns the extended attributes of an open file or directory that a program may set, by name. A file
// system without any has none: nil.
func Attributes(f *os.File) (map[string]string, error) {
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
		if !ours(name) {
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

// setAttributes gives an open file or directory extended attributes, and takes away the others that it has.
func setAttributes(f *os.File, all map[string]string) error {
	has, err := Attributes(f)
	if err != nil {
		return err
	}
	for name := range has {
		if _, ok := all[name]; !ok {
			err = errors.Join(err, unix.Fremovexattr(int(f.Fd()), name))
		}
	}
	for name, value := range all {
		if is, ok := has[name]; ours(name) && (!ok || is != value) {
			err = errors.Join(err, unix.Fsetxattr(int(f.Fd()), name, []byte(value), 0))
		}
	}
	return err
}

// setLinkTime sets when a link was changed last.
func setLinkTime(dir *os.File, name string, at time.Time) error {
	times := []unix.Timespec{{Nsec: unix.UTIME_OMIT}, unix.NsecToTimespec(at.UnixNano())}
	return unix.UtimesNanoAt(int(dir.Fd()), name, times, unix.AT_SYMLINK_NOFOLLOW)
}

// copyAttributes gives a file the extended attributes of another.
func copyAttributes(from, to *os.File) error {
	all, err := Attributes(from)
	if err != nil {
		return err
	}
	return setAttributes(to, all)
}

// created returns when a file or directory was made; the zero time where that is not known.
func (w *Workspace) created(path string, info fs.FileInfo) (at time.Time) {
	read := func(f *os.File) {
		var stat unix.Statx_t
		if unix.Statx(int(f.Fd()), "", unix.AT_EMPTY_PATH, unix.STATX_BTIME, &stat) == nil &&
			stat.Mask&unix.STATX_BTIME != 0 {
			at = time.Unix(stat.Btime.Sec, int64(stat.Btime.Nsec))
		}
		_ = f.Close()
	}
	_ = w.use(guard.Read, path, func(p place) error {
		var f *os.File
		var err error
		switch {
		case info.IsDir():
			f, err = p.openDir()
		case info.Mode().IsRegular():
			f, _, err = p.open(path)
		default:
			return nil // to open a device or FIFO may do something
		}
		if err != nil {
			return err
		}
		read(f)
		return nil
	})
	return at
}

// settled is how long ago a file must have been changed for its times to tell the next change: no file system's clock
// is coarser.
const settled = 2 * time.Second

// Revision tells a file from what it is after a change, without reading it: by its number, its size, and when its
// contents and it itself were changed last, which no program can set. It is empty where the next change might not show:
// the file was changed a moment ago, or its time lies ahead.
//
// What a program changes through a mapping of the file into its memory shows only once the kernel notices, within half
// a minute.
func Revision(info fs.FileInfo) string {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok || time.Since(time.Unix(s.Ctim.Unix())) < settled {
		return ""
	}
	return fmt.Sprint(s.Ino, info.Size(), info.ModTime().UnixNano(), s.Ctim.Nano())
}
