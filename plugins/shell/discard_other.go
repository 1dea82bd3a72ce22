//go:build !linux

package main

import "os"

// discard keeps a file's beginning until the file is closed.
func discard(*os.File, int64) {}
