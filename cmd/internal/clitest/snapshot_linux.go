package clitest

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/picoclaw/picoclaw/sdk/workspace"
)

// SnapshotWorkspace describes each file in the workspace by path: mode, content, time, link target, and other names of the
// same file.
func (a *Agent) SnapshotWorkspace() map[string]string {
	a.T.Helper()
	all, first := map[string]string{}, map[uint64]string{}
	err := filepath.WalkDir(a.Workspace, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrPermission) && d != nil {
			return fs.SkipDir // it was described already; what is in it is looked at once it is open again
		}
		if errors.Is(err, syscall.ENAMETOOLONG) {
			return nil // undo names the directory above
		}
		if err != nil {
			return err
		}
		name := strings.TrimPrefix(path, a.Workspace)
		if strings.HasPrefix(name, "/.picoclaw") {
			return filepath.SkipDir
		}
		info, err := d.Info()
		if errors.Is(err, syscall.ENAMETOOLONG) {
			return nil
		}
		if err != nil {
			return err
		}
		line, sameFile := fmt.Sprint(info.Mode(), " "), ""
		switch {
		case info.Mode()&fs.ModeSymlink != 0:
			to, err := os.Readlink(path)
			all[name] = fmt.Sprint(line, to, info.ModTime().UnixNano())
			return err
		case info.Mode().IsRegular():
			data, err := os.ReadFile(path)
			if errors.Is(err, fs.ErrPermission) {
				data, err = []byte("closed to everybody"), nil
			}
			if err != nil {
				return err
			}
			line += fmt.Sprintf("%d %.40q %x ", len(data), data, Checksum(data))
			stat := info.Sys().(*syscall.Stat_t)
			if stat.Nlink > 1 {
				if first[stat.Ino] == "" {
					first[stat.Ino] = name
				}
				sameFile = "same as " + first[stat.Ino] + " "
			}
		}
		if info.Mode().IsRegular() || info.IsDir() {
			line += describeXattrs(a.T, path)
		}
		all[name] = line + sameFile + fmt.Sprint(info.ModTime().UnixNano())
		return nil
	})
	if err != nil {
		a.T.Fatal(err)
	}
	return all
}

// describeXattrs returns the extended attributes of a file that programs may set, as text.
func describeXattrs(t *testing.T, path string) string {
	t.Helper()
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrPermission) {
		return ""
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	all, err := workspace.ReadXattrs(f)
	if err != nil {
		t.Fatal(err)
	}
	text := ""
	for _, name := range slices.Sorted(maps.Keys(all)) {
		text += fmt.Sprintf("%s=%q ", name, all[name])
	}
	return text
}

// DiffSnapshots describes the first paths in which two snapshots differ; empty if they are equal.
func DiffSnapshots(a, b map[string]string) string {
	var lines []string
	for name := range a {
		if a[name] != b[name] {
			lines = append(lines, fmt.Sprintf("%q: %s; now %s", name, a[name], b[name]))
		}
	}
	for name := range b {
		if _, ok := a[name]; !ok {
			lines = append(lines, fmt.Sprintf("%q: now %s", name, b[name]))
		}
	}
	slices.Sort(lines)
	return strings.Join(lines[:min(len(lines), 12)], "\n")
}

// Checksum returns a hash of data.
func Checksum(data []byte) (sum uint64) {
	for _, b := range data {
		sum = sum*1099511628211 + uint64(b)
	}
	return sum
}
