package isolation

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// machine is what of this machine the sandbox depends on.
type machine struct {
	// bwrap are the places where bubblewrap is looked for, best first. PATH
	// is not asked: whoever can write to a directory in it must not choose
	// the program that builds the sandbox.
	bwrap []string
}

func defaultMachine() machine {
	return machine{bwrap: []string{
		"/usr/bin/bwrap",
		"/bin/bwrap",
		"/usr/local/bin/bwrap",
		"/run/current-system/sw/bin/bwrap",
	}}
}

const installBwrap = "install it with one of `apt install bubblewrap`, `dnf install bubblewrap`, `yum install bubblewrap`, `pacman -S bubblewrap`, `apk add bubblewrap`, or set isolation.enabled to false"

// findBwrap returns the first of the machine's places where bubblewrap is. It
// has to be one that only root can change: a file that somebody else can write
// is an error, not a reason to look further.
func findBwrap(places []string) (string, error) {
	for _, place := range places {
		real, err := filepath.EvalSymlinks(place)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return "", &Unavailable{Cause: "bubblewrap cannot be looked for at " + place, Err: err}
		}
		if err := trusted(real); err != nil {
			return "", err
		}
		return real, nil
	}
	return "", &Unavailable{Cause: fmt.Sprintf("bubblewrap (bwrap) is not installed at any of %q", places),
		Cure: installBwrap}
}

// trusted checks that only root can change the program at path, and that it
// runs without privileges of its own.
func trusted(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return &Unavailable{Cause: "bubblewrap cannot be examined", Err: err}
	}
	mode := info.Mode()
	switch {
	case !mode.IsRegular():
		return &Unavailable{Cause: path + " is not a regular file", Cure: "reinstall bubblewrap"}
	case mode&(fs.ModeSetuid|fs.ModeSetgid) != 0:
		return &Unavailable{Cause: path + " is setuid", Cure: "run `chmod u-s,g-s " + path +
			"` as root and allow unprivileged user namespaces"}
	case mode.Perm()&0o111 == 0:
		return &Unavailable{Cause: path + " is not executable", Cure: "run `chmod 755 " + path +
			"` as root, or reinstall bubblewrap"}
	case mode.Perm()&0o022 != 0:
		return &Unavailable{Cause: path + " can be written by others than root",
			Cure: "run `chmod go-w " + path + "` as root, or reinstall bubblewrap"}
	}
	if owner := ownerOf(info); owner != 0 {
		return &Unavailable{Cause: fmt.Sprintf("%s belongs to uid %d, not to root", path, owner),
			Cure: "reinstall bubblewrap"}
	}
	return trustedParents(path)
}

// trustedParents checks that nobody but root can put another file in the
// place of path.
func trustedParents(path string) error {
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		info, err := os.Stat(dir)
		if err != nil {
			return &Unavailable{Cause: "bubblewrap cannot be examined", Err: err}
		}
		// In a sticky directory, entries that belong to root stay.
		writable := info.Mode().Perm()&0o022 != 0 && info.Mode()&fs.ModeSticky == 0
		if owner := ownerOf(info); owner != 0 || writable {
			return &Unavailable{
				Cause: fmt.Sprintf("%s could be replaced: its parent %s is writable by others than root", path, dir),
				Cure:  "run `chown root " + dir + "; chmod go-w " + dir + "` as root",
			}
		}
		if dir == filepath.Dir(dir) {
			return nil
		}
	}
}

func ownerOf(info fs.FileInfo) uint32 {
	return info.Sys().(*syscall.Stat_t).Uid
}
