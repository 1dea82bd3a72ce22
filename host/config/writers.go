package config

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

// openToAll says why a configuration file is one that everybody on the machine could have written, nil if it is not:
// what is in it decides what agents may do. Modes of Windows say nothing of that.
func openToAll(path string, info fs.FileInfo) *Error {
	if runtime.GOOS == "windows" {
		return nil
	}
	origin := Origin{Source: File, Name: path}
	if mode := info.Mode(); mode.Perm()&0o002 != 0 {
		return fault(origin, "", fmt.Sprintf("everybody can write this file (mode %04o), and it decides what agents may do",
			mode.Perm()), "`chmod go-w "+path+"`")
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil // it is not there any more, which is said when it is read
	}
	dir := filepath.Dir(real)
	above, err := os.Stat(dir)
	if err != nil || above.Mode().Perm()&0o002 == 0 || above.Mode()&fs.ModeSticky != 0 {
		return nil
	}
	return fault(origin, "", fmt.Sprintf("everybody can put another file here in its place (%s has mode %04o), and it decides what agents may do", dir, above.Mode().Perm()),
		"`chmod go-w "+dir+"`")
}
