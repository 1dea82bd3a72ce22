package isolation

import (
	"os"
	"os/exec"
	"path/filepath"
)

// bwrapFollowsLinks tests whether bubblewrap follows symlinks when it creates mount points, as unpatched versions
// before 0.12 do. Others who can write the directory could then redirect the mount. It returns true if the test fails.
func bwrapFollowsLinks(bwrap, scratch string) bool {
	dir, err := os.MkdirTemp(scratch, "bwrap-")
	if err != nil {
		return true
	}
	defer func() { _ = os.RemoveAll(dir) }()
	victim, work, source := filepath.Join(dir, "victim"), filepath.Join(dir, "work"), filepath.Join(dir, "source")
	for _, d := range []string{victim, source, work, filepath.Join(work, "plain")} {
		if os.Mkdir(d, 0o700) != nil {
			return true
		}
	}
	// While bubblewrap works, the host's root is at /oldroot.
	for name, to := range map[string]string{"old": "/oldroot" + victim, "new": victim} {
		if os.Symlink(to, filepath.Join(work, name)) != nil {
			return true
		}
	}
	for _, way := range []string{"plain", "old", "new"} {
		args := append(append([]string{}, sandboxFlags...), "--bind", work, work,
			"--ro-bind", source, filepath.Join(work, way, "made"), "--", missingProgram)
		cmd := exec.Command(bwrap, args...)
		cmd.Env, cmd.Dir = []string{}, "/"
		_ = cmd.Run() // there is no such program; what counts is what was made before
	}
	if _, err = os.Lstat(filepath.Join(work, "plain", "made")); err != nil {
		return true // it made nothing at all
	}
	made, err := os.ReadDir(victim)
	return err != nil || len(made) > 0
}
