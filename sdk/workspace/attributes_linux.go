package workspace

import (
	"errors"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// ours reports whether an extended attribute is one that a program may set: the user's, and access control lists.
func ours(name string) bool {
	return strings.HasPrefix(name, "user.") || name == "system.posix_acl_access"
}

// Attributes returns the extended attributes of an open file or directory that a program may set, by name. A file
// system without any has none.
func Attributes(f *os.File) (map[string]string, error) {
	size, err := unix.Flistxattr(int(f.Fd()), nil)
	if errors.Is(err, unix.ENOTSUP) || size == 0 {
		return nil, nil
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

// setAttributes gives an open file or directory extended attributes, besides those that it has.
func setAttributes(f *os.File, all map[string]string) error {
	for name, value := range all {
		if !ours(name) {
			continue
		}
		if err := unix.Fsetxattr(int(f.Fd()), name, []byte(value), 0); err != nil {
			return err
		}
	}
	return nil
}

// copyAttributes gives a file the extended attributes of another.
func copyAttributes(from, to *os.File) error {
	all, err := Attributes(from)
	if err != nil {
		return err
	}
	return setAttributes(to, all)
}
