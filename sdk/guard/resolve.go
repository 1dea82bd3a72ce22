package guard

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// maxLinks is how many symbolic links one path may go through; Linux allows as many.
const maxLinks = 40

// resolve follows the symbolic links of the longest existing prefix of an absolute path, the way the kernel would,
// and keeps the rest as it is. Unlike [filepath.EvalSymlinks] it also follows a link whose target doesn't exist,
// because creating the path would create the target.
func resolve(path string) (string, error) {
	volume := filepath.VolumeName(path)
	root := volume + string(filepath.Separator)
	rest := strings.Split(path[len(volume):], string(filepath.Separator))
	at, links, missing := root, 0, false
	for len(rest) > 0 {
		name := rest[0]
		rest = rest[1:]
		switch name {
		case "", ".":
			continue
		case "..":
			at = filepath.Dir(at)
			continue
		}
		next := filepath.Join(at, name)
		if missing {
			at = next
			continue
		}
		info, err := os.Lstat(next)
		switch {
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
			at, missing = next, true
			continue
		case err != nil:
			return "", err
		case info.Mode()&fs.ModeSymlink == 0:
			at = next
			continue
		}
		if links++; links > maxLinks {
			return "", fmt.Errorf("too many levels of symbolic links at %s", next)
		}
		target, err := os.Readlink(next)
		if err != nil {
			return "", err
		}
		if filepath.IsAbs(target) {
			at = root
		}
		rest = append(strings.Split(target[len(filepath.VolumeName(target)):], string(filepath.Separator)), rest...)
	}
	return at, nil
}

// within says whether path is dir or below it, component by component: /w2 is not within /w.
func within(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}

// withinAny says whether path is one of the directories or below one of them.
func withinAny(dirs []string, path string) bool {
	for _, dir := range dirs {
		if within(dir, path) {
			return true
		}
	}
	return false
}
