//go:build !unix

package catalog

import "os"

func isExecutable(os.FileInfo) bool { return true }

// isWorldWritable returns false, since this operating system has no such modes.
func isWorldWritable(os.FileInfo) bool { return false }

// fileID returns text that distinguishes files of equal size and time, where possible.
func fileID(os.FileInfo) string { return "" }
