//go:build unix

package isolation

import (
	"fmt"
	"os"
	"syscall"
)

// checkOwned refuses a directory that somebody else can put things into: what picoclaw finds there, it believes.
func checkOwned(path string, info os.FileInfo) error {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok && int(stat.Uid) != os.Geteuid() {
		return fmt.Errorf("%s belongs to uid %d, and this is uid %d: run picoclaw as that user, or `chown` it", path, stat.Uid, os.Geteuid())
	}
	if info.Mode().Perm()&0o022 != 0 {
		return fmt.Errorf("%s can be written by others (mode %04o): `chmod 700 %s`", path, info.Mode().Perm(), path)
	}
	return nil
}
