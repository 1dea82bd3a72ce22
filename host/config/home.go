package config

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/picoclaw/picoclaw/internal/statefiles"
)

// Environment variables: the prefix of all variables, and the two that set no configuration key.
const (
	variablePrefix = "PICOCLAW_"
	homeVariable   = "PICOCLAW_HOME"
	configVariable = "PICOCLAW_CONFIG"
)

var notKeys = []string{homeVariable, configVariable}

// Home is the directory PICOCLAW_HOME, which contains the configuration, the plugin store and the default workspaces.
type Home struct {
	// Path is absolute, or "." if Fallback is true.
	Path string

	// Origin is the location where a value was set: a line of a file, a variable or a flag.
	Origin Origin

	// Fallback says that no home directory was found and Path is the working directory, which is unsuitable for an
	// isolated instance.
	Fallback bool
}

// environment is a list of environment variables in the form NAME=value.
type environment []string

// lookupVariable returns the value of the last variable with a name, as processes do; empty for none.
func (e environment) lookupVariable(name string) string {
	value := ""
	for _, variable := range e {
		if k, v, ok := strings.Cut(variable, "="); ok && k == name {
			value = v
		}
	}
	return value
}

func (e environment) userHomeDir() string {
	name := "HOME"
	if runtime.GOOS == "windows" {
		name = "USERPROFILE"
	}
	if home := e.lookupVariable(name); filepath.IsAbs(home) {
		return home
	}
	return ""
}

// FindHome returns the home for an environment. It reads no configuration.
func FindHome(environ []string) (Home, error) {
	home, err := locateHome(environ)
	if err != nil {
		return Home{}, err
	}
	return home, nil
}

func locateHome(env environment) (Home, *Error) {
	if named := env.lookupVariable(homeVariable); named != "" {
		origin := Origin{Source: VariableSource, Name: homeVariable}
		path, err := absoluteFlagPath(named, env)
		if err != nil {
			return Home{}, &Error{Origin: origin, Problem: err.Error(), err: err}
		}
		return Home{Path: path, Origin: origin}, nil
	}
	if user := env.userHomeDir(); user != "" {
		return Home{Path: filepath.Join(user, ".picoclaw")}, nil
	}
	return Home{Path: ".", Fallback: true}, nil
}

// absoluteFlagPath makes a path from a flag or variable absolute. Paths in files may not be relative.
func absoluteFlagPath(path string, env environment) (string, error) {
	if strings.HasPrefix(path, "~") {
		return expandPath(path, env.userHomeDir())
	}
	return filepath.Abs(path)
}

// defaultFileNames are the names of the configuration file in the home, in order of preference.
var defaultFileNames = []string{"config.json", "config.yaml", "config.yml"}

// IsUsedHome reports whether a directory has a configuration, logs, a lock file or a list of state files.
func IsUsedHome(dir string) bool {
	return slices.ContainsFunc(slices.Concat(defaultFileNames, []string{"logs", "picoclaw.lock", "files.json"}), func(name string) bool {
		_, err := os.Lstat(filepath.Join(dir, name))
		return !errors.Is(err, fs.ErrNotExist)
	})
}

// findConfigFile returns the path of the requested file, or of a default file in the home; "" for none.
func findConfigFile(flag string, home Home, env environment) (string, *Error) {
	origin := Origin{Source: FlagSource, Name: "--config"}
	named := flag
	if named == "" {
		origin, named = Origin{Source: VariableSource, Name: configVariable}, env.lookupVariable(configVariable)
	}
	if named != "" {
		path, err := absoluteFlagPath(named, env)
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
	for _, name := range defaultFileNames {
		path := filepath.Join(home.Path, name)
		switch _, err := os.Lstat(path); {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			// Ignoring an unreadable file would lift its restrictions.
			return "", &Error{Origin: home.Origin, Problem: "the home can't be searched: " + err.Error(), err: err}
		}
		if found != "" {
			return "", &Error{Problem: "both " + found + " and " + path + " exist",
				Cure: "keep one of them, or name one with --config"}
		}
		found = path
	}
	if found == "" && !home.Fallback {
		for _, name := range defaultFileNames {
			if err := statefiles.CheckNotMissing(home.Path, filepath.Join(home.Path, name)); err != nil {
				return "", &Error{Problem: err.Error(), Cure: "then write a new one with `picoclaw init`", err: err}
			}
		}
	}
	return found, nil
}
