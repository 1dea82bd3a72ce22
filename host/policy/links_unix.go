//go:build unix

package policy

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"

	"github.com/picoclaw/picoclaw/internal/paths"
)

// addLinkTargets returns patterns for paths to read, and for the targets of the symlinks that they name: as an exact
// path, or below /sys. Without these, such a pattern would open nothing, because all layers match resolved paths.
//
// Only root may be able to change the directories of these symlinks. An agent could open any path with its own symlinks.
func addLinkTargets(patterns []string) []string {
	var targets []string
	for _, pattern := range patterns {
		path, exact := LiteralPathPrefix(pattern)
		re, err := regexp.Compile(pattern)
		switch {
		case err != nil:
		case exact:
			if real := linkTarget(path); real != "" {
				targets = append(targets, "^"+regexp.QuoteMeta(real)+"$")
			}
		case strings.HasPrefix(path, "/sys/"):
			targets = append(targets, findDeviceFiles(path, re)...)
		}
	}
	return append(patterns[:len(patterns):len(patterns)], targets...)
}

// linkTarget returns the target of a path with symlinks that only root can change, or "". Links in /proc mean other files
// to each process.
func linkTarget(path string) string {
	if real := resolveRootLinks(path); real != path && !paths.Within("/proc", real) {
		return real
	}
	return ""
}

// maxDeviceFiles limits the search for matching files below /sys.
const maxDeviceFiles = 2000

// findDeviceFiles returns patterns for the files that an expression matches by a symlink in a directory of /sys, such as
// /sys/class/net.
func findDeviceFiles(dir string, re *regexp.Regexp) (found []string) {
	links, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	seen := 0
	for _, link := range links {
		named := filepath.Join(dir, link.Name())
		device, err := filepath.EvalSymlinks(named)
		if err != nil || device == named {
			continue
		}
		_ = filepath.WalkDir(device, func(path string, d fs.DirEntry, err error) error {
			if seen++; seen > maxDeviceFiles {
				return fs.SkipAll
			}
			if err == nil && !d.IsDir() && re.MatchString(named+path[len(device):]) {
				found = append(found, "^"+regexp.QuoteMeta(path)+"$")
			}
			return nil
		})
	}
	return found
}

// resolveRootLinks resolves the symlinks of a path. It returns "" if the path does not exist, or somebody other than
// root can change a directory on the way.
func resolveRootLinks(path string) string {
	r := paths.PathResolver{Enter: func(dir string) error {
		info, err := os.Lstat(dir)
		if err == nil && !isOnlyRoots(info) {
			err = fs.ErrPermission
		}
		return err
	}}
	real, err := r.Resolve(path)
	if err == nil {
		_, err = os.Lstat(real)
	}
	if err != nil {
		return ""
	}
	return real
}

// isOnlyRoots reports whether only root can change a directory.
func isOnlyRoots(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && stat.Uid == 0 && info.Mode().Perm()&0o022 == 0
}
