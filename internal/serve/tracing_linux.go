package serve

import "golang.org/x/sys/unix"

// forbidTracing keeps other processes of the same user from attaching to this one and from reading its memory, its
// environment and its descriptors, the instance's key among them. What the plugin starts is not affected.
func forbidTracing() error {
	return unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
}
