package run

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/picoclaw/picoclaw/internal/paths"
)

// toolDirsText lists the directories below a person's home in which version managers and installers put programs. None
// holds credentials.
//
//go:embed tooldirs.json
var toolDirsText []byte

// systemDirs are the system directories that every sandbox shows.
var systemDirs = []string{"/usr", "/bin", "/sbin", "/lib", "/lib64", "/nix/store"}

// toolchainDir is a directory of installed programs below the user's home, such as .cargo or .nvm. Programs in the sandbox
// have another HOME and find the directory through its environment variable, if it has one.
type toolchainDir struct {
	Dir      string `json:"dir"`
	Variable string `json:"variable"`
	Root     string `json:"root"`
}

// toolDirs returns the existing tool directories of a home, without symlinks, and their environment variables.
func toolDirs(userHome string) (dirs []string, env map[string]string, err error) {
	var all []toolchainDir
	if err := json.Unmarshal(toolDirsText, &all); err != nil {
		return nil, nil, err
	}
	env = map[string]string{}
	for _, tool := range all {
		real, err := filepath.EvalSymlinks(filepath.Join(userHome, tool.Dir))
		if err != nil {
			continue
		}
		if info, err := os.Stat(real); err != nil || !info.IsDir() || paths.Within(real, userHome) {
			continue
		}
		dirs = append(dirs, real)
		if tool.Variable != "" {
			env[tool.Variable] = filepath.Join(userHome, tool.Root)
		}
	}
	return dirs, env, nil
}

// findProgram returns the absolute path of a program, and the paths that the sandbox must show for it.
func findProgram(name, current, userHome string) (path string, needs []string, err error) {
	path = name
	if !strings.Contains(name, string(filepath.Separator)) {
		if path, err = exec.LookPath(name); err != nil {
			return "", nil, fmt.Errorf("there is no program %s in PATH; install it, or give its path", name)
		}
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(current, path)
	}
	// Its own name stays: programs may look at it.
	dir, err := filepath.EvalSymlinks(filepath.Dir(path))
	if err == nil {
		path = filepath.Join(dir, filepath.Base(path))
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", nil, fmt.Errorf("there is no program %s; check the path", name)
	}
	for _, file := range []string{path, real} {
		if !paths.WithinAny(systemDirs, file) {
			needs = append(needs, programPackageDir(file, userHome))
		}
	}
	slices.Sort(needs)
	return path, slices.Compact(needs), nil
}

// programPackageDir returns the directory with all files of a program: its npm modules, or the executable's directory.
func programPackageDir(file, userHome string) string {
	if at := strings.Index(file, "/node_modules/"); at > 0 {
		return file[:at+len("/node_modules")]
	}
	if dir := filepath.Dir(file); !paths.Within(dir, userHome) && dir != filepath.Dir(dir) && !slices.Contains([]string{"/tmp", "/var/tmp", "/opt", "/home"}, dir) {
		return dir
	}
	return file
}
