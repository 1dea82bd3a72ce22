package run

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/picoclaw/picoclaw/internal/protect"
)

var workTreeName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)

// AddWorkTree returns the linked work tree of the project's repository with a name, in a directory beside the main work
// tree. The first call creates it with git, on a branch of this name.
func AddWorkTree(project, name string) (string, error) {
	shared, err := protect.FindSharedGitDir(project)
	if err != nil {
		return "", err
	}
	top, gitDir := project, filepath.Join(project, protect.GitDir)
	if shared != nil {
		gitDir = shared.Dir
		top = strings.TrimSuffix(gitDir, string(filepath.Separator)+protect.GitDir)
	}
	dir := filepath.Join(top+".worktrees", name)
	switch _, err = os.Lstat(dir); {
	case !workTreeName.MatchString(name):
		return "", fmt.Errorf("%q can't name a work tree; use letters, digits, dots, underscores and hyphens", name)
	case errors.Is(err, fs.ErrNotExist):
		cmd := exec.Command("git", "-C", project, "worktree", "add", "--quiet", dir)
		if out, addErr := cmd.CombinedOutput(); addErr != nil {
			return "", fmt.Errorf("create the work tree %s: %w: %s", dir, addErr, strings.TrimSpace(string(out)))
		}
	case err != nil:
		return "", err
	}
	if shared, err = protect.FindSharedGitDir(dir); err != nil || shared == nil || shared.Dir != gitDir {
		return "", errors.Join(fmt.Errorf("%s is no work tree of %s; choose another name", dir, gitDir), err)
	}
	return dir, nil
}
