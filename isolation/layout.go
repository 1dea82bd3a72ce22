package isolation

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// homeLayout has the resolved path of PICOCLAW_HOME.
type homeLayout struct {
	home string
}

// userEnvDirName is the directory below PICOCLAW_HOME for the HOME directories of children.
const userEnvDirName = "runtime-user-env"

// homeDirs are the directories that NewStarter creates in PICOCLAW_HOME.
var homeDirs = []string{"skills", "logs", "cache", "state", userEnvDirName}

// createHomeLayout creates PICOCLAW_HOME and its directories, and returns their resolved paths.
func createHomeLayout(home string) (homeLayout, error) {
	fail := func(err error) (homeLayout, error) {
		return homeLayout{}, fmt.Errorf("prepare the home %s: %w", home, err)
	}
	if err := os.MkdirAll(home, 0o700); err != nil {
		return fail(err)
	}
	real, err := filepath.EvalSymlinks(home)
	if err != nil {
		return fail(err)
	}
	root, err := os.OpenRoot(real)
	if err != nil {
		return fail(err)
	}
	defer root.Close()
	info, err := root.Stat(".")
	if err == nil && info.Mode()&fs.ModeSticky == 0 { // where nobody can replace what is another's
		err = checkDirOwner(real, info)
	}
	if err != nil {
		return fail(err)
	}
	for _, name := range homeDirs {
		if err := makePrivateDir(root, name); err != nil {
			return fail(err)
		}
	}
	l := homeLayout{home: real}
	return l, l.createUserEnvDirs("")
}

// userEnvDir returns the directory of the user environment with an id.
func (l homeLayout) userEnvDir(id string) string {
	return filepath.Join(l.home, userEnvDirName, id)
}

// createUserEnvDirs creates the directories of a user environment. It follows no symlinks, which children could create.
func (l homeLayout) createUserEnvDirs(id string) error {
	fail := func(err error) error {
		return fmt.Errorf("prepare the user environment %s: %w", l.userEnvDir(id), err)
	}
	base, err := os.OpenRoot(filepath.Join(l.home, userEnvDirName))
	if err != nil {
		return fail(err)
	}
	defer base.Close()
	for _, v := range userEnvVars {
		if err := base.MkdirAll(filepath.Join(id, v.dir), 0o700); err != nil {
			return fail(err)
		}
	}
	return nil
}

// redirectEnv returns env with HOME and similar variables set to directories of a user environment.
func (l homeLayout) redirectEnv(env []string, id string) []string {
	redirected := make([]string, 0, len(env)+len(userEnvVars))
	for _, entry := range env {
		name, _, _ := strings.Cut(entry, "=")
		if !isUserEnvVar(name) {
			redirected = append(redirected, entry)
		}
	}
	for _, v := range userEnvVars {
		redirected = append(redirected, v.name+"="+filepath.Join(l.userEnvDir(id), v.dir))
	}
	return redirected
}

// userDirVariable is an environment variable and its directory in the user environment.
type userDirVariable struct {
	name, dir string
}

func isUserEnvVar(name string) bool {
	return slices.ContainsFunc(userEnvVars, func(v userDirVariable) bool { return sameEnvName(v.name, name) })
}

// makePrivateDir creates a directory that only this user can access. It keeps the mode of an existing directory, which
// must belong to this user and be writable by no other.
func makePrivateDir(root *os.Root, name string) error {
	if err := root.Mkdir(name, 0o700); err == nil || !errors.Is(err, fs.ErrExist) {
		return err
	}
	info, err := root.Lstat(name)
	if err != nil {
		return err
	}
	path := filepath.Join(root.Name(), name)
	if !info.IsDir() {
		return fmt.Errorf("%s is not a directory: move it away", path)
	}
	return checkDirOwner(path, info)
}

// UserEnvDir returns the user environment's directory below home for a profile's UserEnvID.
func UserEnvDir(home, id string) string { return homeLayout{home: home}.userEnvDir(id) }

// UserEnvironment returns the environment variables that point into a user environment.
func UserEnvironment(home, id string) map[string]string {
	env := make(map[string]string, len(userEnvVars))
	for _, v := range userEnvVars {
		env[v.name] = filepath.Join(UserEnvDir(home, id), v.dir)
	}
	return env
}
