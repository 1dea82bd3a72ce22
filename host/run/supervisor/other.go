//go:build !linux

package supervisor

import "errors"

var errNotLinux = errors.New("programs are supervised on Linux only")

// Main fails: there is no sandbox for programs on this system.
func Main() error { return errNotLinux }

// Init fails as Main does.
func Init(string, []string) (int, error) { return 0, errNotLinux }
