package isolation

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// devices are those that bubblewrap takes over from the host.
var devices = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"}

// keepDevices gives the calling thread, and what it starts, a mount view of its own in which nobody changes the devices that everybody
// uses: they can be read and written, but have the modes, the owners and the times that they have. They are the machine's own in a sandbox,
// too, and belong to root there if it does here: its chmod of /dev/null would be one for all programs of the machine. Who isn't root owns
// none, and needs none of this.
//
// What is mounted on the machine later still gets into the view.
func keepDevices() error {
	if err := unix.Unshare(unix.CLONE_FS | unix.CLONE_NEWNS); err != nil {
		return fmt.Errorf("get a mount view: %w", err)
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_SLAVE, ""); err != nil {
		return fmt.Errorf("keep the mount view to itself: %w", err)
	}
	for _, device := range devices {
		if err := unix.Mount(device, device, "", unix.MS_BIND, ""); err != nil {
			return fmt.Errorf("keep %s: %w", device, err)
		}
		// Devices can be written where nothing else can.
		if err := unix.Mount("", device, "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY|unix.MS_NOSUID|unix.MS_NOEXEC, ""); err != nil {
			return fmt.Errorf("keep %s as it is: %w", device, err)
		}
	}
	return nil
}
