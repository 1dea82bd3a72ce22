package isolation

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

const installBwrap = "install it with one of `apt install bubblewrap`, `dnf install bubblewrap`, `yum install bubblewrap`, `pacman -S bubblewrap`, `apk add bubblewrap`, or set isolation.enabled to false"

// findBwrap returns the first existing path of bubblewrap, and an error if others than root can change that file.
func findBwrap(places []string) (string, error) {
	for _, place := range places {
		real, err := filepath.EvalSymlinks(place)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return "", &UnavailableError{Cause: "bubblewrap cannot be looked for at " + place, Err: err}
		}
		if err := checkTrustedProgram(real); err != nil {
			return "", err
		}
		return real, nil
	}
	return "", &UnavailableError{Cause: fmt.Sprintf("bubblewrap (bwrap) is not installed at any of %q", places),
		Cure: installBwrap}
}

// checkTrustedProgram returns an error if a program is setuid, or if others than root can change it.
func checkTrustedProgram(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return &UnavailableError{Cause: "bubblewrap cannot be examined", Err: err}
	}
	mode := info.Mode()
	switch {
	case !mode.IsRegular():
		return &UnavailableError{Cause: path + " is not a regular file", Cure: "reinstall bubblewrap"}
	case mode&(fs.ModeSetuid|fs.ModeSetgid) != 0:
		return &UnavailableError{Cause: path + " is setuid", Cure: "run `chmod u-s,g-s " + path +
			"` as root and allow unprivileged user namespaces"}
	case mode.Perm()&0o111 == 0:
		return &UnavailableError{Cause: path + " is not executable", Cure: "run `chmod 755 " + path +
			"` as root, or reinstall bubblewrap"}
	case mode.Perm()&0o022 != 0:
		return &UnavailableError{Cause: path + " can be written by others than root",
			Cure: "run `chmod go-w " + path + "` as root, or reinstall bubblewrap"}
	}
	if owner := fileOwner(info); owner != 0 {
		return &UnavailableError{Cause: fmt.Sprintf("%s belongs to uid %d, not to root", path, owner),
			Cure: "reinstall bubblewrap"}
	}
	return checkTrustedParents(path)
}

// checkTrustedParents returns an error if others than root can replace the file at path.
func checkTrustedParents(path string) error {
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		info, err := os.Stat(dir)
		if err != nil {
			return &UnavailableError{Cause: "bubblewrap cannot be examined", Err: err}
		}
		// In a sticky directory, entries that belong to root stay.
		writable := info.Mode().Perm()&0o022 != 0 && info.Mode()&fs.ModeSticky == 0
		if owner := fileOwner(info); owner != 0 || writable {
			return &UnavailableError{
				Cause: fmt.Sprintf("%s could be replaced: its parent %s is writable by others than root", path, dir),
				Cure:  "run `chown root " + dir + "; chmod go-w " + dir + "` as root",
			}
		}
		if dir == filepath.Dir(dir) {
			return nil
		}
	}
}

func fileOwner(info fs.FileInfo) uint32 {
	return info.Sys().(*syscall.Stat_t).Uid
}
