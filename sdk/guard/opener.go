package guard

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

const (
	settingRead = "agents.defaults.allow_read_outside_workspace: true opens everything for reading; " +
		"nothing less opens the root directory"
	settingRoot = "agents.defaults.restrict_to_workspace: false lifts the checks of paths; " +
		"nothing less opens the root directory"
)

// opener names the setting that would open target: for a file, this file. A directory can only be opened with all that
// is in it, since the kernel's wall knows no other way. So is the one of a file that is to be made or deleted, or that
// a pattern of the shell means.
func opener(a Access, target string) string {
	if below, ok := strings.CutPrefix(target, "/proc/"); ok && below != "" && '0' <= below[0] && below[0] <= '9' {
		return settingProcess
	}
	key, root := "tools.allow_write_paths", settingRoot
	if a == Read || a == List {
		key, root = "tools.allow_read_paths", settingRead
	}
	info, err := os.Stat(target)
	dir := target
	switch {
	case err == nil && info.IsDir() && a != Delete:
	case a == Delete, err != nil && (a == Write || isGlob(target)):
		dir = filepath.Dir(target)
		if info, err = os.Stat(dir); err == nil && info.IsDir() {
			break
		}
		fallthrough
	default:
		return fmt.Sprintf("add %s to %s", strconv.Quote("^"+regexp.QuoteMeta(target)+"$"), key)
	}
	if dir == filepath.Dir(dir) {
		return root
	}
	return fmt.Sprintf("add %s to %s, which opens all that is in there", strconv.Quote("^"+regexp.QuoteMeta(dir)+"(/|$)"),
		key)
}

// isGlob reports whether a path may be a pattern of the shell.
func isGlob(path string) bool { return strings.ContainsAny(path, "*?[") }
