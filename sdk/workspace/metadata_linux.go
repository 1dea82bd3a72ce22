package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
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
