package isolation

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// sharedDevices are the host's devices that sandboxes show.
var sharedDevices = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"}

// withProtectedDevices calls start, which starts a sandbox. The sandbox can read and write the host's devices but not
// change their modes: a chmod by root would affect all programs.
//
// The calling thread has its own mount view during the call, so no other code may use it. If root may not mount, as in
// a container, the devices stay unprotected.
func withProtectedDevices(start func() error) error {
	if os.Geteuid() != 0 {
		return start()
	}
	back, err := enterPrivateMounts()
	if err != nil {
		return start()
	}
	for _, device := range sharedDevices {
		if protectDevice(device) != nil {
			break // it isn't there, and so bubblewrap doesn't take it over
		}
	}
	err = start()
	_ = back() // else the next sandboxes see what is mounted now, and no more
	return err
}

// protectDevice mounts a device over itself, so that it can be used but not changed.
func protectDevice(device string) error {
	if err := unix.Mount(device, device, "", unix.MS_BIND, ""); err != nil {
		return err
	}
	return unix.Mount("", device, "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY|unix.MS_NOSUID|unix.MS_NOEXEC, "")
}

// enterPrivateMounts gives the calling thread a copy of the machine's mount view. back returns the thread to the
// original view and working directory.
func enterPrivateMounts() (back func() error, err error) {
	var places [3]int // the mounts, the root and the working directory
	for i, name := range []string{"/proc/thread-self/ns/mnt", "/", "."} {
		flags := unix.O_CLOEXEC
		if i > 0 {
			flags |= unix.O_PATH | unix.O_DIRECTORY
		}
		if places[i], err = unix.Open(name, flags, 0); err != nil {
			closeDescriptors(places[:i])
			return nil, fmt.Errorf("open %s: %w", name, err)
		}
	}
	if err := unix.Unshare(unix.CLONE_FS | unix.CLONE_NEWNS); err != nil {
		closeDescriptors(places[:])
		return nil, fmt.Errorf("get a mount view: %w", err)
	}
	back = func() error {
		defer closeDescriptors(places[:])
		if err := unix.Setns(places[0], unix.CLONE_NEWNS); err != nil {
			return fmt.Errorf("go back to the machine's mounts: %w", err)
		}
		if err := unix.Fchdir(places[1]); err != nil {
			return fmt.Errorf("go back to the root: %w", err)
		}
		if err := unix.Chroot("."); err != nil {
			return fmt.Errorf("go back to the root: %w", err)
		}
		if err := unix.Fchdir(places[2]); err != nil {
			return fmt.Errorf("go back to the working directory: %w", err)
		}
		return nil
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return nil, errors.Join(fmt.Errorf("keep the mount view to itself: %w", err), back())
	}
	return back, nil
}

func closeDescriptors(descriptors []int) {
	for _, fd := range descriptors {
		_ = unix.Close(fd)
	}
}
