//go:build !linux

package isolation

// reach knows of no wall here.
func reach(Config, Profile, string) (Reach, error) {
	return Reach{Read: true, Write: true, Why: "there is no wall of the kernel's on this system"}, nil
}
