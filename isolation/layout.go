package isolation

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// layout knows where things are below the instance root.
type layout struct {
	home string
}

// userEnvName is the directory that children see as their home.
const userEnvName = "runtime-user-env"

// instanceDirs are made below the instance root.
var instanceDirs = []string{"skills", "logs", "cache", "state", userEnvName}

// newLayout makes the instance root and its directories, and returns their
// layout with symbolic links in the root's own path resolved.
func newLayout(home string) (layout, error) {
	fail := func(err error) (layout, error) {
		return layout{}, fmt.Errorf("prepare the instance root %s: %w", home, err)
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
		err = checkOwned(real, info)
	}
	if err != nil {
		return fail(err)
	}
	for _, name := range instanceDirs {
		if err := makePrivate(root, name); err != nil {
			return fail(err)
		}
	}
	l := layout{home: real}
	return l, l.prepareUserEnv("")
}

// userEnv is the directory of the user environment with the given id.
func (l layout) userEnv(id string) string {
	return filepath.Join(l.home, userEnvName, id)
}

// prepareUserEnv makes the directories that the redirected variables name.
// Children write here: a link that one of them left behind is not followed out
// of it.
func (l layout) prepareUserEnv(id string) error {
	fail := func(err error) error {
		return fmt.Errorf("prepare the user environment %s: %w", l.userEnv(id), err)
	}
	base, err := os.OpenRoot(filepath.Join(l.home, userEnvName))
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

// redirect returns env with the user's directories inside the user
// environment with the given id.
func (l layout) redirect(env []string, id string) []string {
	redirected := make([]string, 0, len(env)+len(userEnvVars))
	for _, entry := range env {
		name, _, _ := strings.Cut(entry, "=")
		if !isUserEnvVar(name) {
			redirected = append(redirected, entry)
		}
	}
	for _, v := range userEnvVars {
		redirected = append(redirected, v.name+"="+filepath.Join(l.userEnv(id), v.dir))
	}
	return redirected
}

// userEnvVar is a variable and the directory, relative to the user
// environment, that it names.
type userEnvVar struct {
	name, dir string
}

func isUserEnvVar(name string) bool {
	for _, v := range userEnvVars {
		if sameEnvName(v.name, name) {
			return true
		}
	}
	return false
}

// makePrivate makes name a directory below root that only this user can enter.
// What stands there already has to be a directory of this user's, not a link to
// one, that nobody else can write. It keeps its mode.
func makePrivate(root *os.Root, name string) error {
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
	return checkOwned(path, info)
}

// UserEnv is the directory below the instance root home that a profile with
// the given UserEnvID has for its home.
func UserEnv(home, id string) string { return layout{home: home}.userEnv(id) }

// UserEnvironment holds the variables that lead a child there.
func UserEnvironment(home, id string) map[string]string {
	env := make(map[string]string, len(userEnvVars))
	for _, v := range userEnvVars {
		env[v.name] = filepath.Join(UserEnv(home, id), v.dir)
	}
	return env
}
