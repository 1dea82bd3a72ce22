package isolation

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// devices are those that bubblewrap takes over from the host.
var devices = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"}

// keepingDevices starts a sandbox in which nobody changes the devices that everybody uses: they can be read and
// written, but have the modes, the owners and the times that they have. They are the machine's own in there, too, and
// belong to root if it is root: its chmod of /dev/null would be one for all programs. Who isn't root owns none, and
// needs none of this.
//
// The calling thread has a mount view of its own meanwhile, and has to be one that nobody else uses. Where root may not
// mount, as in a container, the devices aren't the machine's either, and the sandbox is started as it is.
func keepingDevices(start func() error) error {
	if os.Geteuid() != 0 {
		return start()
	}
	back, err := leaveMounts()
	if err != nil {
		return start()
	}
	for _, device := range devices {
		if keepDevice(device) != nil {
			break // it isn't there, and so bubblewrap doesn't take it over
		}
	}
	err = start()
	_ = back() // else the next sandboxes see what is mounted now, and no more
	return err
}

// keepDevice makes a device one that can be used, but not be changed. Devices can be written where nothing else can.
func keepDevice(device string) error {
	if err := unix.Mount(device, device, "", unix.MS_BIND, ""); err != nil {
		return err
	}
	return unix.Mount("", device, "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY|unix.MS_NOSUID|unix.MS_NOEXEC, "")
}

// leaveMounts gives the calling thread a mount view of its own, a copy of the machine's as it is now. The function that
// it returns goes back, to the same directories.
func leaveMounts() (back func() error, err error) {
	var places [3]int // the mounts, the root and the working directory
	for i, name := range []string{"/proc/thread-self/ns/mnt", "/", "."} {
		flags := unix.O_CLOEXEC
		if i > 0 {
			flags |= unix.O_PATH | unix.O_DIRECTORY
		}
		if places[i], err = unix.Open(name, flags, 0); err != nil {
			closeAll(places[:i])
			return nil, fmt.Errorf("open %s: %w", name, err)
		}
	}
	if err := unix.Unshare(unix.CLONE_FS | unix.CLONE_NEWNS); err != nil {
		closeAll(places[:])
		return nil, fmt.Errorf("get a mount view: %w", err)
	}
	back = func() error {
		defer closeAll(places[:])
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

func closeAll(descriptors []int) {
	for _, fd := range descriptors {
		_ = unix.Close(fd)
	}
}
