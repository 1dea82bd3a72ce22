package config

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// The variables that are not keys of the configuration.
const (
	variablePrefix = "PICOCLAW_"
	homeVariable   = "PICOCLAW_HOME"
	configVariable = "PICOCLAW_CONFIG"
)

var notKeys = []string{homeVariable, configVariable}

// Home is the instance root: the directory that the configuration, the plugin store and the default workspaces are in.
type Home struct {
	// Path is absolute, or "." when Fallback is true.
	Path string

	// Origin is PICOCLAW_HOME, or the default below the user's home.
	Origin Origin

	// Fallback says that no home was found and Path is the working directory, which is no place for an isolated
	// instance.
	Fallback bool
}

// environment is the variables that Load was given.
type environment []string

// get returns the value of the last variable of that name, as a process sees it; empty when there is none.
func (e environment) get(name string) string {
	value := ""
	for _, variable := range e {
		if k, v, ok := strings.Cut(variable, "="); ok && k == name {
			value = v
		}
	}
	return value
}

// userHome returns the user's home directory; empty when the environment names none.
func (e environment) userHome() string {
	name := "HOME"
	if runtime.GOOS == "windows" {
		name = "USERPROFILE"
	}
	if home := e.get(name); filepath.IsAbs(home) {
		return home
	}
	return ""
}

// FindHome finds the instance root by an environment, whatever the configuration in it says.
func FindHome(environ []string) (Home, error) {
	home, err := findHome(environ)
	if err != nil {
		return Home{}, err
	}
	return home, nil
}

// findHome finds the instance root.
func findHome(env environment) (Home, *Error) {
	if named := env.get(homeVariable); named != "" {
		origin := Origin{Source: Variable, Name: homeVariable}
		path, err := namedPath(named, env)
		if err != nil {
			return Home{}, &Error{Origin: origin, Problem: err.Error(), err: err}
		}
		return Home{Path: path, Origin: origin}, nil
	}
	if user := env.userHome(); user != "" {
		return Home{Path: filepath.Join(user, ".picoclaw")}, nil
	}
	return Home{Path: ".", Fallback: true}, nil
}

// namedPath makes a path that a user named, in a flag or a variable, absolute. Unlike one in a file it may be
// relative: the user knows the working directory.
func namedPath(path string, env environment) (string, error) {
	if strings.HasPrefix(path, "~") {
		return absolutePath(path, env.userHome())
	}
	return filepath.Abs(path)
}

// defaultFiles are the names that are looked for in the instance root.
var defaultFiles = []string{"config.json", "config.yaml", "config.yml"}

// findFile finds the configuration file. It returns "" when there is none and none was named.
func findFile(flag string, home Home, env environment) (string, *Error) {
	origin := Origin{Source: Flag, Name: "--config"}
	named := flag
	if named == "" {
		origin, named = Origin{Source: Variable, Name: configVariable}, env.get(configVariable)
	}
	if named != "" {
		path, err := namedPath(named, env)
		if err == nil {
			_, err = os.Stat(path)
		}
		if err != nil {
			return "", &Error{Origin: origin, Problem: "the configuration file can't be read: " + err.Error(),
				Cure: "name one that exists", err: err}
		}
		return path, nil
	}
	found := ""
	for _, name := range defaultFiles {
		path := filepath.Join(home.Path, name)
		switch _, err := os.Lstat(path); {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			// To go on without a file that may be there would lift what it forbids.
			return "", &Error{Origin: home.Origin, Problem: "the instance root can't be searched: " + err.Error(), err: err}
		}
		if found != "" {
			return "", &Error{Problem: "both " + found + " and " + path + " exist",
				Cure: "keep one of them, or name one with --config"}
		}
		found = path
	}
	return found, nil
}
