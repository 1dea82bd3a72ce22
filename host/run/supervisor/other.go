//go:build !linux

package supervisor

import "errors"

var errNotLinux = errors.New("programs are supervised on Linux only")

// Main returns an error, since this operating system has no sandbox for programs.
func Main() error { return errNotLinux }

// RunInit returns an error, as Main does.
func RunInit(string, []string) (int, error) { return 0, errNotLinux }
