package isolation

import (
	"errors"
	"fmt"
)

// ErrClosed is returned by Start after Close.
var ErrClosed = errors.New("isolation is closed: no process can be started any more")

// Unavailable says that this machine cannot give the isolation that was asked
// for. There is no fallback: nothing is started.
type Unavailable struct {
	Cause string // what is missing or refused here
	Cure  string // what the operator can do about it
	Err   error  // the underlying error, if there is one
}

func (e *Unavailable) Error() string {
	text := "isolation is not available: " + e.Cause
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	if e.Cure != "" {
		text += "; " + e.Cure
	}
	return text
}

func (e *Unavailable) Unwrap() error { return e.Err }

// ConfigError is a mistake in the operator's configuration.
type ConfigError struct {
	Key     string // such as isolation.expose_paths[0].mode
	Problem string // what is wrong with its value
	Cure    string // what to write instead
}

func (e *ConfigError) Error() string {
	return fmt.Sprintf("%s: %s; %s", e.Key, e.Problem, e.Cure)
}

// ProfileError is a profile that cannot be turned into a sandbox.
type ProfileError struct {
	Profile string // its name
	Path    string // the path concerned, if any
	Problem string
	Cure    string
}

func (e *ProfileError) Error() string {
	text := "isolation profile " + e.Profile
	if e.Path != "" {
		text += ": " + fmt.Sprintf("%q", e.Path)
	}
	text += " " + e.Problem
	if e.Cure != "" {
		text += "; " + e.Cure
	}
	return text
}

// SetupError says that the sandbox failed before the program in it started.
// The sandbox tool wrote its reason to the standard error of the command.
type SetupError struct {
	Profile string
	Exit    Exit
	Err     error // why none can be built here, an *Unavailable; nil if others can
}

func (e *SetupError) Error() string {
	if e.Err != nil {
		return e.Err.Error()
	}
	return fmt.Sprintf("the sandbox of %s ended before its program started (%s); its standard error says why", e.Profile,
		e.Exit)
}

// Unwrap returns why there can be no sandbox here, if that is it.
func (e *SetupError) Unwrap() error { return e.Err }

// ExitError is returned by Run for a program that did not succeed.
type ExitError struct {
	Exit Exit
}

func (e *ExitError) Error() string {
	if e.Exit.Exceeded != "" {
		return "it was ended: it used " + e.Exit.Exceeded
	}
	return e.Exit.String()
}
