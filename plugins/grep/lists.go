package main

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/picoclaw/picoclaw/sdk/workspace"
)

// largestList is how long a list of what to ignore may be, in bytes. A longer one is none of a person's.
const largestList = 1 << 20

// oddList finds, in a directory or above it, a list of what to ignore that no program should be led to: one that is no file,
// such as a FIFO or a link to a device, or that is huge. It returns what is wrong with it, "" if there is none.
func oddList(w *workspace.Workspace, path string) string {
	top, err := w.Abs(".")
	if err != nil {
		return ""
	}
	for dir, err := w.Abs(path); err == nil; dir = filepath.Dir(dir) {
		for _, name := range []string{gitRules, filepath.Join(gitDir, "info", "exclude")} {
			if why := oddity(w, filepath.Join(dir, name)); why != "" {
				return why
			}
		}
		if dir == top || dir == filepath.Dir(dir) {
			break
		}
	}
	return ""
}

func oddity(w *workspace.Workspace, path string) string {
	info, err := w.Stat(path)
	var refused *workspace.Refused
	switch {
	case errors.As(err, &refused):
		return shown(path) + " leads out of the workspace and was not honoured"
	case err != nil:
		return ""
	case !info.Mode().IsRegular():
		return shown(path) + " is not a regular file and was not honoured"
	case info.Size() > largestList:
		return fmt.Sprintf("%s is longer than %d bytes and was not honoured", shown(path), largestList)
	}
	return ""
}
