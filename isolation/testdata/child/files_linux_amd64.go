package main

import "golang.org/x/sys/unix"

// archCalls are the older calls of this architecture.
func archCalls() []randomCall {
	one := func(c *caller) []uintptr { return []uintptr{text(c.name())} }
	two := func(c *caller) []uintptr { return []uintptr{text(c.name()), text(c.name())} }
	withMode := func(c *caller) []uintptr { return []uintptr{text(c.name()), c.mode()} }
	return []randomCall{
		{"open", unix.SYS_OPEN, func(c *caller) []uintptr {
			name := c.openName()
			return []uintptr{text(name), c.openFlags(name), c.mode()}
		}, true, []int{0}},
		{"creat", unix.SYS_CREAT, withMode, true, []int{0}},
		{"unlink", unix.SYS_UNLINK, one, false, []int{0}},
		{"rmdir", unix.SYS_RMDIR, one, false, []int{0}},
		{"rename", unix.SYS_RENAME, two, false, []int{0, 1}},
		{"link", unix.SYS_LINK, two, false, []int{0, 1}},
		{"symlink", unix.SYS_SYMLINK, func(c *caller) []uintptr { return []uintptr{text(c.target()), text(c.name())} }, false, []int{0, 1}},
		{"mkdir", unix.SYS_MKDIR, withMode, false, []int{0}},
		{"mknod", unix.SYS_MKNOD, func(c *caller) []uintptr { return []uintptr{text(c.name()), c.mode() | unix.S_IFSOCK, 0} }, false, []int{0}},
		{"chmod", unix.SYS_CHMOD, withMode, false, []int{0}},
		{"utime", unix.SYS_UTIME, func(c *caller) []uintptr { return []uintptr{text(c.name()), times(c, 8)} }, false, []int{0}},
		{"utimes", unix.SYS_UTIMES, func(c *caller) []uintptr { return []uintptr{text(c.name()), times(c, 16)} }, false, []int{0}},
		{"futimesat", unix.SYS_FUTIMESAT, func(c *caller) []uintptr { return []uintptr{c.at(), text(c.name()), times(c, 16)} }, false, []int{1}},
	}
}
